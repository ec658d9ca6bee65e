/* A small filter of system calls for programs of ours: these, and no others. */
#ifndef KERNEL_ALLOW_ONLY_H
#define KERNEL_ALLOW_ONLY_H

#include <stddef.h>
#include <stdint.h>

enum { ALLOW_ONLY_MAX = 96, ALLOW_ARGUMENTS_MAX = 16 };

/* From now on any other call ends the process, for good. The caller has set no_new_privs. 0, or -1
 * with errno. */
int allow_only(const unsigned *calls, size_t count);

/* A call that is allowed only with this in the bits of one argument (of its lower 32). Rows of the
 * same call are alternatives. */
struct allow_argument {
        unsigned call, argument;
        uint32_t mask, value;
};

/* The same, and these. */
int allow_only_with(const unsigned *calls, size_t count, const struct allow_argument *rows,
                    size_t row_count);

#endif
