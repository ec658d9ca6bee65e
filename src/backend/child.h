/* Starting the helper; see child.c for the theory. */
#ifndef BACKEND_CHILD_H
#define BACKEND_CHILD_H

#include "plan/report.h"

#include <sys/types.h>

enum { CHILD_STACK = 16384 };

/* What the child works on; must stay until it has executed the helper, so for as long as the run.
 */
struct child {
        char stack[CHILD_STACK] __attribute__((aligned(16)));
        const char *path;       /* borrowed: the helper */
        const char *name;       /* borrowed: what it is called; NULL: sandbox-init */
        const char *hint;       /* borrowed: its only argument, or NULL */
        int socket;             /* becomes its descriptor 3 */
        volatile int sys_errno; /* why it could not be executed, written by the child; else 0 */
};

/* A helper that was started and waits for its order. */
struct helper {
        struct child child;
        pid_t pid;
        int pidfd;  /* owned */
        int socket; /* owned: orders and reports */
        /* Those of the thread that started it, which a proof compares with: we have time to look
         * while it starts. */
        uint64_t outer_namespaces[REPORT_NAMESPACES];
};

/* Starts the helper. Its pid, with a pidfd, or -1 with errno. Whether it could be executed is known
 * only later, by its silence and `sys_errno`. */
pid_t child_start(struct child *child, int *ret_pidfd);
/* The same with a socket to it; 0, or -1 with errno. */
int helper_start(struct helper *helper, const char *path, const char *hint);
/* Lets a helper that got no order go, and waits for its end. */
void helper_dismiss(struct helper *helper);

#endif
