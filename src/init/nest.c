/*
 * A nest: what runs of one kind share, built once. The root with the language's paths, the devices,
 * the host name, the empty network namespace and the control group stay; each run is hatched into
 * new pid, mount and ipc namespaces with a /proc, a workspace and a /code of its own, and its death
 * takes all of that along. One run at a time; nothing of the nest can be written by any of them.
 *
 * The nest is the parent of the keepers. It lives in the control group, so that they are born
 * there, and in the caller's pid namespace, so that a parked interpreter can join them.
 *
 * A keeper can be cloned ahead of its run, an egg: it makes its namespaces and mounts, which is
 * half of the way to a guest, and waits for the order, of which it needs nothing for that. No guest
 * has been near it. Where there is none, or it died, the keeper is cloned when the order comes.
 */
#include "init/init.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"
#include "kernel/mount.h"
#include "kernel/sys.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODE_INODES = 512, CODE_FOLDERS = 33, UNSIZED_BYTES = 64 << 10, UNSIZED_INODES = 64 };

/* What runs in a nest could leave for the next: counters of the network namespace, of what they
 * tried to send and of what the kernel sends for the groups that they join. */
static const char *const counter_files[] = { "thread-self/net/snmp", "thread-self/net/dev" };
enum { COUNTER_FILES = ARRAY_SIZE(counter_files), COUNTER_BYTES = 4096 };

struct counters {
        int fds[COUNTER_FILES];
        ssize_t lengths[COUNTER_FILES];
        char before[COUNTER_FILES][COUNTER_BYTES]; /* any run */
};

/* A keeper that waits for its run. */
struct egg {
        pid_t pid; /* 0: there is none */
        int pidfd;
        int socket;
};

/* A user namespace may mount a /proc only where one is in sight: the caller's is kept below those
 * that the runs mount over it. */
static int take_proc(struct init *init)
{
        struct sys_mount_attr attr = { .attr_set = SYS_MOUNT_ATTR_NOSUID | SYS_MOUNT_ATTR_NODEV |
                                                   SYS_MOUNT_ATTR_NOEXEC };

        init->proc_tree = -1;
        if (!init->plan.user_namespace)
                return 0;
        init->proc_tree = sys_open_tree(AT_FDCWD, "/proc",
                                        SYS_OPEN_TREE_CLONE | SYS_AT_RECURSIVE | O_CLOEXEC);
        if (init->proc_tree < 0)
                return -1;
        return sys_mount_setattr(init->proc_tree, "", AT_EMPTY_PATH | SYS_AT_RECURSIVE, &attr);
}

static int keep_proc(struct init *init)
{
        if (init->proc_tree < 0)
                return 0;
        if (mount_attach(init->proc_tree, "/proc") < 0)
                return -1;
        fd_close(init->proc_tree);
        return 0;
}

/* Each run has these of its own. The others have nothing in them that a run could leave behind, or
 * (the network) nobody can change it. */
static bool is_of_run(int namespace)
{
        return namespace == NAMESPACE_MOUNT || namespace == NAMESPACE_PID ||
               namespace == NAMESPACE_IPC;
}

static int open_namespaces(struct init *init, bool of_run)
{
        char path[32];

        for (int i = 0; i < NAMESPACE_COUNT; i++) {
                if (is_of_run(i) != of_run)
                        continue;
                (void)snprintf(path, sizeof(path), "self/ns/%s", namespaces[i].name);
                init->namespace_fds[i] = openat(init->host_proc, path, O_RDONLY | O_CLOEXEC);
                if (init->namespace_fds[i] < 0)
                        return -1;
        }
        return 0;
}

static int open_shared_namespaces(struct init *init)
{
        return open_namespaces(init, false);
}

static int open_own_namespaces(struct init *init)
{
        return open_namespaces(init, true);
}

static const struct step nest_steps[] = {
        { STAGE_NETWORK, network_begin, true },
        { STAGE_USER_MAP, container_map_user, true },
        { STAGE_PRIVATE, container_make_private, true },
        { STAGE_PROC, take_proc, true },
        { STAGE_ROOT, root_make, true },
        { STAGE_SYSTEM, root_system, true },
        { STAGE_DEVICES, root_devices, true },
        { STAGE_WORKSPACE, root_places, true },
        { STAGE_PROC, keep_proc, true },
        { STAGE_VOLUMES, root_volumes, true }, /* the parts of a worker of ours */
        { STAGE_FILES, root_files, true },
        { STAGE_PIVOT, container_pivot, true },
        { STAGE_HOSTNAME, container_set_hostname, false },
        { STAGE_NETWORK, network_enter, true },
        { STAGE_GROUP, keeper_enter_groups, true },
        { STAGE_GROUP_NAMESPACE, container_make_group_namespace, false },
        { STAGE_NAMESPACES, open_shared_namespaces, true },
};

static void counters_open(const struct init *init, struct counters *counters)
{
        for (int i = 0; i < COUNTER_FILES; i++) {
                counters->fds[i] = openat(init->host_proc, counter_files[i], O_RDONLY | O_CLOEXEC);
                counters->lengths[i] =
                        pread(counters->fds[i], counters->before[i], COUNTER_BYTES, 0);
        }
}

/* Counters that cannot be read may have changed. */
static bool counters_have_moved(const struct counters *counters)
{
        char now[COUNTER_BYTES];

        for (int i = 0; i < COUNTER_FILES; i++) {
                ssize_t length = pread(counters->fds[i], now, sizeof(now), 0);

                if (length <= 0 || length != counters->lengths[i] ||
                    memcmp(now, counters->before[i], (size_t)length) != 0)
                        return true;
        }
        return false;
}

/* ---- a run ---- */

static int new_terminals(struct init *init)
{
        (void)init;
        return mount_devpts("dev/pts");
}

static uint64_t code_inodes(const struct init *init)
{
        return CODE_INODES + (uint64_t)init->plan.file_count * CODE_FOLDERS;
}

static int make_code(struct init *init)
{
        init->code_bytes = init->plan.root_bytes;
        init->code_inodes = code_inodes(init);
        return mount_tmpfs("code", init->code_bytes, init->code_inodes, 0755);
}

int nest_close_code(struct init *init)
{
        if (init->plan.waits)
                return 0; /* the program comes later */
        return mount(NULL, "code", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
                     NULL);
}

/* Nobody but us writes to it, so larger than needed is as well. */
int nest_size_code(struct init *init)
{
        if (init->plan.root_bytes <= init->code_bytes && code_inodes(init) <= init->code_inodes)
                return 0;
        return mount_resize_tmpfs("code", init->plan.root_bytes, code_inodes(init));
}

/* How much it holds is the plan's, which comes later. */
static int make_workspace(struct init *init)
{
        init->plan.disk_bytes = UNSIZED_BYTES;
        init->plan.disk_inodes = UNSIZED_INODES;
        return root_workspace(init);
}

static int size_workspace(struct init *init)
{
        return mount_resize_tmpfs("workspace", init->plan.disk_bytes, init->plan.disk_inodes);
}

/* What needs nothing of the run's own. */
static const struct step egg_steps[] = {
        { STAGE_DEVICES, new_terminals, true },          { STAGE_PROC, root_proc, false },
        { STAGE_WORKSPACE, make_workspace, true },       { STAGE_FILES, make_code, true },
        { STAGE_NAMESPACES, open_own_namespaces, true },
};

static const struct step hatch_steps[] = {
        { STAGE_WORKSPACE, size_workspace, true },
        { STAGE_FILES, nest_size_code, true },
        { STAGE_FILES, root_files, true },
        { STAGE_FILES, nest_close_code, true },
        { STAGE_IPC, container_limit_shared_memory, false },
};

static void lay(struct init *init)
{
        init->report.seen = 0;
        init->is_hatched = true;
        if (keeper_tie_to_warden(init, SIGKILL) < 0)
                report_failure(init, STAGE_NAMESPACES, errno);
        steps_run(init, egg_steps, ARRAY_SIZE(egg_steps));
}

/* The keeper of a run, pid 1 of its namespaces, once it has its order. */
static _Noreturn void hatch_main(struct init *init, const struct hatch *hatch, const int *fds)
{
        int next = HATCH_FIXED_FDS;

        init_decode_plan(init, fds[1], hatch->plan_length);
        for (int i = 0; i < 3; i++)
                if (dup3(fds[2 + i], i, 0) < 0)
                        report_failure(init, STAGE_ORDER, errno);
        init->park_fd = init->plan.adopts ? fds[next++] : -1;
        init->join_fds = fds + next;
        next += init->plan.adopts ? (int)init->plan.join_count : 0;
        if (next > (int)hatch->fd_count)
                report_failure(init, STAGE_ORDER, EPROTO);
        init->file_fds = fds + next;
        init->file_fd_count = (int)hatch->fd_count - next;
        steps_run(init, hatch_steps, ARRAY_SIZE(hatch_steps));
        container_send_places(init);
        if (init->plan.waits && once_make_pair(init) < 0)
                report_failure(init, STAGE_FORK, errno);
        if (init->plan.adopts)
                keeper_adopt(init, fds[1], hatch->plan_length);
        for (int i = 0; i < NAMESPACE_COUNT; i++)
                fd_close(init->namespace_fds[i]);
        keeper_run(init);
}

/* Reports go to whoever ordered the run. */
static void report_to_orderer(int socket)
{
        if (dup3(socket, HELPER_SOCKET, O_CLOEXEC) < 0)
                _exit(1); /* nobody could be told */
}

static bool is_good(const struct hatch *order, size_t count)
{
        return order->magic == HATCH_MAGIC && count == order->fd_count &&
               (count == 0 || count >= HATCH_FIXED_FDS);
}

static _Noreturn void egg_main(struct init *init, int socket)
{
        int fds[ORDER_FDS_MAX];
        struct hatch order;
        size_t count;

        init->socket = -1; /* where something fails, nobody asked yet */
        lay(init);
        if (message_receive(socket, 0, &order, sizeof(order), fds, ORDER_FDS_MAX, &count) <= 0)
                _exit(0);
        fd_close(socket);
        init->socket = HELPER_SOCKET;
        report_to_orderer(fds[0]);
        hatch_main(init, &order, fds);
}

static pid_t clone_keeper(int *ret_pidfd)
{
        struct sys_clone_args args = {
                .flags = SYS_CLONE_PIDFD | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC,
                .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
                .exit_signal = SIGCHLD,
        };

        pid_t pid = sys_clone3(&args);

        return pid < 0 && errno == ENOSYS ? sys_clone(&args) : pid;
}

/* Reports of the nest itself about a run go to whoever ordered it. */
static int report_to(struct init *init, int socket, enum report_kind kind, const int *fd)
{
        init->report.magic = REPORT_MAGIC;
        init->report.kind = kind;
        return message_send(socket, &init->report, sizeof(init->report), fd, fd != NULL);
}

static void report_failure_to(struct init *init, int socket, enum stage stage)
{
        init->report.sys_errno = errno;
        init->report.stage = stage;
        (void)report_to(init, socket, REPORT_FAILED, NULL); /* where somebody is left */
}

/* Until the keeper has ended; whoever ordered the run and went away needs it no longer. */
static void wait_for(pid_t keeper, int pidfd, int socket, int *ret_status)
{
        struct pollfd watched[] = {
                { .fd = pidfd, .events = POLLIN },
                { .fd = socket, .events = POLLRDHUP },
        };

        while (!watched[0].revents) {
                if (poll(watched, 2, -1) < 0 && errno != EINTR)
                        break;
                if (watched[1].revents) {
                        (void)kill(keeper, SIGKILL); /* our child, not yet waited for */
                        watched[1].fd = -1;
                        watched[1].revents = 0;
                }
        }
        (void)waitpid(keeper, ret_status, __WALL);
}

static void lay_egg(struct init *init, struct egg *egg)
{
        int pair[2];

        if (egg->pid > 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return;
        egg->pid = clone_keeper(&egg->pidfd);
        if (egg->pid == 0) {
                fd_close(pair[0]);
                egg_main(init, pair[1]);
        }
        fd_close(pair[1]);
        egg->socket = pair[0];
        if (egg->pid > 0)
                return;
        fd_close(egg->socket);
        egg->pid = 0;
}

static void end_child(pid_t pid)
{
        (void)kill(pid, SIGKILL); /* not yet waited for, so the number is its own */
        (void)waitpid(pid, NULL, __WALL);
}

/* Waited for here: whoever inherits it may be slow to look. */
static void break_egg(const struct egg *egg)
{
        if (egg->pid > 0)
                end_child(egg->pid);
}

/* Has the egg, where there is one, take the order; its number, or 0 where it did not. */
static pid_t use_egg(struct egg *egg, const struct hatch *order, const int *fds, int *ret_pidfd)
{
        pid_t keeper = egg->pid;

        if (keeper == 0)
                return 0;
        egg->pid = 0;
        *ret_pidfd = egg->pidfd;
        if (message_send(egg->socket, order, sizeof(*order), fds, order->fd_count) < 0) {
                end_child(keeper);
                fd_close(egg->pidfd);
                keeper = 0;
        }
        fd_close(egg->socket);
        return keeper;
}

static void hatch(struct init *init, const struct counters *counters, struct egg *egg,
                  const struct hatch *order, const int *fds)
{
        int pidfd = -1;
        pid_t keeper = use_egg(egg, order, fds, &pidfd);

        if (keeper == 0)
                keeper = clone_keeper(&pidfd);
        if (keeper == 0) {
                report_to_orderer(fds[0]);
                lay(init);
                hatch_main(init, order, fds);
        }
        init->report.keeper_pid = keeper;
        if (keeper < 0) {
                report_failure_to(init, fds[0], STAGE_NAMESPACES);
        } else if (report_to(init, fds[0], REPORT_STARTED, &pidfd) < 0) {
                /* Nobody could end it by its descriptor. */
                report_failure_to(init, fds[0], STAGE_ORDER);
                (void)kill(keeper, SIGKILL);
        }
        for (uint32_t i = 1; i < order->fd_count; i++)
                fd_close(fds[i]);
        if (keeper > 0)
                wait_for(keeper, pidfd, fds[0], &init->report.wait_status);
        fd_close(pidfd);
        init->report.has_traces = counters_have_moved(counters);
        (void)report_to(init, fds[0], REPORT_GONE, NULL); /* likewise */
        fd_close(fds[0]);
}

_Noreturn void nest_main(struct init *init)
{
        struct counters counters;
        struct egg egg = { 0 };
        int fds[ORDER_FDS_MAX];
        struct hatch order;
        size_t count;

        if (keeper_tie_to_warden(init, SIGKILL) < 0)
                report_failure(init, STAGE_NAMESPACES, errno);
        steps_run(init, nest_steps, ARRAY_SIZE(nest_steps));
        fd_close(init->own_pidfd);
        /* The keepers' warden is this process. */
        init->own_pidfd = sys_pidfd_open(getpid());
        if (init->own_pidfd < 0)
                report_failure(init, STAGE_NAMESPACES, errno);
        counters_open(init, &counters);
        report_send(init, REPORT_NESTED, NULL, 0);
        for (;;) {
                int r = message_receive(HELPER_SOCKET, 0, &order, sizeof(order), fds, ORDER_FDS_MAX,
                                        &count);

                if (r <= 0) {
                        break_egg(&egg);
                        _exit(0); /* nobody will order any more */
                }
                if (!is_good(&order, count))
                        _exit(1);
                if (count == 0)
                        lay_egg(init, &egg);
                else
                        hatch(init, &counters, &egg, &order, fds);
        }
}
