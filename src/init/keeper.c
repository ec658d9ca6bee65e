/* What the keepers of both kinds do once the guest runs: reap, pass signals on, report the end. */
#include "init/init.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"
#include "kernel/caps.h"
#include "kernel/sys.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

int keeper_enter_groups(struct init *init)
{
        int fds[ENTRY_FDS_MAX];
        struct entry entry;
        size_t count = 0;
        int r = init->plan.join_count ? message_receive(HELPER_SOCKET, 0, &entry, sizeof(entry),
                                                        fds, ENTRY_FDS_MAX, &count)
                                      : 1;

        if (r == 0)
                _exit(1); /* the supervisor changed its mind */
        if (r < 0 || count != init->plan.join_count || (count > 0 && entry.magic != ENTRY_MAGIC)) {
                errno = r < 0 ? errno : EPROTO;
                return -1;
        }
        for (size_t i = 0; i < count; i++) {
                if (fd_write_all(fds[i], "0", 1) < 0)
                        return -1;
                fd_close(fds[i]);
        }
        return init->into_fd < 0 || init->is_born_in_group
                       ? 0
                       : fd_write_file_at(init->into_fd, "cgroup.procs", "0");
}

int keeper_tie_to_warden(struct init *init, int death_signal)
{
        struct pollfd warden = { .fd = init->own_pidfd, .events = POLLIN };
        int set = 0;

        if (prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) < 0)
                return -1;
        /* Had the warden died before, no signal would come. */
        if (poll(&warden, 1, 0) != 0)
                _exit(1);
        if (prctl(PR_GET_PDEATHSIG, &set, 0, 0, 0) == 0 && set == death_signal)
                init->report.seen |= PROTECTION_BIT(CLEANUP);
        return 0;
}

/* The children of this process, by /proc; used where there is no pid namespace to do it for us. */
static int kill_children(const struct init *init)
{
        char path[64], text[4096], *next = text;
        int count = 0;

        (void)snprintf(path, sizeof(path), "self/task/%d/children", (int)getpid());
        if (fd_read_file_at(init->host_proc, path, text, sizeof(text)) <= 0)
                return 0;
        /* The last number may have been cut: only what its separator follows is a whole one. The
         * others come in the next round. */
        for (long pid; (pid = strtol(next, &next, 10)) > 0 && *next == ' '; count++)
                (void)kill((pid_t)pid, SIGKILL); /* a zombie is as good as dead */
        return count;
}

void keeper_end_all(const struct init *init)
{
        bool in_pid_namespace = init->plan.kind == PLAN_CONTAINER;

        if (in_pid_namespace && getpid() != 1) {
                /* The warden of a container: the namespace's death did it. What a nest had die with
                 * it, and are ours then; so are the guests of an interpreter that was killed, and
                 * what it left: who waits for the end of their namespaces waits for us. */
                while (init->plan.nest || init->plan.park) {
                        if (init->plan.park)
                                (void)kill_children(init);
                        if (waitpid(-1, NULL, __WALL) < 0 && errno != EINTR)
                                break;
                }
                return;
        }
        if (in_pid_namespace)
                (void)kill(-1, SIGKILL); /* nobody left is fine */
        /* Orphans come to us as their parents die; each round ends a generation. */
        for (;;) {
                if (!in_pid_namespace)
                        (void)kill_children(init);
                if (waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD)
                        return;
        }
}

enum { GUEST_STACK = 256 << 10 };

/* Our own counters belong to root while we are not dumpable; and we are not, from before the
 * guest's first instruction on. */
int keeper_open_counters(const struct init *init)
{
        int fd;

        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        fd = openat(init->host_proc, "self/io", O_RDONLY | O_CLOEXEC);
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        return fd;
}

uint64_t keeper_count(int counters_fd, struct keeper_counters *ret)
{
        struct rusage usage = { 0 };
        struct io_counters io = { 0 };
        ssize_t own = io_read(counters_fd, &io);

        (void)getrusage(RUSAGE_CHILDREN, &usage);
        *ret = (struct keeper_counters){ .read_bytes = io.read_bytes,
                                         .write_bytes = io.write_bytes,
                                         .cpu_user_us = clock_us(usage.ru_utime),
                                         .cpu_system_us = clock_us(usage.ru_stime),
                                         .memory_peak = (uint64_t)usage.ru_maxrss * 1024 };
        return own > 0 ? (uint64_t)own : 0;
}

struct keeper_counters keeper_count_since(int counters_fd, const struct keeper_counters *before,
                                          uint64_t own_read)
{
        struct keeper_counters now;

        (void)keeper_count(counters_fd, &now);
        now.read_bytes = io_less(now.read_bytes, before->read_bytes + own_read);
        now.write_bytes = io_less(now.write_bytes, before->write_bytes);
        now.cpu_user_us = io_less(now.cpu_user_us, before->cpu_user_us);
        now.cpu_system_us = io_less(now.cpu_system_us, before->cpu_system_us);
        return now;
}

/* Processes of this pid namespace but ourselves; -1 where that cannot be told. Raw, because
 * readdir() allocates. */
static int count_processes(void)
{
        AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char buffer[4096] __attribute__((aligned(8)));
        int count = -1; /* ourselves */
        long n = -1;

        while (proc >= 0 && (n = syscall(SYS_getdents64, proc, buffer, sizeof(buffer))) > 0)
                for (long at = 0; at < n;) {
                        const struct dirent *entry = (const struct dirent *)(buffer + at);

                        count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
                        at += entry->d_reclen;
                }
        return n < 0 ? -1 : count;
}

/* Where there are none nobody is signalled: a signal to all has the kernel look at every process of
 * the machine. */
void keeper_end_survivors(struct init *init)
{
        int count = count_processes();

        init->report.survivors = count > 0 ? (uint32_t)count : 0;
        if (count != 0)
                keeper_end_all(init);
}

static void report_end(struct init *init, int status, int counters_fd,
                       const struct keeper_counters *before, uint64_t own_read)
{
        struct keeper_counters used;

        init->report.wait_status = status;
        if (init->plan.kind == PLAN_CONTAINER)
                keeper_end_survivors(init);
        else
                keeper_end_all(init);
        used = keeper_count_since(counters_fd, before, own_read);
        init->report.memory_peak = used.memory_peak;
        init->report.cpu_user_us = used.cpu_user_us;
        init->report.cpu_system_us = used.cpu_system_us;
        init->report.io_write_bytes = used.write_bytes;
        init->report.io_read_bytes = used.read_bytes;
        report_send(init, REPORT_EXITED, NULL, 0);
        _exit(0);
}

void keeper_give_up_privileges(struct init *init)
{
        if (init->change_uid && caps_become(init->keeper_uid, init->keeper_uid) < 0)
                report_failure(init, STAGE_IDENTITY, errno);
        if (caps_keep_only(CAP_KILL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                report_failure(init, STAGE_CAPABILITIES, errno);
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* the change of id reset it; cannot fail */
}

void keeper_give_streams(struct init *init)
{
        for (int i = 0; i < 3 && init->change_uid; i++) {
                struct stat st;

                if (fstat(i, &st) == 0 && S_ISFIFO(st.st_mode) &&
                    fchown(i, init->guest_uid, init->guest_uid) < 0)
                        report_failure(init, STAGE_IDENTITY, errno);
        }
}

static int guest_main(void *argument)
{
        guest_run(argument);
}

/* The guest borrows our memory until it executes the program (we stand still meanwhile), on a stack
 * of its own: copying the page tables of even this small process costs a tenth of a millisecond. */
static pid_t start_guest(struct init *init)
{
        static char stack[GUEST_STACK] __attribute__((aligned(16)));

        return clone(guest_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, init);
}

/* Orders come from outside the pid namespace, where the sender has no number. What the guest sends
 * us is nothing, also when it queues a signal with a false sender: only the kernel may write
 * SI_USER. */
static bool is_order(const siginfo_t *info)
{
        return info->si_code == SI_USER && info->si_pid == 0;
}

void keeper_terminate_all(void)
{
        (void)kill(-1, SIGTERM); /* whoever is left */
        (void)kill(-1, SIGCONT); /* the stopped ones must hear it too */
}

_Noreturn void keeper_run(struct init *init)
{
        struct keeper_counters before;
        sigset_t signals;
        uint64_t own_read;
        int counters_fd;
        pid_t guest;

        sigemptyset(&signals);
        sigaddset(&signals, SIGCHLD);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        (void)sigprocmask(SIG_BLOCK, &signals, NULL);
        counters_fd = keeper_open_counters(init);
        /* We give up our rights when the program runs already: too late for a refusal. */
        if (!caps_are_known())
                report_failure(init, STAGE_CAPABILITIES, errno);
        keeper_give_streams(init);
        guest = start_guest(init);
        /* It had our memory, and changed its id in it. */
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        if (guest < 0)
                report_failure(init, STAGE_FORK, errno);
        for (int i = 0; i < 3; i++)
                fd_close(i); /* the guest's streams must end with the guest */
        if (init->plan.waits)
                once_hand_over(init);
        own_read = keeper_count(counters_fd, &before);
        keeper_give_up_privileges(init);
        /* A new id clears the death signal. */
        (void)keeper_tie_to_warden(init, init->plan.kind == PLAN_CONTAINER ? SIGKILL : SIGINT);
        for (;;) {
                siginfo_t info;
                int signal = sigwaitinfo(&signals, &info), status;
                pid_t pid;

                if (init->plan.kind == PLAN_CONTAINER && signal != SIGCHLD && !is_order(&info))
                        continue;
                if (signal == SIGINT && init->plan.kind == PLAN_LOCAL)
                        (void)kill_children(init);
                if (signal == SIGTERM && init->plan.kind == PLAN_CONTAINER) {
                        keeper_terminate_all();
                } else if (signal == SIGTERM) {
                        (void)kill(-guest, SIGTERM);
                        (void)kill(-guest, SIGCONT);
                }
                while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
                        if (pid == guest)
                                report_end(init, status, counters_fd, &before, own_read);
        }
}
