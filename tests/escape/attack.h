/*
 * What every attack in C shares. An attack says for each thing it tries how the kernel answered:
 * "REFUSED what ERRNO" where the refusal was one that is expected, "ESCAPED what" where it got
 * through, "UNEXPECTED what ERRNO" where it failed for another reason, which would prove nothing.
 *
 * Arguments are chosen to be harmless should a call get through.
 */
#ifndef ATTACK_H
#define ATTACK_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void attack_report(const char *what, long result, const int *expected)
{
        int error = errno;

        if (result != -1) {
                dprintf(1, "ESCAPED %s: returned %ld\n", what, result);
                return;
        }
        for (; *expected; expected++)
                if (*expected == error) {
                        dprintf(1, "REFUSED %s %s\n", what, strerrorname_np(error));
                        return;
                }
        dprintf(1, "UNEXPECTED %s %s\n", what, strerrorname_np(error));
}

/* A call that must be refused by the filter or for want of a right; further errno values that count
 * as a refusal follow. */
#define TRY(what, call, ...)                                                                      \
        attack_report(what, (errno = 0, (long)(call)),                                            \
                      (const int[]){ EPERM, ENOSYS, EACCES, ##__VA_ARGS__, 0 })

/* A call that must be refused in exactly these ways. */
#define TRY_ONLY(what, call, ...)                                                                 \
        attack_report(what, (errno = 0, (long)(call)), (const int[]){ __VA_ARGS__, 0 })

/* The same for the result of a call already made, errno as it left it. */
#define REPORT(what, result, ...) attack_report(what, result, (const int[]){ __VA_ARGS__, 0 })

/* For what is judged by its effect. */
#define REFUSED_IF(what, condition) dprintf(1, "%s %s\n", (condition) ? "REFUSED" : "ESCAPED", what)

static inline const char *attack_env(const char *name)
{
        const char *value = getenv(name);

        if (!value) {
                dprintf(1, "UNEXPECTED no variable %s\n", name);
                _exit(99);
        }
        return value;
}

#endif
