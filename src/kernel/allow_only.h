/* A small filter of system calls for programs of ours: these, and no others. */
#ifndef KERNEL_ALLOW_ONLY_H
#define KERNEL_ALLOW_ONLY_H

#include <stddef.h>

enum { ALLOW_ONLY_MAX = 96 };

/* From now on any other call ends the process, for good. The caller has set no_new_privs. 0, or -1
 * with errno. */
int allow_only(const unsigned *calls, size_t count);

#endif
