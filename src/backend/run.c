#include "backend/run.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"
#include "kernel/sys.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

void run_init(struct run *run)
{
        /* The child's stack is large, and needs no value. */
        memset((char *)run + offsetof(struct run, helper), 0,
               sizeof(*run) - offsetof(struct run, helper));
        run->helper = &run->own;
        run->own_processes = 1; /* the keeper */
        run->helper_pidfd = run->socket = run->keeper_pidfd = -1;
        run->workspace_fd = run->fork_fd = run->proc_fd = -1;
        run->resolver_fds[0] = run->resolver_fds[1] = -1;
        for (int i = 0; i < REPORT_RELAYS_MAX; i++)
                run->relay_fds[i] = -1;
        run->streams[0] = run->streams[1] = run->streams[2] = -1;
        run->own.child.sys_errno = 0;
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                run->group.dir_fds[i] = run->group.parent_fds[i] = -1;
        run->group.event_fd = run->group.event_file_fd = -1;
}

void run_move(struct run *to, const struct run *from)
{
        memcpy((char *)to + offsetof(struct run, helper),
               (const char *)from + offsetof(struct run, helper),
               sizeof(*to) - offsetof(struct run, helper));
        to->helper = &to->own;
        to->own.child.sys_errno = 0;
}

static void keep_descriptors(struct run *run, const struct report *report, const int *fds,
                             size_t count)
{
        int *places[REPORT_RELAYS_MAX] = { NULL };

        if (report->kind == REPORT_STARTED) {
                places[0] = &run->keeper_pidfd;
        } else if (report->kind == REPORT_PLACES) {
                places[0] = &run->workspace_fd;
                places[1] = &run->proc_fd;
        } else if (report->kind == REPORT_RESOLVER) {
                places[0] = &run->resolver_fds[0];
                places[1] = &run->resolver_fds[1];
        } else if (report->kind == REPORT_RELAYS) {
                for (int i = 0; i < REPORT_RELAYS_MAX; i++)
                        places[i] = &run->relay_fds[i];
        } else if (report->kind == REPORT_READY) {
                places[0] = &run->fork_fd;
        }
        for (size_t i = 0; i < count; i++) {
                if (i < REPORT_RELAYS_MAX && places[i] && *places[i] < 0)
                        *places[i] = fds[i];
                else
                        fd_close(fds[i]);
        }
}

static void keep_report(struct run *run, const struct report *report)
{
        switch (report->kind) {
        case REPORT_STARTED:
                run->keeper_pid = report->keeper_pid;
                break;
        case REPORT_READY:
                run->ready = *report;
                run->is_ready = true;
                if (run->cpu_before_us == 0)
                        run->cpu_before_us = report->cpu_user_us + report->cpu_system_us;
                run->asks_forks = run->fork_fd >= 0;
                break;
        case REPORT_EXITED:
                run->exited = *report;
                run->has_exited = true;
                break;
        case REPORT_FAILED:
                run->failed = *report;
                run->failed.detail[REPORT_DETAIL_MAX - 1] = '\0';
                run->has_failed = true;
                break;
        case REPORT_USAGE:
                run->used = (struct run_used){ true, report->counted.cpu_us, report->memory_peak,
                                               (uint32_t)report->counted.processes_peak };
                break;
        case REPORT_NESTED:
                run->is_nested = true;
                break;
        case REPORT_WAITING:
                run->is_waiting = true;
                break;
        case REPORT_GONE:
                run->is_gone = true;
                run->has_traces = report->has_traces != 0;
                break;
        default:
                break;
        }
}

int run_receive(struct run *run)
{
        struct report report;
        int fds[REPORT_RELAYS_MAX];
        size_t count = 0;
        int r = message_receive(run->socket, MSG_DONTWAIT, &report, sizeof(report), fds,
                                REPORT_RELAYS_MAX, &count);

        if (r <= 0)
                return r;
        if (report.magic != REPORT_MAGIC) {
                for (size_t i = 0; i < count; i++)
                        fd_close(fds[i]);
                errno = EPROTO;
                return -1;
        }
        keep_descriptors(run, &report, fds, count);
        keep_report(run, &report);
        return 1;
}

void run_terminate(struct run *run)
{
        if (run->keeper_pidfd >= 0)
                (void)sys_pidfd_send_signal(run->keeper_pidfd, SIGTERM); /* gone is as good */
}

void run_kill(struct run *run)
{
        /* Without a keeper yet, or where we may not signal it, the end of the connection tells the
         * helper to give up. */
        if (run->keeper_pidfd >= 0 &&
            (sys_pidfd_send_signal(run->keeper_pidfd, run->kill_signal) == 0 || errno == ESRCH)) {
                if (run->is_local) /* its guest may have stopped it */
                        (void)sys_pidfd_send_signal(run->keeper_pidfd, SIGCONT);
                return;
        }
        if (run->socket >= 0)
                (void)shutdown(run->socket, SHUT_RDWR);
}

/* Gone is as good. */
void run_wake_helper(const struct run *run)
{
        if (run->helper_pidfd >= 0)
                (void)sys_pidfd_send_signal(run->helper_pidfd, SIGCONT);
}

/* The first process of a pid namespace is dead when all others in it are. */
static bool is_dead(int pidfd)
{
        struct pollfd process = { .fd = pidfd, .events = POLLIN };

        return pidfd >= 0 && poll(&process, 1, 0) > 0;
}

/* What the keeper had becomes the helper's; the worker of a container engine has to end its
 * container itself, however long that takes. Gone is as good. */
void run_force(struct run *run)
{
        bool is_worker = run->kill_signal == SIGINT && !run->is_local;

        if (run->nest && is_dead(run->keeper_pidfd))
                run->is_gone = true; /* its nest, who would tell, was stopped */
        if (run->keeper_pidfd >= 0)
                (void)sys_pidfd_send_signal(run->keeper_pidfd, is_worker ? SIGCONT : SIGKILL);
        run_wake_helper(run);
}

void run_close_network(struct run *run)
{
        for (int i = 0; i < 2; i++)
                fd_close(fd_take(&run->resolver_fds[i]));
        for (int i = 0; i < REPORT_RELAYS_MAX; i++)
                fd_close(fd_take(&run->relay_fds[i]));
}

static void close_own(int *fds[], size_t count)
{
        for (size_t i = 0; i < count; i++)
                fd_close(fd_take(fds[i]));
}

/* What pins the sandbox: whoever lets go of it last has to take it down. */
static void close_pins(struct run *run)
{
        int *fds[] = { &run->workspace_fd, &run->fork_fd,    &run->proc_fd,
                       &run->streams[0],   &run->streams[1], &run->streams[2] };

        close_own(fds, ARRAY_SIZE(fds));
        run_close_network(run);
}

void run_let_go(struct run *run)
{
        close_pins(run);
        if (run->nest)
                run_kill(run);
        else
                fd_close(fd_take(&run->socket)); /* the helper waits for that */
}

enum { NEST_END_MS = 10000 }; /* then it is thrown away, and everything with it */

/* The nest reports when the last process of the run is dead, and closes the connection. */
static void finish_in_nest(struct run *run)
{
        struct pollfd socket = { .fd = run->socket, .events = POLLIN };

        run_kill(run);
        while (!run->is_gone && run->socket >= 0) {
                int ready = poll(&socket, 1, NEST_END_MS);
                int r = ready < 0 ? -1 : ready == 0 ? 0 : run_receive(run);

                if (r == 0 || (r < 0 && errno != EINTR && errno != EAGAIN))
                        break;
        }
        fd_close(run->socket);
        run->socket = -1;
}

enum { REMOVE_TRIES = 100, REMOVE_EACH_MS = 10 };

/* A helper that was killed removed nothing, and those that die with it may take a moment longer. */
static unsigned remove_group(struct run *run)
{
        unsigned left = cgroup_remove(&run->group);

        for (int i = 0; left > 0 && i < REMOVE_TRIES; i++) {
                run_kill(run);
                (void)poll(NULL, 0, REMOVE_EACH_MS);
                left = cgroup_remove(&run->group);
        }
        return left;
}

/* Waits for the helper's end; whether it says that it left nothing. */
static bool wait_for_helper(const struct run *run)
{
        siginfo_t info = { 0 };
        int r = -1;

        if (run->helper_pidfd < 0)
                return false;
        do {
                r = waitid((idtype_t)P_PIDFD, (id_t)run->helper_pidfd, &info,
                           WEXITED | WSTOPPED | __WALL);
                if (r == 0 && info.si_code == CLD_STOPPED) /* by somebody: a local guest can */
                        run_wake_helper(run);
        } while ((r < 0 && errno == EINTR) || (r == 0 && info.si_code == CLD_STOPPED));
        return r == 0 && info.si_code == CLD_EXITED && info.si_status == 0;
}

unsigned run_finish(struct run *run)
{
        unsigned left;

        if (run->nest) {
                finish_in_nest(run);
                return 0;
        }
        fd_close(fd_take(&run->socket));
        cgroup_close(&run->group); /* while the helper removes it; by its name it is found again */
        left = wait_for_helper(run) ? 0 : remove_group(run);
        return left;
}

void run_close(struct run *run)
{
        int *fds[] = { &run->helper_pidfd, &run->socket, &run->keeper_pidfd };

        close_own(fds, ARRAY_SIZE(fds));
        close_pins(run);
        if (!run->nest)
                cgroup_close(&run->group);
}
