/* What the parts of the library know of each other. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The name of an open file, written into a buffer of PATH_MAX; NULL where it has none. */
const char *faults_name_of(int descriptor, char *into);

/* allocations.c: leave SQLite's allocations alone, learn which ways they come, or have the first fail that comes so. */
enum allocations { LEAVE, LEARN, FAIL };
void allocations_arm(enum allocations what, uint64_t way);
void allocations_pause(int whether);
int allocations_hit(void);

/* recording.c: write down what was done: a kind (c made, m folder made, w written, t cut to a size, s synced, r renamed,
   l linked, u removed, ? what cannot be written down), a path, another, a place in the file or its size, and bytes. */
void recording_write(char kind, const char *path, const char *other, long at, const void *data, size_t size);
