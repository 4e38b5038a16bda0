/* Has the memory fail that SQLite asks for: allocations whose caller lies in its library. Python's own are left alone:
   where those fail, it ends or raises MemoryError anywhere, and of data it says nothing. glibc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include "shim.h"

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static uintptr_t from, to;
static long counted, wanted = -1;
static int paused = 1, hits;

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

void allocations_arm(long number) {
    from = to = 0;
    dl_iterate_phdr(is_sqlite, NULL);
    counted = 0, hits = 0, wanted = number, paused = 0;
}
void allocations_pause(int whether) { paused = whether; }
int allocations_hit(void) { return hits; }
long faults_allocations(void) { return counted; }

static int fails(void *caller) {
    if (paused || (uintptr_t)caller < from || (uintptr_t)caller >= to) return 0;
    if (counted++ != wanted) return 0;
    hits++, errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *calloc(size_t number, size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(number, size);
}
void *realloc(void *before, size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(before, size);
}
