/* Loaded before a program (LD_PRELOAD): of its calls with a path below $ONE every second one goes to the
   same path below $OTHER. So one program uses two mounts of a volume in turn. Both paths of a call that
   has two are on one mount, and an open file stays where it was opened. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_uint calls;

static int is_turn(void) { return atomic_fetch_add(&calls, 1) % 2; }

/* The path on the mount whose turn it is. */
static const char *turned(const char *path, char *room, int turn) {
    const char *one = getenv("ONE"), *other = getenv("OTHER");
    size_t length = one ? strlen(one) : 0;
    /* Some tests hand over what is no address. */
    if (!turn || (uintptr_t)path < 4096 || (uintptr_t)path >> 47 || !other || !length || strncmp(path, one, length) ||
        (path[length] && path[length] != '/') || strlen(path) + strlen(other) >= 8192)
        return path;
    snprintf(room, 8192, "%s%s", other, path + length);
    return room;
}

/* Two mounts are two devices; what is compared is the file. */
#define ONE_DEVICE(call, field) int end = call; if (!end) s->field = 0; return end

#define NEXT(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))
#define ROOM char room[8192]; const char *at = turned(path, room, is_turn())
#define ROOMS char room[8192], rooms[8192]; int turn = is_turn(); \
    const char *from = turned(old, room, turn), *to = turned(new, rooms, turn)

int chmod(const char *path, mode_t mode) { ROOM; return NEXT(int, chmod, const char *, mode_t)(at, mode); }
int chown(const char *path, uid_t u, gid_t g) { ROOM; return NEXT(int, chown, const char *, uid_t, gid_t)(at, u, g); }
int lchown(const char *path, uid_t u, gid_t g) { ROOM; return NEXT(int, lchown, const char *, uid_t, gid_t)(at, u, g); }
int fchmodat(int d, const char *path, mode_t m, int f) { ROOM; return NEXT(int, fchmodat, int, const char *, mode_t, int)(d, at, m, f); }
int fchownat(int d, const char *path, uid_t u, gid_t g, int f) { ROOM; return NEXT(int, fchownat, int, const char *, uid_t, gid_t, int)(d, at, u, g, f); }
int mkdir(const char *path, mode_t mode) { ROOM; return NEXT(int, mkdir, const char *, mode_t)(at, mode); }
int mkfifo(const char *path, mode_t mode) { ROOM; return NEXT(int, mkfifo, const char *, mode_t)(at, mode); }
int mknod(const char *path, mode_t mode, dev_t dev) { ROOM; return NEXT(int, mknod, const char *, mode_t, dev_t)(at, mode, dev); }
int rmdir(const char *path) { ROOM; return NEXT(int, rmdir, const char *)(at); }
int unlink(const char *path) { ROOM; return NEXT(int, unlink, const char *)(at); }
int unlinkat(int d, const char *path, int f) { ROOM; return NEXT(int, unlinkat, int, const char *, int)(d, at, f); }
int truncate(const char *path, off_t length) { ROOM; return NEXT(int, truncate, const char *, off_t)(at, length); }
int stat(const char *path, struct stat *s) { ROOM; ONE_DEVICE(NEXT(int, stat, const char *, struct stat *)(at, s), st_dev); }
int stat64(const char *path, struct stat64 *s) { ROOM; ONE_DEVICE(NEXT(int, stat64, const char *, struct stat64 *)(at, s), st_dev); }
int lstat(const char *path, struct stat *s) { ROOM; ONE_DEVICE(NEXT(int, lstat, const char *, struct stat *)(at, s), st_dev); }
int lstat64(const char *path, struct stat64 *s) { ROOM; ONE_DEVICE(NEXT(int, lstat64, const char *, struct stat64 *)(at, s), st_dev); }
int statx(int d, const char *path, int f, unsigned m, struct statx *s) { ROOM; ONE_DEVICE(NEXT(int, statx, int, const char *, int, unsigned, struct statx *)(d, at, f, m, s), stx_dev_minor); }
int utimensat(int d, const char *path, const struct timespec t[2], int f) { ROOM; return NEXT(int, utimensat, int, const char *, const struct timespec *, int)(d, at, t, f); }
ssize_t readlink(const char *path, char *b, size_t n) { ROOM; return NEXT(ssize_t, readlink, const char *, char *, size_t)(at, b, n); }
DIR *opendir(const char *path) { ROOM; return NEXT(DIR *, opendir, const char *)(at); }
int symlink(const char *target, const char *path) { ROOM; return NEXT(int, symlink, const char *, const char *)(target, at); }
int symlinkat(const char *target, int d, const char *path) { ROOM; return NEXT(int, symlinkat, const char *, int, const char *)(target, d, at); }
int rename(const char *old, const char *new) { ROOMS; return NEXT(int, rename, const char *, const char *)(from, to); }
int renameat(int o, const char *old, int n, const char *new) { ROOMS; return NEXT(int, renameat, int, const char *, int, const char *)(o, from, n, to); }
int link(const char *old, const char *new) { ROOMS; return NEXT(int, link, const char *, const char *)(from, to); }
int linkat(int o, const char *old, int n, const char *new, int f) { ROOMS; return NEXT(int, linkat, int, const char *, int, const char *, int)(o, from, n, to, f); }

#define MODE mode_t mode = 0; if (flags & (O_CREAT | __O_TMPFILE)) { va_list l; va_start(l, flags); mode = va_arg(l, mode_t); va_end(l); }
int open(const char *path, int flags, ...) { MODE; ROOM; return NEXT(int, open, const char *, int, ...)(at, flags, mode); }
int open64(const char *path, int flags, ...) { MODE; ROOM; return NEXT(int, open64, const char *, int, ...)(at, flags, mode); }
int fstat(int fd, struct stat *s) { ONE_DEVICE(NEXT(int, fstat, int, struct stat *)(fd, s), st_dev); }
int fstat64(int fd, struct stat64 *s) { ONE_DEVICE(NEXT(int, fstat64, int, struct stat64 *)(fd, s), st_dev); }
int openat64(int d, const char *path, int flags, ...) { MODE; ROOM; return NEXT(int, openat64, int, const char *, int, ...)(d, at, flags, mode); }
