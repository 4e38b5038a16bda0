/* Has the memory fail that SQLite asks for: allocations whose caller lies in its library. Python's own are left alone:
   where those fail, it ends or raises MemoryError anywhere, and of data it says nothing. glibc.

   Known by their way: which functions of SQLite were under way, down to the one that Python called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unwind.h>
#include "shim.h"

#define MOST_WAYS (1 << 16)
#define PLACES (4 * MOST_WAYS)

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static uintptr_t from, to;
static uint64_t wanted, ways[MOST_WAYS];
static uint32_t by_hash[PLACES]; // 1 + where in `ways`
static long counted, known;
static enum allocations doing;
static int paused = 1, hits;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

static int is_sqlite(struct dl_phdr_info *library, size_t size, void *unused) {
    (void)size, (void)unused;
    if (!strstr(library->dlpi_name, "sqlite3")) return 0;
    // The library itself, or Python's module where that holds it.
    if (from && !strstr(library->dlpi_name, "libsqlite3")) return 0;
    uintptr_t least = UINTPTR_MAX, most = 0;
    for (int one = 0; one < library->dlpi_phnum; one++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[one];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        uintptr_t start = library->dlpi_addr + part->p_vaddr;
        if (start < least) least = start;
        if (start + part->p_memsz > most) most = start + part->p_memsz;
    }
    from = least, to = most;
    return 0;
}

struct walk { uint64_t hash; int in_sqlite; };

/* Of the functions under way, innermost first: those of SQLite count, until the first that is not. */
static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *given) {
    struct walk *walk = given;
    uintptr_t at = _Unwind_GetIP(context);
    int is_ours = at >= from && at < to;
    if (!is_ours) return walk->in_sqlite ? _URC_END_OF_STACK : _URC_NO_REASON;
    walk->in_sqlite = 1;
    for (size_t byte = 0; byte < sizeof at; byte++) walk->hash = (walk->hash ^ (at >> 8 * byte & 255)) * 0x100000001b3;
    return _URC_NO_REASON;
}

static uint64_t way(void) {
    struct walk walk = {0xcbf29ce484222325, 0}; // FNV-1a, 64 bits
    _Unwind_Backtrace(step, &walk);
    return walk.hash;
}

static void learn(uint64_t one) {
    size_t place = one % PLACES;
    while (by_hash[place] && ways[by_hash[place] - 1] != one) place = (place + 1) % PLACES;
    if (by_hash[place] || known == MOST_WAYS) return;
    ways[known++] = one, by_hash[place] = known;
}

void allocations_arm(enum allocations what, uint64_t one) {
    from = to = 0;
    dl_iterate_phdr(is_sqlite, NULL);
    memset(by_hash, 0, sizeof by_hash);
    counted = 0, known = 0, hits = 0, doing = what, wanted = one, paused = 0;
}
void allocations_pause(int whether) { paused = whether; }
int allocations_hit(void) { return hits; }
long faults_allocations(void) { return counted; }
long faults_ways(const uint64_t **into) { return *into = ways, known; }

static int fails(void *caller) {
    if (paused || inside || doing == LEAVE || hits || (uintptr_t)caller < from || (uintptr_t)caller >= to) return 0;
    inside = 1; // What is done to walk the stack may allocate.
    uint64_t one = way();
    pthread_mutex_lock(&lock);
    counted++;
    int is_it = doing == FAIL && !hits && one == wanted;
    if (is_it) hits++;
    if (doing == LEARN) learn(one);
    pthread_mutex_unlock(&lock);
    inside = 0;
    if (is_it) errno = ENOMEM;
    return is_it;
}

void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *calloc(size_t number, size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(number, size);
}
void *realloc(void *before, size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(before, size);
}
