/*
 * The one place where this library starts the helper of a run.
 *
 * Theory of operation. The caller may have threads and much memory. So the child shares the memory
 * (CLONE_VM), on a stack of its own, and does two things only: puts the socket in place and
 * executes the helper. We wait until it has (CLONE_VFORK): a child that does not begin on this CPU
 * at once is often left behind us for as long as we have work, though another CPU is idle, where a
 * thread that is woken finds one. It touches nothing of ours but its own struct; errno is shared,
 * and written only where it fails. All signals are blocked in it, so that no handler of the
 * caller's runs there. The kernel makes its exit signal SIGCHLD at the exec, so a caller's handler
 * may hear of its end, or even reap it: we go by the pidfd and the socket, and a helper that was
 * reaped by somebody else is as good.
 */
#include "backend/child.h"
#include "base/fd.h"
#include "plan/report.h"
#include "kernel/namespace.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/* A sanitizer would mark this function's stack in memory that it shares with the caller. */
__attribute__((no_sanitize_address)) static int child_main(void *argument)
{
        struct child *child = argument;
        const char *name = child->name ? child->name : "sandbox-init";
        char *arguments[] = { (char *)(uintptr_t)name, (char *)(uintptr_t)child->hint, NULL };
        char *environment[] = { NULL };

        if (child->socket == HELPER_SOCKET) {
                if (fcntl(HELPER_SOCKET, F_SETFD, 0) < 0)
                        goto failed;
        } else if (dup2(child->socket, HELPER_SOCKET) < 0) {
                goto failed;
        }
        (void)execve(child->path, arguments, environment);
failed:
        child->sys_errno = errno;
        _exit(127);
}

pid_t child_start(struct child *child, int *ret_pidfd)
{
        sigset_t all, before;
        int pidfd = -1;
        pid_t pid;

        child->sys_errno = 0;
        sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        pid = clone(child_main, child->stack + sizeof(child->stack),
                    CLONE_VM | CLONE_VFORK | (int)SYS_CLONE_PIDFD, child, &pidfd);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (pid > 0)
                *ret_pidfd = pidfd;
        return pid;
}

void helper_dismiss(struct helper *helper)
{
        siginfo_t info;

        fd_close(helper->socket);
        while (helper->pidfd >= 0 &&
               waitid((idtype_t)P_PIDFD, (id_t)helper->pidfd, &info, WEXITED | __WALL) < 0 &&
               errno == EINTR)
                ;
        fd_close(helper->pidfd);
        helper->pidfd = helper->socket = -1;
}

/* Without /proc the helper refuses, and says so; we fail where we have no descriptor to look with.
 */
static int look_around(struct helper *helper)
{
        AUTO_CLOSE int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r = -1;

        _Static_assert((int)REPORT_NAMESPACES == (int)NAMESPACE_COUNT, "one number for each");
        memset(helper->outer_namespaces, 0, sizeof(helper->outer_namespaces));
        if (proc >= 0)
                r = namespace_inodes(proc, helper->outer_namespaces);
        return r < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM) ? -1 : 0;
}

int helper_start(struct helper *helper, const char *path, const char *hint)
{
        int pair[2], failure;

        helper->pidfd = helper->socket = -1;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -1;
        helper->child.path = path;
        helper->child.name = NULL;
        helper->child.hint = hint;
        helper->child.socket = pair[1];
        helper->socket = pair[0];
        helper->pid = child_start(&helper->child, &helper->pidfd);
        /* The child's copy of the descriptor is its own: the table is not shared. */
        fd_close(pair[1]);
        if (helper->pid >= 0 && look_around(helper) == 0)
                return 0;
        failure = errno;
        helper_dismiss(helper);
        errno = failure;
        return -1;
}
