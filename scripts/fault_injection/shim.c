/* A library put before libc (LD_PRELOAD): counts the calls that change files below one folder, and has one fail.

   Armed by `faults_arm`, in one process: those that it starts are not. Files are known by their names (/proc/self/fd),
   so that a descriptor that is used again is never taken for another. Linux, 64 bits. */
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
#include <sys/uio.h>
#include <unistd.h>

enum fault { NONE, NO_SPACE, BROKEN, HALF, KILLED, FULL };
/* FULL: nothing more can be written from that call on; to remove files, to sync and to rename goes well. */

static char folder[PATH_MAX];
static long counted, wanted = -1;
static enum fault fault;
static char hit[PATH_MAX + 64];
static int hits, paused;

void faults_arm(const char *below, long number, int kind) {
    snprintf(folder, sizeof folder, "%s/", below);
    counted = 0, hits = 0, paused = 0, hit[0] = 0, wanted = number, fault = kind;
}
long faults_counted(void) { return counted; }
const char *faults_hit(void) { return hit; }
void faults_pause(int whether) { paused = whether; }

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }
#define REAL(name) \
    static __typeof__(&name) real_##name; \
    if (!real_##name) real_##name = (__typeof__(&name))real(#name)

static int below(const char *path) {
    char whole[PATH_MAX];
    if (paused || !folder[0] || !path) return 0;
    if (path[0] != '/') {
        if (!getcwd(whole, sizeof whole)) return 0;
        size_t length = strlen(whole);
        snprintf(whole + length, sizeof whole - length, "/%s", path);
        path = whole;
    }
    return strncmp(path, folder, strlen(folder)) == 0;
}

static const char *name_of(int descriptor, char *into) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, into, PATH_MAX - 1);
    if (length < 0) return NULL;
    into[length] = 0;
    return into;
}

/* Whether this call fails; errno is set then. A call that writes can be done by half: *half says so. */
static int fails(const char *call, const char *path, int writes, int *half) {
    int error_before = errno;
    if (!below(path)) return errno = error_before, 0;
    long number = counted++;
    int now = fault == FULL ? (wanted >= 0 && number >= wanted && writes) : number == wanted;
    if (!now || fault == NONE) return errno = error_before, 0;
    if (!hits++) snprintf(hit, sizeof hit, "%s %s", call, path + strlen(folder));
    if (fault == KILLED) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    if (fault == HALF && half) *half = 1;
    errno = fault == BROKEN ? EIO : ENOSPC;
    return 1;
}

static int fails_at(const char *call, int descriptor, int writes, int *half) {
    char path[PATH_MAX];
    int error_before = errno;
    if (!folder[0]) return 0;
    const char *name = name_of(descriptor, path);
    errno = error_before;
    return fails(call, name, writes, half);
}

ssize_t write(int descriptor, const void *data, size_t size) {
    REAL(write);
    int half = 0;
    if (!fails_at("write", descriptor, 1, &half)) return real_write(descriptor, data, size);
    if (half && size > 1 && real_write(descriptor, data, size / 2) >= 0) errno = ENOSPC;
    return -1;
}

#define POSITIONED(name) \
    ssize_t name(int descriptor, const void *data, size_t size, off_t at) { \
        REAL(name); \
        int half = 0; \
        if (!fails_at("pwrite", descriptor, 1, &half)) return real_##name(descriptor, data, size, at); \
        if (half && size > 1 && real_##name(descriptor, data, size / 2, at) >= 0) errno = ENOSPC; \
        return -1; \
    }
POSITIONED(pwrite)
POSITIONED(pwrite64)

ssize_t writev(int descriptor, const struct iovec *pieces, int number) {
    REAL(writev);
    int half = 0;
    if (!fails_at("writev", descriptor, 1, &half)) return real_writev(descriptor, pieces, number);
    if (half && real_writev(descriptor, pieces, 1) >= 0) errno = ENOSPC;
    return -1;
}

/* C libraries' own buffers are written by calls within libc, which are not seen: so the call that fills them fails. */
size_t fwrite(const void *data, size_t size, size_t number, FILE *file) {
    REAL(fwrite);
    int half = 0;
    if (!fails_at("fwrite", fileno(file), 1, &half)) return real_fwrite(data, size, number, file);
    if (half) real_fwrite(data, size, number / 2, file), fflush(file), errno = ENOSPC;
    return 0;
}

#define SYNCED(name) \
    int name(int descriptor) { \
        REAL(name); \
        return fails_at(#name, descriptor, 0, NULL) ? -1 : real_##name(descriptor); \
    }
SYNCED(fsync)
SYNCED(fdatasync)

#define CUT(name) \
    int name(int descriptor, off_t size) { \
        REAL(name); \
        return fails_at("ftruncate", descriptor, 0, NULL) ? -1 : real_##name(descriptor, size); \
    }
CUT(ftruncate)
CUT(ftruncate64)

int fallocate(int descriptor, int mode, off_t at, off_t size) {
    REAL(fallocate);
    return fails_at("fallocate", descriptor, 1, NULL) ? -1 : real_fallocate(descriptor, mode, at, size);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    return fails("rename", from, 0, NULL) ? -1 : real_rename(from, to);
}

int link(const char *from, const char *to) {
    REAL(link);
    return fails("link", to, 1, NULL) ? -1 : real_link(from, to);
}

int linkat(int at, const char *from, int other, const char *to, int flags) {
    REAL(linkat);
    return fails("link", to, 1, NULL) ? -1 : real_linkat(at, from, other, to, flags);
}

int unlink(const char *path) {
    REAL(unlink);
    return fails("unlink", path, 0, NULL) ? -1 : real_unlink(path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return fails("mkdir", path, 1, NULL) ? -1 : real_mkdir(path, mode);
}

#define OPENED(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list more; \
        va_start(more, flags); \
        int mode = flags & O_CREAT ? va_arg(more, int) : 0; \
        va_end(more); \
        if (folder[0] && flags & O_CREAT && access(path, F_OK) && fails("create", path, 1, NULL)) return -1; \
        return real_##name(path, flags, mode); \
    }
OPENED(open)
OPENED(open64)

#define MAPPED(name) \
    void *name(void *at, size_t size, int protection, int flags, int descriptor, off_t offset) { \
        REAL(name); \
        int shared = descriptor >= 0 && flags & MAP_SHARED && protection & PROT_WRITE; \
        if (shared && fails_at("mmap", descriptor, 0, NULL)) return MAP_FAILED; \
        return real_##name(at, size, protection, flags, descriptor, offset); \
    }
MAPPED(mmap)
MAPPED(mmap64)
