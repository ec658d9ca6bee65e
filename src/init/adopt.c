/*
 * A guest that a parked interpreter brings (src/park): a copy of it that is born in our namespaces
 * and confines itself as far as can be done before its run is known. Then it waits for us to hand
 * it that run. Most are asked for ahead: when the run comes, they have little left to do.
 */
#include "init/init.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void let_go_of_copy(struct init *init)
{
        fd_close(fd_take(&init->copy_fd));
        fd_close(fd_take(&init->copy_end_fd));
}

void adopt_ask(struct init *init)
{
        uint32_t join_count = (uint32_t)init->park_fd_count - 1;
        struct adopt adopt = { .magic = ADOPT_MAGIC,
                               .fd_count = ADOPT_FIXED_FDS + join_count,
                               .plan_length = init->nest_plan_length,
                               .guest_uid = init->guest_uid,
                               .change_uid = init->change_uid,
                               .join_count = join_count,
                               .user_namespace = init->plan.user_namespace };
        int fds[ORDER_FDS_MAX], orders[2] = { -1, -1 }, end[2] = { -1, -1 };

        let_go_of_copy(init);
        if (adopt.fd_count > ORDER_FDS_MAX)
                report_failure(init, STAGE_FORK, EPROTO);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, orders) < 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) < 0)
                report_failure(init, STAGE_FORK, errno);
        fds[ADOPT_ORDERS] = orders[1];
        fds[ADOPT_END] = end[1];
        fds[ADOPT_PLAN] = init->nest_plan_fd;
        fds[ADOPT_USER] = init->guest_user_fd;
        memcpy(fds + ADOPT_NAMESPACES, init->namespace_fds, sizeof(init->namespace_fds));
        memcpy(fds + ADOPT_FIXED_FDS, init->park_fds + 1, join_count * sizeof(*fds));
        init->copy_fd = orders[0];
        init->copy_end_fd = end[0];
        /* An interpreter that is gone is found so by the end of both. */
        (void)message_send(init->park_fds[0], &adopt, sizeof(adopt), fds, adopt.fd_count);
        fd_close(orders[1]);
        fd_close(end[1]);
}

/* Whether it has come so far; if not, its last word, or what the interpreter says, is our report.
 */
static bool copy_waits(struct init *init)
{
        struct adopt_end end = { .sys_errno = EPIPE };
        struct report word;
        size_t count = 0;

        if (message_receive(init->copy_fd, 0, &word, sizeof(word), NULL, 0, &count) > 0 &&
            word.magic == REPORT_MAGIC) {
                if (word.kind == REPORT_WAITING)
                        return true;
                init->report.stage = word.stage;
                init->report.sys_errno = word.sys_errno;
                memcpy(init->report.detail, word.detail, sizeof(word.detail));
                return false;
        }
        (void)message_receive(init->copy_end_fd, 0, &end, sizeof(end), NULL, 0, &count);
        init->report.stage = STAGE_FORK;
        init->report.sys_errno = end.sys_errno ? end.sys_errno : ECHILD;
        return false;
}

/* Whether the interpreter, who tells us how it ends, is there. */
static bool has_parent(const struct init *init)
{
        struct pollfd end = { .fd = init->copy_end_fd, .events = POLLIN };

        return poll(&end, 1, 0) == 0;
}

static bool hand_over(struct init *init, int plan_fd, uint64_t plan_length)
{
        struct given given = { .magic = GIVEN_MAGIC,
                               .plan_length = plan_length,
                               .report = init->report };
        int fds[ORDER_FDS_MAX] = { HELPER_SOCKET, plan_fd, 0, 1, 2 };
        size_t count = GIVEN_FIXED_FDS + HAND_STREAMS;

        if (count + (size_t)init->file_fd_count > ORDER_FDS_MAX)
                report_failure(init, STAGE_ORDER, EPROTO);
        for (int i = 0; i < init->file_fd_count; i++)
                fds[count++] = init->file_fds[i];
        given.fd_count = (uint32_t)count;
        if (message_send(init->copy_fd, &given, sizeof(given), fds, count) < 0) {
                init->report.stage = STAGE_FORK;
                init->report.sys_errno = errno;
                return false;
        }
        fd_close(fd_take(&init->copy_fd));
        for (size_t i = 1; i < count; i++)
                fd_close(fds[i]); /* the guest's streams must end with the guest */
        init->file_fd_count = 0;
        return true;
}

/* To the one that was asked for ahead, or, where that is gone, to another. */
static void find_guest(struct init *init, int plan_fd, uint64_t plan_length)
{
        if (copy_waits(init) && has_parent(init) && hand_over(init, plan_fd, plan_length))
                return;
        adopt_ask(init);
        init->report.detail[0] = '\0';
        if (!copy_waits(init) || !hand_over(init, plan_fd, plan_length))
                report_failure(init, (enum stage)init->report.stage, init->report.sys_errno);
        init->report.stage = 0;
        init->report.sys_errno = 0;
}

/* What became ours when its parent died. The guest itself is the interpreter's. */
struct orphans {
        int counters_fd;
        bool is_begun;
        struct keeper_counters before; /* the first one was waited for */
        uint64_t own_read;             /* since then */
};

static void begin_count(struct orphans *orphans)
{
        if (!orphans->is_begun)
                orphans->own_read = keeper_count(orphans->counters_fd, &orphans->before);
        orphans->is_begun = true;
}

static void serve_signals(int signals_fd, struct orphans *orphans)
{
        struct signalfd_siginfo info;

        if (read(signals_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
                return;
        orphans->own_read += sizeof(info);
        begin_count(orphans);
        if (info.ssi_signo == SIGTERM && info.ssi_code == SI_USER && info.ssi_pid == 0)
                keeper_terminate_all();
        while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
                ;
}

static _Noreturn void report_end(struct init *init, const struct adopt_end *end,
                                 struct orphans *orphans)
{
        struct keeper_counters used;

        if (end->sys_errno)
                report_failure(init, STAGE_FORK, end->sys_errno);
        init->report.wait_status = end->wait_status;
        begin_count(orphans);
        keeper_end_survivors(init);
        used = keeper_count_since(orphans->counters_fd, &orphans->before, orphans->own_read);
        init->report.cpu_user_us = end->cpu_user_us + used.cpu_user_us;
        init->report.cpu_system_us = end->cpu_system_us + used.cpu_system_us;
        init->report.memory_peak =
                end->memory_peak > used.memory_peak ? end->memory_peak : used.memory_peak;
        init->report.io_read_bytes = end->io_read_bytes + used.read_bytes;
        init->report.io_write_bytes = end->io_write_bytes + used.write_bytes;
        report_send(init, REPORT_EXITED, NULL, 0);
        _exit(0);
}

_Noreturn void adopt_run(struct init *init, int plan_fd, uint64_t plan_length)
{
        struct adopt_end end = { .sys_errno = EPIPE };
        struct pollfd watched[2] = { { .events = POLLIN }, { .events = POLLIN } };
        struct orphans orphans = { .counters_fd = keeper_open_counters(init) };
        sigset_t signals;
        size_t count = 0;

        sigemptyset(&signals);
        sigaddset(&signals, SIGCHLD);
        sigaddset(&signals, SIGTERM);
        (void)sigprocmask(SIG_BLOCK, &signals, NULL);
        watched[1].fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
        if (watched[1].fd < 0)
                report_failure(init, STAGE_FORK, errno);
        keeper_give_streams(init);
        /* Before its program begins, which could look at us. */
        keeper_give_up_privileges(init);
        (void)keeper_tie_to_warden(init, SIGKILL); /* a new id clears the death signal */
        find_guest(init, plan_fd, plan_length);
        watched[0].fd = init->copy_end_fd;
        for (int i = 0; i < init->park_fd_count; i++)
                fd_close(init->park_fds[i]);
        for (int i = 0; i < NAMESPACE_COUNT; i++)
                fd_close(init->namespace_fds[i]);
        while (watched[0].revents == 0) {
                (void)poll(watched, 2, -1);
                if (watched[1].revents)
                        serve_signals(watched[1].fd, &orphans);
        }
        (void)message_receive(watched[0].fd, 0, &end, sizeof(end), NULL, 0, &count);
        report_end(init, &end, &orphans);
}
