/* A library put before libc (LD_PRELOAD): counts the calls that change files below one folder, and has one fail.

   Armed by `faults_arm`, in one process: those that it starts are not. Files are known by their names (/proc/self/fd),
   so that a descriptor that is used again is never taken for another. What succeeds is told to recording.c, which
   writes it down if it is asked to; allocations.c has the memory fail that SQLite asks for. Linux, 64 bits, glibc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "shim.h"

enum fault { NONE, NO_SPACE, BROKEN, HALF, KILLED, FULL, NO_MEMORY };
/* FULL: nothing more can be written from that call on; to remove files, to sync and to rename goes well.
   NO_MEMORY: of an allocation, whose way is given in place of a number. */

static char folder[PATH_MAX];
static long counted, wanted = -1;
static enum fault fault;
static char hit[PATH_MAX + 64];
static int hits, paused;

void faults_arm(const char *below, long number, int kind) {
    snprintf(folder, sizeof folder, "%s/", below);
    counted = 0, hits = 0, paused = 0, hit[0] = 0, wanted = number, fault = kind;
    allocations_arm(kind == NONE ? LEARN : kind == NO_MEMORY ? FAIL : LEAVE, (uint64_t)number);
}
long faults_counted(void) { return counted; }
void faults_pause(int whether) { paused = whether, allocations_pause(whether); }
const char *faults_hit(void) {
    if (allocations_hit()) return "malloc in SQLite";
    return hit;
}

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }
#define REAL(name) \
    static __typeof__(&name) real_##name; \
    if (!real_##name) real_##name = (__typeof__(&name))real(#name)

/* Write the whole path into `into`; return whether it is below the folder. */
static int below(int at, const char *path, char *into) {
    if (paused || !folder[0] || !path) return 0;
    into[0] = 0;
    if (path[0] != '/') {
        if (at == AT_FDCWD ? !getcwd(into, PATH_MAX) : !faults_name_of(at, into)) return 0;
        strncat(into, "/", PATH_MAX - strlen(into) - 1);
    }
    strncat(into, path, PATH_MAX - strlen(into) - 1);
    size_t length = strlen(folder);
    // The folder itself is synced, too: it has no slash at its end then.
    return strncmp(into, folder, length) == 0 || (strlen(into) == length - 1 && strncmp(into, folder, length - 1) == 0);
}

const char *faults_name_of(int descriptor, char *into) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, into, PATH_MAX - 1);
    if (length < 0) return NULL;
    into[length] = 0;
    return into;
}

/* Whether this call fails; errno is set then. A call that writes can be done by half: *half says so. */
static int fails(const char *call, const char *path, int writes, int *half) {
    long number = counted++;
    int now = fault == FULL ? (wanted >= 0 && number >= wanted && writes) : number == wanted;
    if (!now || fault == NONE || fault == NO_MEMORY) return 0;
    if (!hits++) snprintf(hit, sizeof hit, "%s %s", call, strlen(path) > strlen(folder) ? path + strlen(folder) : ".");
    if (fault == KILLED) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    if (fault == HALF && half) *half = 1;
    errno = fault == BROKEN ? EIO : ENOSPC;
    return 1;
}

/* Run a call on a path or a descriptor that changes a file; `path` and `ours` are known in what is run. */
#define ON_PATH(call, at, name, writes, half, ...) \
    char path[PATH_MAX]; \
    int before = errno, ours = below(at, name, path); \
    errno = before; \
    if (ours && fails(call, path, writes, half)) { __VA_ARGS__; }
#define ON_FILE(call, descriptor, writes, half, ...) \
    char path[PATH_MAX], found[PATH_MAX]; \
    int before = errno, ours = 0; \
    if (folder[0] && !paused) ours = below(AT_FDCWD, faults_name_of(descriptor, found), path); \
    errno = before; \
    if (ours && fails(call, path, writes, half)) { __VA_ARGS__; }
#define RECORD(...) do { if (ours) recording_write(__VA_ARGS__); } while (0)

ssize_t write(int descriptor, const void *data, size_t size) {
    REAL(write);
    int half = 0;
    ON_FILE("write", descriptor, 1, &half,
            if (half && size > 1 && real_write(descriptor, data, size / 2) >= 0) errno = ENOSPC; return -1);
    ssize_t done = real_write(descriptor, data, size);
    // Also of a file that is only added to, the place is behind what was written then.
    if (done > 0) RECORD('w', path, NULL, lseek(descriptor, 0, SEEK_CUR) - done, data, done);
    return done;
}

#define POSITIONED(name) \
    ssize_t name(int descriptor, const void *data, size_t size, off_t at) { \
        REAL(name); \
        int half = 0; \
        ON_FILE("pwrite", descriptor, 1, &half, \
                if (half && size > 1 && real_##name(descriptor, data, size / 2, at) >= 0) errno = ENOSPC; return -1); \
        ssize_t done = real_##name(descriptor, data, size, at); \
        if (done > 0) RECORD('w', path, NULL, at, data, done); \
        return done; \
    }
POSITIONED(pwrite)
POSITIONED(pwrite64)

ssize_t writev(int descriptor, const struct iovec *pieces, int number) {
    REAL(writev);
    int half = 0;
    ON_FILE("writev", descriptor, 1, &half,
            if (half && real_writev(descriptor, pieces, 1) >= 0) errno = ENOSPC; return -1);
    ssize_t done = real_writev(descriptor, pieces, number), left = done;
    off_t at = ours ? lseek(descriptor, 0, SEEK_CUR) - done : 0;
    for (int one = 0; one < number && left > 0; one++) {
        size_t size = pieces[one].iov_len < (size_t)left ? pieces[one].iov_len : (size_t)left;
        RECORD('w', path, NULL, at, pieces[one].iov_base, size);
        at += size, left -= size;
    }
    return done;
}

/* What one file gets from another within the system is written down as a hole: nothing of ours may need it. */
#define GIVEN(call, name, parameters, arguments, to) \
    ssize_t name parameters { \
        REAL(name); \
        ON_FILE(call, to, 1, NULL, return -1); \
        ssize_t done = real_##name arguments; \
        if (done > 0) RECORD('?', path, NULL, 0, NULL, 0); \
        return done; \
    }
GIVEN("sendfile", sendfile, (int to, int from, off_t *at, size_t size), (to, from, at, size), to)
GIVEN("sendfile", sendfile64, (int to, int from, off64_t *at, size_t size), (to, from, at, size), to)
GIVEN("copy_file_range", copy_file_range,
      (int from, off64_t *at, int to, off64_t *there, size_t size, unsigned flags), (from, at, to, there, size, flags), to)

/* C libraries' own buffers are written by calls within libc, which are not seen: so the call that fills them fails. */
size_t fwrite(const void *data, size_t size, size_t number, FILE *file) {
    REAL(fwrite);
    int half = 0;
    ON_FILE("fwrite", fileno(file), 1, &half,
            if (half) real_fwrite(data, size, number / 2, file), fflush(file), errno = ENOSPC; return 0);
    off_t at = ours ? ftello(file) : 0;
    size_t done = real_fwrite(data, size, number, file);
    if (done > 0) RECORD('w', path, NULL, at, data, done * size);
    return done;
}

#define STREAM(name) \
    FILE *name(const char *from, const char *mode) { \
        REAL(name); \
        int changes = mode[0] == 'w', there = 1; \
        char path[PATH_MAX]; \
        int before = errno, ours = changes && below(AT_FDCWD, from, path); \
        if (ours) there = access(path, F_OK) == 0; \
        errno = before; \
        if (ours && !there && fails("create", path, 1, NULL)) return NULL; \
        FILE *file = real_##name(from, mode); \
        if (file) RECORD(there ? 't' : 'c', path, NULL, 0, NULL, 0); \
        return file; \
    }
STREAM(fopen)
STREAM(fopen64)

#define SYNCED(name) \
    int name(int descriptor) { \
        REAL(name); \
        ON_FILE(#name, descriptor, 0, NULL, return -1); \
        int done = real_##name(descriptor); \
        if (!done) RECORD('s', path, NULL, 0, NULL, 0); \
        return done; \
    }
SYNCED(fsync)
SYNCED(fdatasync)

#define CUT(name) \
    int name(int descriptor, off_t size) { \
        REAL(name); \
        ON_FILE("ftruncate", descriptor, 0, NULL, return -1); \
        int done = real_##name(descriptor, size); \
        if (!done) RECORD('t', path, NULL, size, NULL, 0); \
        return done; \
    }
CUT(ftruncate)
CUT(ftruncate64)

int fallocate(int descriptor, int mode, off_t at, off_t size) {
    REAL(fallocate);
    ON_FILE("fallocate", descriptor, 1, NULL, return -1);
    int done = real_fallocate(descriptor, mode, at, size);
    if (!done) RECORD('?', path, NULL, 0, NULL, 0);
    return done;
}

/* A name that comes from without, or goes there, is not written down. */
static int renamed(int at, const char *from, int other, const char *to, int (*done)(int, const char *, int, const char *)) {
    ON_PATH("rename", at, from, 0, NULL, return -1);
    char target[PATH_MAX];
    int both = ours && below(other, to, target), result = done(at, from, other, to);
    if (!result && both) recording_write('r', path, target, 0, NULL, 0);
    return result;
}

static int really_renamed(int at, const char *from, int other, const char *to) {
    REAL(renameat);
    return real_renameat(at, from, other, to);
}
int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to, really_renamed); }
int renameat(int at, const char *from, int other, const char *to) { return renamed(at, from, other, to, really_renamed); }

static int linked(int at, const char *from, int other, const char *to, int flags) {
    REAL(linkat);
    ON_PATH("link", other, to, 1, NULL, return -1);
    char source[PATH_MAX];
    int both = ours && below(at, from, source), result = real_linkat(at, from, other, to, flags);
    if (!result && both) recording_write('l', source, path, 0, NULL, 0);
    return result;
}
int link(const char *from, const char *to) { return linked(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int at, const char *from, int other, const char *to, int flags) { return linked(at, from, other, to, flags); }

static int removed(const char *call, int at, const char *name, int flags) {
    REAL(unlinkat);
    ON_PATH(call, at, name, 0, NULL, return -1);
    int done = real_unlinkat(at, name, flags);
    if (!done) RECORD('u', path, NULL, 0, NULL, 0);
    return done;
}
int unlink(const char *name) { return removed("unlink", AT_FDCWD, name, 0); }
int rmdir(const char *name) { return removed("rmdir", AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int at, const char *name, int flags) { return removed(flags ? "rmdir" : "unlink", at, name, flags); }

static int made(int at, const char *name, mode_t mode) {
    REAL(mkdirat);
    ON_PATH("mkdir", at, name, 1, NULL, return -1);
    int done = real_mkdirat(at, name, mode);
    if (!done) RECORD('m', path, NULL, 0, NULL, 0);
    return done;
}
int mkdir(const char *name, mode_t mode) { return made(AT_FDCWD, name, mode); }
int mkdirat(int at, const char *name, mode_t mode) { return made(at, name, mode); }

/* A file that is opened is made by it, or cut to nothing, or neither. */
#define OPENED(name, declared, at, ...) \
    int name declared { \
        REAL(name); \
        va_list more; \
        va_start(more, flags); \
        int mode = flags & O_CREAT ? va_arg(more, int) : 0; \
        va_end(more); \
        char path[PATH_MAX]; \
        int before = errno, ours = folder[0] && flags & (O_CREAT | O_TRUNC) && below(at, from, path); \
        int there = ours ? access(path, F_OK) == 0 : 1; \
        errno = before; \
        if (ours && !there && fails("create", path, 1, NULL)) return -1; \
        int done = real_##name(__VA_ARGS__, flags, mode); \
        if (done >= 0 && !there) RECORD('c', path, NULL, 0, NULL, 0); \
        if (done >= 0 && there && flags & O_TRUNC) RECORD('t', path, NULL, 0, NULL, 0); \
        return done; \
    }
OPENED(open, (const char *from, int flags, ...), AT_FDCWD, from)
OPENED(open64, (const char *from, int flags, ...), AT_FDCWD, from)
OPENED(openat, (int at, const char *from, int flags, ...), at, at, from)
OPENED(openat64, (int at, const char *from, int flags, ...), at, at, from)

#define MAPPED(name) \
    void *name(void *at, size_t size, int protection, int flags, int descriptor, off_t offset) { \
        REAL(name); \
        int shared = descriptor >= 0 && flags & MAP_SHARED && protection & PROT_WRITE; \
        if (shared) { ON_FILE("mmap", descriptor, 0, NULL, return MAP_FAILED); } \
        return real_##name(at, size, protection, flags, descriptor, offset); \
    }
MAPPED(mmap)
MAPPED(mmap64)
