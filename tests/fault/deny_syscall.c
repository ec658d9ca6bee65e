/*
 * deny_syscall NAME EPERM|ENOSYS|EAGAIN PROGRAM [ARGUMENT...]
 *
 * Runs a program to which one system call always fails: a machine that lacks it, or forbids it. The
 * filter is inherited by everything the program starts. Where the caller may, it is installed
 * without no_new_privs, so that nothing else differs from a plain start.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
        const char *name;
        unsigned number;
} calls[] = {
#define CALL(name) { #name, SYS_##name },
        CALL(clone) CALL(setns) CALL(clone3) CALL(mount) CALL(open_tree) CALL(move_mount) CALL(
                mount_setattr) CALL(pivot_root) CALL(umount2) CALL(sethostname) CALL(setsid)
                CALL(unshare) CALL(capset) CALL(setresuid) CALL(setresgid) CALL(setgroups) CALL(
                        landlock_create_ruleset) CALL(landlock_add_rule)
                        CALL(landlock_restrict_self) CALL(seccomp) CALL(close_range) CALL(
                                memfd_create) CALL(socketpair) CALL(pidfd_open)
                                CALL(pidfd_send_signal) CALL(prlimit64) CALL(mkdirat) CALL(
                                        fchown) CALL(openat2) CALL(statfs) CALL(sendfile)
                                        CALL(fchownat) CALL(symlinkat) CALL(recvmsg) CALL(
                                                sendmsg) CALL(dup3) CALL(pipe2) CALL(eventfd2)
                                                CALL(waitid) CALL(sched_setaffinity) CALL(
                                                        sched_getaffinity) CALL(capget) CALL(fcntl)
                                                        CALL(unlinkat) CALL(getdents64) CALL(kill)
                                                                CALL(pread64) CALL(ppoll)
#ifdef SYS_chown
                                                                        CALL(chown) CALL(symlink)
                                                                                CALL(mkdir)
                                                                                        CALL(poll)
#endif
#undef CALL
};

static int find_number(const char *name)
{
        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
                if (strcmp(calls[i].name, name) == 0)
                        return (int)calls[i].number;
        return -1;
}

static int deny(unsigned number, unsigned error)
{
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0)
                return 0;
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
                       ? -1
                       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int find_error(const char *name)
{
        static const struct {
                const char *name;
                int number;
        } errors[] = { { "EPERM", EPERM }, { "ENOSYS", ENOSYS }, { "EAGAIN", EAGAIN } };

        for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
                if (strcmp(errors[i].name, name) == 0)
                        return errors[i].number;
        return 0;
}

int main(int argc, char **argv)
{
        int number = argc > 3 ? find_number(argv[1]) : -1;
        int error = argc > 3 ? find_error(argv[2]) : 0;

        if (number < 0 || error == 0) {
                (void)fprintf(stderr, "deny_syscall: usage, or no such call here\n");
                return 77; /* skipped: this architecture does not have it */
        }
        if (deny((unsigned)number, error) < 0) {
                perror("deny_syscall: filter");
                return 1;
        }
        (void)execv(argv[3], argv + 3);
        perror(argv[3]);
        return 1;
}
