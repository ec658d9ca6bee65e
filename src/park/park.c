/*
 * The library in a parked interpreter. It is loaded before everything else (LD_PRELOAD), stops the
 * interpreter where it would open the user's program, and waits for keepers who ask for a guest.
 *
 * For each guest a fork, a copy of the interpreter, is born in the keeper's pid namespace and joins
 * the others. It enters the control groups and drops everything exactly as a guest that is executed
 * does (src/init/guest.c is compiled into this library), but for what it needs the run for. That
 * it waits for; then it does the rest, proves all of it, reports, and goes on into the user's
 * program. We are its parent, so we tell its keeper how it ended. Where the keeper has a
 * user namespace of its own, there is no way back out of it: then a child that shares our memory
 * (so that nothing is copied for it) joins all of them and forks.
 *
 * Nothing here allocates, and there is one thread.
 */
#include "park/park.h"
#include "init/init.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"
#include "kernel/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { GUESTS_MAX = 64, OWN_FDS_MAX = 32, CHILD_STACK = 256 << 10 };

/* A guest that lives, and whom to tell its end. */
struct guest {
        pid_t pid; /* 0: free */
        int pidfd;
        int end_fd;
};

static struct {
        int socket; /* -1: not parked */
        struct init init;
        int own_fds[OWN_FDS_MAX]; /* those that the interpreter has opened itself */
        int own_fd_count;
        int own_pids;          /* our own pid namespace */
        int io_fd;             /* counts what our guests have read and written */
        struct io_counters io; /* after the last of them */
        char *environment[PARK_ENVIRONMENT_MAX];
        struct guest guests[GUESTS_MAX];
        int fds[ORDER_FDS_MAX];
        struct adopt order;
        volatile pid_t forked; /* written by the child that shares our memory */
        volatile int fork_errno;
        jmp_buf resume; /* where the guest goes on, on the interpreter's own stack */
} park = { .socket = -1, .init.socket = HELPER_SOCKET };

/* ---- the guest's side ---- */

/* The guest keeps its command and its environment. The rest of the plan, and what else is of the
 * host's (numbers of processes, names of groups and files), is none of the program's business. */
void park_forget(struct init *init)
{
        struct plan kept = run_plan_keep(&init->plan);

        run_plan_forget();
        memset(init, 0, sizeof(*init));
        memset(park.guests, 0, sizeof(park.guests));
        memset(&park.order, 0, sizeof(park.order));
        memset(&park.io, 0, sizeof(park.io)); /* what other guests moved */
        park.forked = 0;
        init->plan = kept;
        init->socket = -1;
}

/* What the interpreter had open is closed with all the rest: it would lead to other guests. One
 * that knows that it was forked closes it once more and makes it anew; until then, nothing else may
 * have the number. */
static void replace_own_fds(void)
{
        int null = park.own_fd_count > 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
        bool is_own = false; /* it may have got one of the numbers itself */

        for (int i = 0; i < park.own_fd_count && null >= 0; i++) {
                is_own |= park.own_fds[i] == null;
                if (park.own_fds[i] != null)
                        (void)dup3(null, park.own_fds[i], O_CLOEXEC);
        }
        if (!is_own)
                fd_close(null);
}

/* The array stays where it is: an interpreter takes another one for one that it has made. */
static void set_environment(struct init *init)
{
        if (init->plan.environment_count >= PARK_ENVIRONMENT_MAX)
                report_failure(init, STAGE_ORDER, E2BIG);
        memcpy(park.environment, init->plan.environment,
               (init->plan.environment_count + 1) * sizeof(*park.environment));
        environ = park.environment;
}

/* By the guest itself: whoever brings it shares the memory of the parked interpreter, and would be
 * counted as a process of the run, and end the interpreter where the run's memory is too small. */
static void enter_groups(struct init *init)
{
        for (uint32_t i = 0; i < park.order.join_count; i++)
                if (fd_write_all(park.fds[ADOPT_FIXED_FDS + i], "0", 1) < 0)
                        report_failure(init, STAGE_GROUP, errno);
        init->report.io_write_bytes += park.order.join_count; /* ours, not the program's */
}

/* Whether the guest was forked by whoever joined all namespaces before. */
static bool is_born_joined(void)
{
        return park.order.user_namespace;
}

/* All but the pid namespace, in which this process was born. */
static void join_namespaces(struct init *init)
{
        for (int i = 0; i < NAMESPACE_COUNT && !is_born_joined(); i++)
                if (i != NAMESPACE_USER && i != NAMESPACE_PID &&
                    setns(park.fds[ADOPT_NAMESPACES + i], (int)namespaces[i].flag) < 0)
                        report_failure(init, STAGE_NAMESPACES, errno);
}

/* Before its run is known: whatever fails is told to the keeper, who asks for another. */
static void come_ahead(struct init *init)
{
        const int *fds = park.fds;

        /* The first descriptor that came has the lowest number: this puts nothing in its place that
         * is still needed. */
        if (fds[ADOPT_ORDERS] != HELPER_SOCKET &&
            dup3(fds[ADOPT_ORDERS], HELPER_SOCKET, O_CLOEXEC) < 0)
                _exit(1);
        join_namespaces(init);
        enter_groups(init);
        run_plan_read(init, fds[ADOPT_PLAN], park.order.plan_length);
        init->guest_uid = park.order.guest_uid;
        init->change_uid = park.order.change_uid;
        init->guest_user_fd = fds[ADOPT_USER];
        init->report.guest_uid = init->change_uid ? init->guest_uid : init->plan.host_uid;
        init->is_parked = init->is_hatched = true;
        if (!stops_is_as_posed())
                report_failure(init, STAGE_ORDER, EPROTO);
        guest_confine_ahead(init);
        report_send(init, REPORT_WAITING, NULL, 0);
        run_plan_forget();
}

/* Its run: from now on, reports go to whoever ordered that. */
static void take_run(struct init *init)
{
        static struct given given;
        int *fds = park.fds;

        given_receive(HELPER_SOCKET, HAND_STREAMS, &given, fds);
        if (dup3(fds[GIVEN_REPORTS], HELPER_SOCKET, O_CLOEXEC) < 0)
                _exit(1);
        for (int i = 0; i < HAND_STREAMS; i++)
                if (dup3(fds[GIVEN_FIXED_FDS + i], i, 0) < 0)
                        report_failure(init, STAGE_ORDER, errno);
        run_plan_read(init, fds[GIVEN_PLAN], given.plan_length);
        init->report.seen |= given.report.seen;
        init->file_fds = fds + GIVEN_FIXED_FDS + HAND_STREAMS;
        init->file_fd_count = (int)given.fd_count - GIVEN_FIXED_FDS - HAND_STREAMS;
        init->handed_fds = fds;
        init->handed_fd_count = (int)given.fd_count;
        memset(&given, 0, sizeof(given));
}

static void become_guest(void)
{
        struct init *init = &park.init;

        park.socket = -1;
        come_ahead(init);
        take_run(init);
        guest_confine(init);
        (void)close(HELPER_SOCKET);
        (void)close(init->fork_listener);
        /* As after an exec: the program may look into itself. */
        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        park_forget(init);
        set_environment(init);
        replace_own_fds();
}

/* ---- the parked side ---- */

/* In the child that shares our memory: joins the keeper, then forks the guest. */
static int join_and_fork(void *argument)
{
        pid_t pid;

        (void)argument;
        /* The user namespace is the first of them: it gives the right to the others. */
        for (int i = 0; i < NAMESPACE_COUNT; i++)
                if (setns(park.fds[ADOPT_NAMESPACES + i], (int)namespaces[i].flag) < 0)
                        goto failed;
        pid = hooks_real_fork();
        if (pid == 0)
                longjmp(park.resume, 1);
        if (pid < 0)
                goto failed;
        park.forked = pid;
        _exit(0);
failed:
        park.fork_errno = errno;
        _exit(1);
}

static void tell_end(int fd, const struct adopt_end *end)
{
        (void)message_send(fd, end, sizeof(*end), NULL,
                           0); /* a keeper that is gone needs no word */
        fd_close(fd);
}

/* The kernel adds to our own what a child had when we have waited for it. */
static void count_io(struct adopt_end *end)
{
        struct io_counters before = park.io;
        ssize_t own = io_read(park.io_fd, &park.io);

        end->io_read_bytes = io_less(park.io.read_bytes, before.read_bytes);
        end->io_write_bytes = io_less(park.io.write_bytes, before.write_bytes);
        if (own > 0)
                park.io.read_bytes += (uint64_t)own; /* our look, which is counted from now on */
}

static void reap(struct guest *guest)
{
        struct adopt_end end = { 0 };
        struct rusage usage = { 0 };
        int status = 0;

        if (wait4(guest->pid, &status, __WALL, &usage) < 0)
                end.sys_errno = errno;
        end.wait_status = status;
        end.cpu_user_us = clock_us(usage.ru_utime);
        end.cpu_system_us = clock_us(usage.ru_stime);
        end.memory_peak = (uint64_t)usage.ru_maxrss * 1024;
        count_io(&end);
        tell_end(guest->end_fd, &end);
        fd_close(guest->pidfd);
        guest->pid = 0;
}

static struct guest *free_place(void)
{
        for (int i = 0; i < GUESTS_MAX; i++)
                if (park.guests[i].pid == 0)
                        return &park.guests[i];
        return NULL;
}

/* By a child that joins in our place; whether this process is the guest now. */
static bool fork_beyond(void)
{
        static char stack[CHILD_STACK] __attribute__((aligned(16)));
        volatile pid_t child;

        if (setjmp(park.resume))
                return true;
        child = clone(join_and_fork, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
        if (child > 0)
                (void)waitpid(child, NULL, __WALL);
        return false;
}

/* By ourselves: only children are born in the pid namespace that one joins, and there is a way
 * back. Whether this process is the guest now. */
static bool fork_within(void)
{
        pid_t pid = -1;

        if (setns(park.fds[ADOPT_NAMESPACES + NAMESPACE_PID], CLONE_NEWPID) == 0)
                pid = hooks_real_fork();
        if (pid == 0)
                return true;
        park.forked = pid;
        park.fork_errno = errno;
        /* The next guest would be born among the processes of this one. */
        if (setns(park.own_pids, CLONE_NEWPID) < 0)
                _exit(1);
        return false;
}

/* Whether this process is the guest now. */
static bool start_guest(void)
{
        struct adopt_end failed = { .sys_errno = EAGAIN };
        struct guest *guest = free_place();

        park.forked = 0;
        park.fork_errno = EAGAIN;
        if (guest && (is_born_joined() ? fork_beyond() : fork_within()))
                return true;
        if (park.forked > 0) {
                /* Our child since the one in between is gone: the number is its own. */
                *guest = (struct guest){ park.forked, sys_pidfd_open(park.forked),
                                         park.fds[ADOPT_END] };
                park.fds[ADOPT_END] = -1;
                if (guest->pidfd < 0) { /* it could not be watched */
                        (void)kill(guest->pid, SIGKILL);
                        reap(guest);
                }
        } else {
                failed.sys_errno = park.fork_errno;
                tell_end(fd_take(&park.fds[ADOPT_END]), &failed);
        }
        for (uint32_t i = 0; i < park.order.fd_count; i++)
                fd_close(park.fds[i]);
        return false;
}

/* One keeper's wish; whether this process is the guest now. Ends with whom it serves. */
static bool hear_keeper(void)
{
        size_t count = 0;
        int r = message_receive(park.socket, 0, &park.order, sizeof(park.order), park.fds,
                                ORDER_FDS_MAX, &count);

        if (r == 0)
                _exit(0);
        if (r < 0 || park.order.magic != ADOPT_MAGIC || count != park.order.fd_count ||
            count < ADOPT_FIXED_FDS + (size_t)park.order.join_count)
                _exit(1);
        return start_guest();
}

/* Where a copy gets no descriptor of its own. */
static int open_aside(const char *path, int flags)
{
        AUTO_CLOSE int fd = open(path, flags | O_CLOEXEC);

        return fcntl(fd, F_DUPFD_CLOEXEC, PARK_SOCKET + 1);
}

static void look_around(void)
{
        struct init *init = &park.init;
        struct stat root;

        init->host_proc = open_aside("/proc", O_PATH | O_DIRECTORY);
        park.own_pids = open_aside("/proc/self/ns/pid", O_RDONLY);
        park.io_fd = open_aside("/proc/self/io", O_RDONLY);
        if (init->host_proc < 0 || park.own_pids < 0 || stat("/", &root) < 0)
                _exit(1);
        count_io(&(struct adopt_end){ 0 }); /* what was until now is no guest's */
        namespace_inodes(init->host_proc, init->outer_namespaces);
        init->outer_root[0] = root.st_dev;
        init->outer_root[1] = root.st_ino;
        init->outer_uid = geteuid();
        init->outer_gid = getegid();
}

/* The numbers in a folder of /proc, but for our own descriptors. Raw, because readdir() allocates.
 */
static int numbers_in(const char *path, int *ret_numbers, int most)
{
        AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char buffer[4096] __attribute__((aligned(8)));
        int count = 0;
        long n;

        while (dir >= 0 && (n = syscall(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0)
                for (long at = 0; at < n;) {
                        const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
                        int number = atoi(entry->d_name);

                        at += entry->d_reclen;
                        if (number > 2 && number != dir && number != park.socket && count < most)
                                ret_numbers[count++] = number;
                }
        return count;
}

/* A copy has one thread: whoever has more cannot be copied. */
static void refuse_threads(void)
{
        int threads[2];

        if (numbers_in("/proc/self/task", threads, 2) != 1)
                _exit(1);
}

void park_serve(void)
{
        const struct parked here = { .magic = PARK_MAGIC };

        sigset_t all;

        /* The interpreter's own handlers must not meet our children. Guests hear all again. */
        sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        refuse_threads();
        if (!pages_gather())
                _exit(1);
        park.own_fd_count = numbers_in("/proc/self/fd", park.own_fds, OWN_FDS_MAX);
        look_around();
        if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ||
            message_send(park.socket, &here, sizeof(here), NULL, 0) < 0)
                _exit(1);
        for (;;) {
                struct pollfd watched[1 + GUESTS_MAX] = { { park.socket, POLLIN, 0 } };

                for (int i = 0; i < GUESTS_MAX; i++)
                        watched[1 + i] =
                                (struct pollfd){ park.guests[i].pid ? park.guests[i].pidfd : -1,
                                                 POLLIN, 0 };
                if (poll(watched, 1 + GUESTS_MAX, -1) < 0)
                        continue;
                for (int i = 0; i < GUESTS_MAX; i++)
                        if (watched[1 + i].revents)
                                reap(&park.guests[i]);
                if (watched[0].revents && hear_keeper())
                        break;
        }
        become_guest();
}

void park_wait(void)
{
        once_wait(&park.init, fd_take(&park.socket));
        park_forget(&park.init);
        set_environment(&park.init);
}

void park_execute(void)
{
        once_execute(&park.init);
}

int park_describe(void)
{
        return describe_run(&park.init.plan);
}

bool park_is_due(void)
{
        return park.socket >= 0;
}

void park_begin(int socket)
{
        for (size_t i = 0; environ[i] && i + 1 < PARK_ENVIRONMENT_MAX; i++)
                park.environment[i] = environ[i];
        environ = park.environment;
        park.socket = socket;
        (void)fcntl(socket, F_SETFD, FD_CLOEXEC);
}
