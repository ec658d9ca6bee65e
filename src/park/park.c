/*
 * The library in a parked interpreter. It is loaded before everything else (LD_PRELOAD), stops the
 * interpreter where it would open the user's program, and waits for keepers who ask for a guest.
 *
 * For each guest: a child that shares our memory (so that nothing is copied for it) joins the
 * keeper's namespaces and control groups and forks. That fork, a copy of the interpreter, is born
 * in all of them. It drops everything exactly as a guest that is executed does (src/init/guest.c is
 * compiled into this library), proves it, reports, and goes on into the user's program. We are its
 * parent, so we tell its keeper how it ended.
 *
 * Nothing here allocates, and there is one thread.
 */
#include "park/park.h"
#include "init/init.h"
#include "base/fd.h"
#include "base/message.h"
#include "kernel/sys.h"

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
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { GUESTS_MAX = 64, CHILD_STACK = 256 << 10 };

/* A guest that lives, and whom to tell its end. */
struct guest {
        pid_t pid; /* 0: free */
        int pidfd;
        int end_fd;
};

static struct {
        int socket; /* -1: not parked */
        char path[256];
        struct init init;
        struct guest guests[GUESTS_MAX];
        int fds[ORDER_FDS_MAX];
        struct adopt order;
        volatile pid_t forked; /* written by the child that shares our memory */
        volatile int fork_errno;
        jmp_buf resume; /* where the guest goes on, on the interpreter's own stack */
} park = { .socket = -1 };

/* ---- the guest's side ---- */

static void decode_plan(int plan_fd, uint64_t length)
{
        size_t arena_size = plan_arena_size(length);
        void *bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, plan_fd, 0);
        void *arena =
                mmap(NULL, arena_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (bytes == MAP_FAILED || arena == MAP_FAILED ||
            plan_decode(bytes, length, arena, arena_size, &park.init.plan) != NULL)
                report_failure(&park.init, STAGE_ORDER, EPROTO);
}

static void become_guest(void)
{
        struct init *init = &park.init;
        const int *fds = park.fds;
        int next = ADOPT_FIXED_FDS;

        park.socket = -1;
        /* The first descriptor that came has the lowest number: this puts nothing in its place that
         * is still needed. */
        if (fds[ADOPT_REPORTS] != HELPER_SOCKET &&
            dup3(fds[ADOPT_REPORTS], HELPER_SOCKET, O_CLOEXEC) < 0)
                _exit(1);
        decode_plan(fds[ADOPT_PLAN], park.order.plan_length);
        for (int i = 0; i < 3; i++)
                if (dup3(fds[ADOPT_STREAMS + i], i, 0) < 0)
                        report_failure(init, STAGE_ORDER, errno);
        next += (int)init->plan.join_count;
        init->file_fds = fds + next;
        init->file_fd_count = (int)park.order.fd_count - next;
        init->guest_uid = park.order.guest_uid;
        init->change_uid = park.order.change_uid;
        init->report.guest_uid = init->change_uid ? init->guest_uid : init->plan.host_uid;
        init->report.seen = park.order.seen;
        init->is_parked = init->is_hatched = true;
        guest_confine(init);
        (void)close(HELPER_SOCKET);
        (void)close(init->fork_listener);
        /* As after an exec: the program may look into itself. */
        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        environ = (char **)init->plan.environment;
}

/* ---- the parked side ---- */

/* In the child that shares our memory: joins the keeper, then forks the guest. */
static int fork_guest(void *argument)
{
        pid_t pid;

        (void)argument;
        for (uint32_t i = 0; i < park.order.join_count; i++)
                if (fd_write_all(park.fds[ADOPT_FIXED_FDS + i], "0", 1) < 0)
                        goto failed;
        /* The user namespace is the first of them: it gives the right to the others. */
        for (int i = park.order.user_namespace ? 0 : 1; i < NAMESPACE_COUNT; i++)
                if (setns(park.fds[ADOPT_NAMESPACES + i], (int)namespaces[i].flag) < 0)
                        goto failed;
        pid = fork();
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

static uint64_t microseconds(struct timeval time)
{
        return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static void reap(struct guest *guest)
{
        struct adopt_end end = { 0 };
        struct rusage usage = { 0 };
        int status = 0;

        if (wait4(guest->pid, &status, __WALL, &usage) < 0)
                end.sys_errno = errno;
        end.wait_status = status;
        end.cpu_user_us = microseconds(usage.ru_utime);
        end.cpu_system_us = microseconds(usage.ru_stime);
        end.memory_peak = (uint64_t)usage.ru_maxrss * 1024;
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

/* Whether this process is the guest now. */
static bool start_guest(void)
{
        static char stack[CHILD_STACK] __attribute__((aligned(16)));
        struct adopt_end failed = { .sys_errno = EAGAIN };
        struct guest *volatile guest = free_place();
        volatile pid_t child = -1;

        park.forked = 0;
        park.fork_errno = EAGAIN;
        if (setjmp(park.resume))
                return true;
        if (guest)
                child = clone(fork_guest, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
                              NULL);
        if (child > 0)
                (void)waitpid(child, NULL, __WALL);
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

static void look_around(void)
{
        struct init *init = &park.init;
        struct stat root;
        int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

        init->host_proc = fcntl(proc, F_DUPFD_CLOEXEC, PARK_SOCKET + 1);
        fd_close(proc);
        if (init->host_proc < 0 || stat("/", &root) < 0)
                _exit(1);
        namespace_inodes(init->host_proc, init->outer_namespaces);
        init->outer_root[0] = root.st_dev;
        init->outer_root[1] = root.st_ino;
        init->outer_uid = geteuid();
        init->outer_gid = getegid();
}

/* Returns in each guest, never in the parked interpreter. */
static void serve(void)
{
        const struct parked here = { .magic = PARK_MAGIC };

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

static void put_words(int fd, const char **words, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                (void)fd_write_all(fd, words[i], strlen(words[i]) + 1);
}

/* For a launcher that asks: how many arguments the program has, they, and its environment, each
 * with a NUL at its end. */
static int describe_run(void)
{
        const struct plan *plan = &park.init.plan;
        int fd = memfd_create("run", MFD_CLOEXEC);
        char count[16];

        if (fd < 0)
                return -1;
        (void)snprintf(count, sizeof(count), "%u", plan->argument_count);
        put_words(fd, (const char *[]){ count }, 1);
        put_words(fd, plan->arguments, plan->argument_count);
        put_words(fd, plan->environment, plan->environment_count);
        (void)lseek(fd, 0, SEEK_SET);
        return fd;
}

bool park_stops_at(const char *path)
{
        return park.socket >= 0 && path && strcmp(path, park.path) == 0;
}

int park_here(void)
{
        serve();
        return describe_run();
}

__attribute__((constructor)) static void begin(void)
{
        const char *value = getenv(PARK_VARIABLE);
        char *end;
        long number;

        if (!value)
                return;
        number = strtol(value, &end, 10);
        if (number != PARK_SOCKET || *end != ':' || strlen(end + 1) >= sizeof(park.path))
                return;
        park.socket = (int)number;
        memcpy(park.path, end + 1, strlen(end + 1) + 1);
        (void)fcntl(park.socket, F_SETFD, FD_CLOEXEC);
        (void)unsetenv(PARK_VARIABLE);
        (void)unsetenv("LD_PRELOAD");
}
