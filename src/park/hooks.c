/*
 * The functions of the C library by which interpreters open their program, in front of the real
 * ones. Where the path is not the one to stop at, they do what they always do.
 */
/* Both names are meant, and not one for the other. */
#undef _FILE_OFFSET_BITS
#include "park/park.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

typedef int open_function(const char *path, int flags, ...);

static mode_t mode_of(int flags, va_list arguments)
{
        return flags & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(arguments, int) : 0;
}

#define HOOK_OPEN(name)                                                                            \
        EXPORT int name(const char *path, int flags, ...);                                         \
        int name(const char *path, int flags, ...)                                                 \
        {                                                                                          \
                static open_function *real;                                                        \
                va_list arguments;                                                                 \
                mode_t mode;                                                                       \
                                                                                                   \
                if (park_stops_at(path))                                                           \
                        return park_here();                                                        \
                va_start(arguments, flags);                                                        \
                mode = mode_of(flags, arguments);                                                  \
                va_end(arguments);                                                                 \
                if (!real)                                                                         \
                        real = (open_function *)dlsym(RTLD_NEXT, #name);                           \
                return real(path, flags, mode);                                                    \
        }

HOOK_OPEN(open)
HOOK_OPEN(open64)
