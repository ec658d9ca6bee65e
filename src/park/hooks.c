/*
 * Functions of the C library in front of the real ones: those by which interpreters open their
 * program, fork, ask who they are, and take memory. Where nothing is to be stopped, they do what
 * they always do.
 */
/* Both names of each are meant, and not one for the other. */
#undef _FILE_OFFSET_BITS
#include "park/park.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef int open_function(const char *path, int flags, ...);
typedef int openat_function(int dir, const char *path, int flags, ...);
typedef FILE *fopen_function(const char *path, const char *mode);

static mode_t mode_of(int flags, va_list arguments)
{
        return flags & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(arguments, int) : 0;
}

typedef pid_t pid_function(void);
typedef uid_t id_function(void);
typedef int name_function(char *name, size_t size);

/* Both names of open() and its kin are there, and what the compiler makes of them where it checks
 * their arguments. */
#define HOOKS(X)                                                                                   \
        X(open_function, open)                                                                     \
        X(open_function, open64)                                                                   \
        X(open_function, __open_2)                                                                 \
        X(open_function, __open64_2)                                                               \
        X(openat_function, openat)                                                                 \
        X(openat_function, openat64)                                                               \
        X(fopen_function, fopen)                                                                   \
        X(fopen_function, fopen64)                                                                 \
        X(pid_function, getpid)                                                                    \
        X(pid_function, getppid)                                                                   \
        X(id_function, getuid)                                                                     \
        X(id_function, geteuid)                                                                    \
        X(id_function, getgid)                                                                     \
        X(id_function, getegid)                                                                    \
        X(name_function, gethostname)                                                              \
        X(pid_function, fork)

#define DECLARE_REAL(type, name) static type *real_##name;
HOOKS(DECLARE_REAL)

/* All at once, and so before there are copies: each would have to look a name up again, and have
 * pages of its own for it. */
#define FIND_REAL(type, name) real_##name = (type *)dlsym(RTLD_NEXT, #name);
static void find_real(void){ HOOKS(FIND_REAL) }

#define REAL(name) (real_##name ? real_##name : (find_real(), real_##name))

#define HOOK_OPEN(name)                                                                            \
        EXPORT int name(const char *path, int flags, ...);                                         \
        int name(const char *path, int flags, ...)                                                 \
        {                                                                                          \
                va_list arguments;                                                                 \
                mode_t mode;                                                                       \
                int fd;                                                                            \
                                                                                                   \
                if (stops_open(path, &fd))                                                         \
                        return fd;                                                                 \
                va_start(arguments, flags);                                                        \
                mode = mode_of(flags, arguments);                                                  \
                va_end(arguments);                                                                 \
                return REAL(name)(path, flags, mode);                                              \
        }

#define HOOK_OPENAT(name)                                                                          \
        EXPORT int name(int dir, const char *path, int flags, ...);                                \
        int name(int dir, const char *path, int flags, ...)                                        \
        {                                                                                          \
                va_list arguments;                                                                 \
                mode_t mode;                                                                       \
                int fd;                                                                            \
                                                                                                   \
                if (stops_open(path, &fd))                                                         \
                        return fd;                                                                 \
                va_start(arguments, flags);                                                        \
                mode = mode_of(flags, arguments);                                                  \
                va_end(arguments);                                                                 \
                return REAL(name)(dir, path, flags, mode);                                         \
        }

#define HOOK_FOPEN(name)                                                                           \
        EXPORT FILE *name(const char *path, const char *mode);                                     \
        FILE *name(const char *path, const char *mode)                                             \
        {                                                                                          \
                int fd;                                                                            \
                                                                                                   \
                if (stops_open(path, &fd))                                                         \
                        return fd < 0 ? NULL : fdopen(fd, mode);                                   \
                return REAL(name)(path, mode);                                                     \
        }

HOOK_OPEN(open) HOOK_OPEN(open64) HOOK_OPEN(__open_2) HOOK_OPEN(__open64_2) HOOK_OPENAT(openat)
        HOOK_OPENAT(openat64) HOOK_FOPEN(fopen) HOOK_FOPEN(fopen64)

/* ---- who am I ---- */

#define HOOK_IDENTITY(type, name, posed)                                                           \
        EXPORT type name(void);                                                                    \
        type name(void)                                                                            \
        {                                                                                          \
                return stops_poses() ? (posed) : REAL(name)();                                     \
        }

                HOOK_IDENTITY(pid_t, getpid, POSED_PID) HOOK_IDENTITY(pid_t, getppid, POSED_PARENT)
                        HOOK_IDENTITY(uid_t, getuid, POSED_ID)
                                HOOK_IDENTITY(uid_t, geteuid, POSED_ID)
                                        HOOK_IDENTITY(gid_t, getgid, POSED_ID)
                                                HOOK_IDENTITY(gid_t, getegid, POSED_ID)

                                                        EXPORT
        int gethostname(char *name, size_t size);
int gethostname(char *name, size_t size)
{
        if (!stops_poses() || size < sizeof(POSED_HOST))
                return REAL(gethostname)(name, size);
        memcpy(name, POSED_HOST, sizeof(POSED_HOST));
        return 0;
}

/* ---- memory ---- */

/* By the system call: the C library may ask for memory to find its own function. */
static void *map(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
        void *place = NULL;

        if (!address && protection == (PROT_READ | PROT_WRITE) &&
            flags == (MAP_PRIVATE | MAP_ANONYMOUS))
                place = pages_place(length);
        /* What is there is ours, and empty. */
        return (void *)syscall(SYS_mmap, place ? place : address, length, protection,
                               place ? flags | MAP_FIXED : flags, fd, offset);
}

#define HOOK_MAP(name, offset_type)                                                                \
        EXPORT void *name(void *address, size_t length, int protection, int flags, int fd,         \
                          offset_type offset);                                                     \
        void *name(void *address, size_t length, int protection, int flags, int fd,                \
                   offset_type offset)                                                             \
        {                                                                                          \
                return map(address, length, protection, flags, fd, offset);                        \
        }

HOOK_MAP(mmap, off_t)
HOOK_MAP(mmap64, off64_t)

/* ---- fork ---- */

pid_t hooks_real_fork(void)
{
        return REAL(fork)();
}

EXPORT pid_t fork(void);
pid_t fork(void)
{
        return stops_fork() ? 0 : hooks_real_fork();
}
