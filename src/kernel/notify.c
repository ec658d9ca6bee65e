#include "kernel/notify.h"
#include "kernel/sys.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum { INJECT_ATTEMPTS = 100 };

void notify_wake_beside(int listener)
{
        /* It is faster with it, and right without. */
        (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

int notify_receive(int listener, struct notify_call *ret_call)
{
        struct pollfd waits = { .fd = listener, .events = POLLIN };
        struct seccomp_notif question = { 0 };

        if (poll(&waits, 1, 0) <= 0)
                return 0;
        if (!(waits.revents & POLLIN))
                return -1;
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) < 0)
                return errno == EINTR || errno == ENOENT || errno == EAGAIN ? 0 : -1;
        *ret_call = (struct notify_call){
                .id = question.id,
                .thread = (pid_t)question.pid,
                .number = question.data.nr,
        };
        for (int i = 0; i < 6; i++)
                ret_call->arguments[i] = question.data.args[i];
        return 1;
}

bool notify_is_valid(int listener, uint64_t id)
{
        return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

bool notify_answer(int listener, uint64_t id, int sys_errno)
{
        struct seccomp_notif_resp answer = { .id = id, .error = -sys_errno };

        return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
}

bool notify_go_on(int listener, uint64_t id)
{
        struct seccomp_notif_resp answer = { .id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

        return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
}

bool notify_inject(int listener, uint64_t id, int fd, int place, bool close_on_exec)
{
        struct seccomp_notif_addfd order = {
                .id = id,
                .flags = SECCOMP_ADDFD_FLAG_SETFD,
                .srcfd = (uint32_t)fd,
                .newfd = (uint32_t)place,
                .newfd_flags = close_on_exec ? O_CLOEXEC : 0,
        };

        /* The caller itself takes the descriptor, as soon as it gets to run. Where a signal of ours
         * comes first nothing has happened yet. */
        for (int i = 0; i < INJECT_ATTEMPTS; i++)
                if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &order) >= 0)
                        return true;
                else if (errno != EINTR)
                        return false;
        return false;
}

/* The number behind a word at the start of a line, in the given base; -1 where it is not there. */
static long number_after(const char *text, const char *word, int base)
{
        const char *at = strstr(text, word);

        return at ? strtol(at + strlen(word), NULL, base) : -1;
}

int guest_process(pid_t thread, struct guest_process *ret_process)
{
        char path[48], text[4096];
        long pid, threads;

        (void)snprintf(path, sizeof(path), "%d/status", (int)thread);
        if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return -1;
        /* The name, which is the guest's to choose, comes first and cannot hold a line break that
         * is not escaped. */
        pid = number_after(text, "\nTgid:", 10);
        threads = number_after(text, "\nThreads:", 10);
        if (pid <= 0 || threads <= 0) {
                errno = ESRCH;
                return -1;
        }
        *ret_process = (struct guest_process){ (pid_t)pid, (unsigned)threads };
        return 0;
}

int guest_read(pid_t thread, uint64_t address, void *buffer, size_t length)
{
        struct iovec here = { .iov_base = buffer, .iov_len = length };
        struct iovec there = { .iov_base = (void *)(uintptr_t)address, .iov_len = length };
        ssize_t n = process_vm_readv(thread, &here, 1, &there, 1, 0);

        if (n == (ssize_t)length)
                return 0;
        if (n >= 0)
                errno = EFAULT;
        return -1;
}

int guest_descriptor(pid_t pid, int fd)
{
        AUTO_CLOSE int process = sys_pidfd_open(pid);

        return process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
}

bool guest_closes_on_exec(pid_t thread, int fd)
{
        char path[64], text[1024];

        (void)snprintf(path, sizeof(path), "%d/fdinfo/%d", (int)thread, fd);
        if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return true;
        return number_after(text, "flags:", 8) & O_CLOEXEC;
}
