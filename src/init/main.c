/* The warden; see init.h for who is who. */
#include "init/init.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/tree.h"
#include "kernel/sys.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static int order_fds[ORDER_FDS_MAX];

static _Noreturn void refuse_order(struct init *init, int sys_errno, const char *why)
{
        report_detail(init, why);
        report_failure(init, STAGE_ORDER, sys_errno);
}

/* Receives the order and the descriptors that come with it; the plan's is the first. */
static void receive_order(struct init *init, struct order *ret_order)
{
        size_t count = 0;
        int r = message_receive(HELPER_SOCKET, 0, ret_order, sizeof(*ret_order), order_fds,
                                ORDER_FDS_MAX, &count);

        if (r == 0)
                _exit(1); /* the supervisor changed its mind */
        if (r < 0 || ret_order->magic != ORDER_MAGIC || count != ret_order->fd_count ||
            count < ORDER_FIXED_FDS)
                refuse_order(init, r < 0 ? errno : EPROTO, "order");
}

void init_decode_plan(struct init *init, int plan_fd, uint64_t length)
{
        size_t arena_size = plan_arena_size(length);
        void *bytes, *arena;
        const char *fault;

        if (length == 0 || length > PLAN_BYTES_MAX)
                refuse_order(init, EMSGSIZE, "plan");
        bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, plan_fd, 0);
        arena = mmap(NULL, arena_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (bytes == MAP_FAILED || arena == MAP_FAILED)
                refuse_order(init, errno, "plan");
        fault = plan_decode(bytes, length, arena, arena_size, &init->plan);
        if (fault)
                refuse_order(init, EPROTO, fault);
}

/* Deals the descriptors out to where the plan says. */
static void deal_descriptors(struct init *init, const struct order *order)
{
        const struct plan *plan = &init->plan;
        uint32_t next = ORDER_FIXED_FDS;

        if ((uint64_t)next + plan->has_into + plan->parent_count > order->fd_count ||
            plan->join_count > ENTRY_FDS_MAX || plan->mount_count + 16 > TREES_MAX)
                refuse_order(init, EPROTO, "descriptors");
        for (int i = 0; i < 3; i++)
                if (dup3(order_fds[1 + i], i, 0) < 0)
                        refuse_order(init, errno, "standard streams");
        init->into_fd = plan->has_into ? order_fds[next++] : -1;
        init->parent_fds = order_fds + next;
        next += plan->parent_count;
        init->file_fds = order_fds + next;
        init->file_fd_count = (int)(order->fd_count - next);
        init->copy_fd = init->copy_end_fd = init->guest_user_fd = -1;
        init->nest_plan_fd = plan->nest ? order_fds[0] : -1;
        init->nest_plan_length = order->plan_length;
        for (int i = plan->nest ? 1 : 0; i < ORDER_FIXED_FDS; i++)
                fd_close(order_fds[i]);
}

static void look_around(struct init *init)
{
        struct stat root;

        if (init->host_proc < 0 || stat("/", &root) < 0)
                refuse_order(init, errno, "/proc");
        init->outer_root[0] = root.st_dev;
        init->outer_root[1] = root.st_ino;
        init->outer_uid = geteuid();
        init->outer_gid = getegid();
        init->own_pidfd = sys_pidfd_open(getpid());
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* local runs: orphans come to us */
}

static void choose_identity(struct init *init)
{
        init->change_uid = init->plan.uid_span > 0;
        if (init->change_uid) {
                /* The helper's pid is its own while it lives, so no two runs share an id. */
                uint32_t id = init->plan.uid_base + (uint32_t)getpid() % init->plan.uid_span;

                init->guest_uid = init->plan.owner_uid ? init->plan.owner_uid : id;
                init->keeper_uid =
                        id + init->plan.uid_span; /* nobody else's, whoever the guest is */
        } else {
                init->guest_uid = init->keeper_uid =
                        init->plan.user_namespace ? 0 : init->outer_uid;
        }
        init->report.guest_uid = init->change_uid ? init->guest_uid : init->plan.host_uid;
}

/* Made by whoever removes it in the end: a supervisor may be killed before it has said anything. */
static void make_scratch(struct init *init)
{
        if (!init->plan.scratch[0] || mkdir(init->plan.scratch, 0700) == 0)
                return;
        report_detail(init, init->plan.scratch);
        report_failure(init, STAGE_WORKSPACE, errno);
}

static pid_t start_keeper(struct init *init, int *ret_pidfd)
{
        struct sys_clone_args args = { .flags = SYS_CLONE_PIDFD, .exit_signal = SIGCHLD };
        pid_t pid;

        args.pidfd = (uint64_t)(uintptr_t)ret_pidfd;
        if (init->plan.kind == PLAN_CONTAINER && !init->plan.park) {
                args.flags |= CLONE_NEWNS | CLONE_NEWUTS;
                if (!init->plan.nest)
                        args.flags |= CLONE_NEWPID | CLONE_NEWIPC;
                if (init->plan.user_namespace)
                        args.flags |= CLONE_NEWUSER;
        }
        if (init->into_fd >= 0) {
                args.flags |= SYS_CLONE_INTO_CGROUP;
                args.cgroup = (uint64_t)init->into_fd;
        }
        pid = sys_clone3(&args);
        init->is_born_in_group = pid >= 0 && init->into_fd >= 0;
        if (pid < 0 && errno == ENOSYS)
                pid = sys_clone(&args);
        if (pid < 0)
                report_failure(init, STAGE_NAMESPACES, errno);
        if (pid == 0) {
                if (init->plan.park)
                        park_main(init);
                if (init->plan.nest)
                        nest_main(init);
                if (init->plan.kind == PLAN_CONTAINER)
                        container_keeper(init);
                local_keeper(init);
        }
        return pid;
}

/* A local run has no pid namespace that dies with its keeper: it is told to clear up. */
static void end_keeper(const struct init *init, pid_t pid, int pidfd)
{
        int signal = init->plan.kind == PLAN_CONTAINER ? SIGKILL : SIGINT;

        /* Our child, not yet waited for: the number is still its own. */
        if (sys_pidfd_send_signal(pidfd, signal) < 0)
                (void)kill(pid, signal); /* dead already is as good */
        if (init->plan.kind == PLAN_LOCAL)
                (void)kill(pid, SIGCONT); /* a guest of the same user may have stopped it */
}

/* What runs depend on must not be stopped: their dead would wait to be seen off for as long. */
static bool is_depended_on(const struct init *init)
{
        return init->plan.park || init->plan.nest;
}

static bool has_stopped(const struct init *init, pid_t keeper)
{
        siginfo_t info = { 0 };

        return is_depended_on(init) &&
               waitid(P_PID, (id_t)keeper, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == keeper;
}

static void wake_up(int number)
{
        (void)number; /* the wait that it ends is what it is for */
}

/* Has a child that stops end waits with this mask, and nothing else. */
static void hear_children(sigset_t *ret_mask)
{
        const struct sigaction action = { .sa_handler = wake_up };
        sigset_t child;

        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        (void)sigaction(SIGCHLD, &action, NULL);
        (void)sigprocmask(SIG_BLOCK, &child, ret_mask);
}

/* Waits until the keeper has ended or the supervisor is gone, which ends the keeper. */
static void watch(const struct init *init, pid_t keeper_pid, int keeper, int supervisor)
{
        struct pollfd watched[] = {
                { .fd = keeper, .events = POLLIN },
                { .fd = supervisor, .events = POLLIN },
                { .fd = HELPER_SOCKET, .events = POLLRDHUP },
        };
        sigset_t mask;

        sigemptyset(&mask);
        if (is_depended_on(init))
                hear_children(&mask);
        while (!(watched[0].revents & POLLIN)) {
                if (has_stopped(init, keeper_pid))
                        end_keeper(init, keeper_pid, keeper);
                if (ppoll(watched, 3, NULL, &mask) < 0) {
                        if (errno != EINTR)
                                break;
                        continue; /* with what was seen before */
                }
                if (watched[1].revents || (watched[2].revents & (POLLRDHUP | POLLHUP | POLLERR))) {
                        end_keeper(init, keeper_pid, keeper);
                        watched[1].fd = watched[2].fd = -1;
                        watched[1].revents = watched[2].revents = 0;
                }
        }
}

/* A group is busy for a moment after its last process was reaped; there is no event to wait for on
 * version 1, so this tries again, a thousand times a millisecond apart at the most. */
static bool remove_group(const struct init *init, int parent)
{
        const struct timespec pause = { .tv_nsec = 1000000 };

        for (int attempt = 0; attempt < 1000; attempt++) {
                if (unlinkat(parent, init->plan.group_name, AT_REMOVEDIR) == 0 || errno == ENOENT)
                        return true;
                if (errno != EBUSY)
                        return false;
                (void)nanosleep(&pause, NULL);
        }
        return false;
}

static bool remove_groups(const struct init *init)
{
        bool all_gone = true;

        for (uint32_t i = 0; i < init->plan.parent_count; i++)
                all_gone &= remove_group(init, init->parent_fds[i]);
        return all_gone;
}

/* Orders of runs for a nest that is dead: whoever sent one hears by the end of the connection that
 * came with it that there will be none. */
static void drop_orders(void)
{
        int fds[ORDER_FDS_MAX];
        struct hatch order;
        size_t count = 0;

        while (message_receive(HELPER_SOCKET, MSG_DONTWAIT, &order, sizeof(order), fds,
                               ORDER_FDS_MAX, &count) > 0)
                while (count > 0)
                        fd_close(fds[--count]);
}

static void wait_for_supervisor(const struct init *init, int supervisor)
{
        short orders = init->plan.nest ? POLLIN : 0;
        struct pollfd watched[] = {
                { .fd = supervisor, .events = POLLIN },
                { .fd = HELPER_SOCKET, .events = (short)(POLLRDHUP | orders) },
        };

        while (!watched[0].revents && !(watched[1].revents & (POLLRDHUP | POLLHUP | POLLERR))) {
                if (watched[1].revents)
                        drop_orders();
                if (poll(watched, 2, -1) < 0 && errno != EINTR)
                        break;
        }
}

/* What the caller ignores, we and the guest must hear. Raw, because the C library keeps some to
 * itself; KILL and STOP answer EINVAL, which is as well. A zeroed action is the default one. */
static void hear_all_signals(void)
{
        const uint64_t action[4] = { 0 };

        for (int number = 1; number <= 64; number++)
                (void)syscall(SYS_rt_sigaction, number, action, NULL, sizeof(uint64_t));
}

/* What a caller has before others must not be handed on: a guest could hold the CPU or the disk
 * with it, and a real-time process may not enter a control group. To step back is always allowed.
 */
static void lose_priority(int host_proc)
{
        enum { IOPRIO_CLASS_SHIFT = 13, IOPRIO_CLASS_RT = 1, SCHED_DEADLINE_ = 6 };
        int policy = sys_sched_getscheduler() & ~SCHED_RESET_ON_FORK;
        char text[16];

        if (policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE_)
                (void)sys_sched_setscheduler(SCHED_OTHER, &(struct sched_param){ 0 });
        if (sys_ioprio_get() >> IOPRIO_CLASS_SHIFT == IOPRIO_CLASS_RT)
                (void)sys_ioprio_set(0);
        if (getpriority(PRIO_PROCESS, 0) < 0)
                (void)setpriority(PRIO_PROCESS, 0, 0);
        /* Nor that others are ended first where there is no memory left. */
        if (fd_read_file_at(host_proc, "self/oom_score_adj", text, sizeof(text)) > 0 &&
            text[0] == '-') {
                /* It belongs to root while we are not dumpable. */
                (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
                (void)fd_write_file_at(host_proc, "self/oom_score_adj", "0");
                (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        }
}

int main(int argc, char **argv)
{
        static struct init init; /* zeroed, and too large for a comfortable stack */
        struct order order;
        int keeper_fd = -1, supervisor_fd;
        bool all_gone;
        pid_t keeper;
        sigset_t none;

        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* nobody looks into us; cannot fail */
        (void)fcntl(HELPER_SOCKET, F_SETFD, FD_CLOEXEC);
        (void)sys_close_range(HELPER_SOCKET + 1, ~0u); /* whatever the caller leaked */
        (void)setsid(); /* fails only for a group leader, which we are not */
        hear_all_signals();
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN); /* a caller's limit is an error with words, not a death */
        umask(0);
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none,
                          NULL); /* the supervisor blocked all around our birth */

        init.host_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        init.socket = HELPER_SOCKET;
        lose_priority(init.host_proc);
        look_around(&init);
        if (argc > 1)
                network_prepare(&init, argv[1]);
        receive_order(&init, &order);
        memcpy(init.outer_namespaces, order.outer_namespaces, sizeof(init.outer_namespaces));
        init_decode_plan(&init, order_fds[0], order.plan_length);
        deal_descriptors(&init, &order);
        supervisor_fd = sys_pidfd_open((pid_t)init.plan.supervisor_pid);
        if (supervisor_fd < 0 || getppid() != (pid_t)init.plan.supervisor_pid)
                refuse_order(&init, ESRCH, "supervisor");
        choose_identity(&init);
        make_scratch(&init);
        owner_maps_make(&init);
        keeper = start_keeper(&init, &keeper_fd);
        for (int i = 0; i < 3; i++)
                fd_close(i); /* the guest's streams must end with the guest */
        for (int i = 0; i < init.file_fd_count; i++)
                fd_close(init.file_fds[i]); /* the keeper's; a socket among them must end with it */
        init.report.keeper_pid = keeper;
        /* Nobody could end it by its descriptor: then it ends, and is cleared up after, now. */
        if (report_try(&init, REPORT_STARTED, &keeper_fd, 1) < 0) {
                init.report.stage = STAGE_ORDER;
                init.report.sys_errno = errno;
                (void)report_try(&init, REPORT_FAILED, NULL, 0); /* where somebody is left */
                end_keeper(&init, keeper, keeper_fd);
        }
        watch(&init, keeper, keeper_fd, supervisor_fd);
        (void)waitpid(keeper, &init.report.wait_status, __WALL);
        keeper_end_all(&init);
        report_send(&init, REPORT_GONE, NULL, 0);
        /* The supervisor reads the groups' counters before it lets go. */
        wait_for_supervisor(&init, supervisor_fd);
        all_gone = remove_groups(&init);
        if (init.plan.scratch[0])
                tree_remove(init.plan.scratch);
        return all_gone ? 0 : 1; /* the supervisor looks after what is left */
}
