/*
 * The one place where this library starts a process.
 *
 * Theory of operation. The caller may have threads. So the child shares its memory (CLONE_VM) while
 * the calling thread waits (CLONE_VFORK), and does two things only: puts the socket in place and
 * executes the helper. All signals are blocked around it, so that no handler of the caller's runs in
 * the child. The child has no exit signal: a caller's own SIGCHLD handling never sees it.
 */
#include "backend/child.h"
#include "plan/report.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { CHILD_STACK = 16384 };

struct child_order {
        const char *path;
        const char *hint;
        int socket;
        int sys_errno; /* why exec failed; shared memory makes it visible to the parent */
};

static int child_main(void *argument)
{
        struct child_order *order = argument;
        char *arguments[] = { (char *)"sandbox-init", (char *)(uintptr_t)order->hint, NULL };
        char *environment[] = { NULL };

        if (order->socket == HELPER_SOCKET) {
                if (fcntl(HELPER_SOCKET, F_SETFD, 0) < 0)
                        goto failed;
        } else if (dup2(order->socket, HELPER_SOCKET) < 0) {
                goto failed;
        }
        (void)execve(order->path, arguments, environment);
failed:
        order->sys_errno = errno;
        _exit(127);
}

pid_t child_start(const char *path, const char *hint, int socket, int *ret_pidfd)
{
        char stack[CHILD_STACK] __attribute__((aligned(16)));
        struct child_order order = { .path = path, .hint = hint, .socket = socket };
        sigset_t all, before;
        int pidfd = -1;
        pid_t pid;

        sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        pid = clone(child_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | (int)SYS_CLONE_PIDFD,
                    &order, &pidfd);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (pid > 0)
                *ret_pidfd = pidfd;
        if (pid > 0 && order.sys_errno) {
                errno = order.sys_errno;
                return 0;
        }
        return pid;
}
