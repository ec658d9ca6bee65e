/* Starting the helper; see child.c for the theory. */
#ifndef BACKEND_CHILD_H
#define BACKEND_CHILD_H

#include <sys/types.h>

enum { CHILD_STACK = 16384 };

/* What the child works on; must stay until it has executed the helper, so for as long as the run.
 */
struct child {
        char stack[CHILD_STACK] __attribute__((aligned(16)));
        const char *path;       /* borrowed: the helper */
        const char *hint;       /* borrowed: its only argument, or NULL */
        int socket;             /* becomes its descriptor 3 */
        volatile int sys_errno; /* why it could not be executed, written by the child; else 0 */
};

/* Starts the helper. Its pid, with a pidfd, or -1 with errno. Whether it could be executed is known
 * only later, by its silence and `sys_errno`. */
pid_t child_start(struct child *child, int *ret_pidfd);

#endif
