/*
 * A nest: what runs of one kind share, built once. The root with the language's paths, the devices,
 * the host name, the empty network namespace and the control group stay; each run is hatched into
 * new pid, mount and ipc namespaces with a /proc, a workspace and a /code of its own, and its death
 * takes all of that along. One run at a time; nothing of the nest can be written by any of them.
 *
 * The nest is the parent of the keepers. It lives in the control group, so that they are born
 * there, and in the caller's pid namespace, so that a parked interpreter can join them.
 *
 * A keeper is cloned ahead of its run where it can be: it makes its namespaces and mounts, has a
 * parked interpreter bring the guest where it comes from one (adopt.c), and waits for its run. That
 * comes to it straight, and not to us.
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

enum {
        CODE_INODES = 512,
        CODE_FOLDERS = 33,
        UNSIZED_BYTES = 64 << 10,
        UNSIZED_INODES = 64,
        CHILD_STACK = 64 << 10
};

/* What runs in a nest could leave for the next: counters of the network namespace, of what they
 * tried to send and of what the kernel sends for the groups that they join. */
static const char *const counter_files[] = { "thread-self/net/snmp", "thread-self/net/dev" };
enum { COUNTER_FILES = ARRAY_SIZE(counter_files), COUNTER_BYTES = 4096 };

struct counters {
        int fds[COUNTER_FILES];
        ssize_t lengths[COUNTER_FILES];
        char before[COUNTER_FILES][COUNTER_BYTES]; /* any run */
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

/* In a child that shares our memory and descriptors. */
static int make_guest_user(void *argument)
{
        struct init *init = argument;

        if (guest_become(init) < 0 || guest_enter_namespace(init) < 0)
                _exit(errno);
        init->guest_user_fd = openat(init->host_proc, "self/ns/user", O_RDONLY | O_CLOEXEC);
        _exit(init->guest_user_fd < 0 ? errno : 0);
}

/* Of all guests here, one after the other: making one, and taking it down, is a good part of a
 * run. They can set nothing in it: they have no capabilities, and no keys. */
static int open_guest_user(struct init *init)
{
        static char stack[CHILD_STACK] __attribute__((aligned(16)));
        int status = 0;
        pid_t child = clone(make_guest_user, stack + sizeof(stack),
                            CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, init);

        if (child < 0 || waitpid(child, &status, __WALL) < 0)
                return -1;
        errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
        init->report.io_write_bytes = 0; /* of no guest */
        return errno == 0 ? 0 : -1;
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
        { STAGE_GUEST_NAMESPACE, open_guest_user, true },
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

static void close_all(const int *fds, size_t count)
{
        for (size_t i = 0; i < count; i++)
                fd_close(fds[i]);
}

static void take_streams(struct init *init, const int *fds)
{
        for (int i = 0; i < 3; i++)
                if (dup3(fds[i], i, 0) < 0)
                        report_failure(init, STAGE_ORDER, errno);
        close_all(fds, 3); /* the guest's streams must end with the guest */
}

/* The keeper of a run that comes later. */
static _Noreturn void wait_main(struct init *init, const struct hatch *hatch, const int *fds)
{
        /* An ordinary user may not have many descriptors on their way, and they would stay there.
         */
        bool tells_ahead = !init->plan.user_namespace;
        int handed[ORDER_FDS_MAX];
        struct hand hand;

        init->park_fds = fds + 1;
        init->park_fd_count = (int)hatch->fd_count - 1;
        if (init->park_fd_count > 0)
                adopt_ask(init);
        if (tells_ahead)
                container_send_places(init);
        hand_receive(init, HAND_STREAMS, &hand, handed);
        if (!tells_ahead)
                container_send_places(init);
        init_decode_plan(init, handed[0], hand.plan_length);
        if (init->plan.adopts != (init->park_fd_count > 0))
                report_failure(init, STAGE_ORDER, EPROTO);
        take_streams(init, handed + HAND_FIXED_FDS);
        init->file_fds = handed + HAND_FIXED_FDS + HAND_STREAMS;
        init->file_fd_count = (int)hand.fd_count - HAND_FIXED_FDS - HAND_STREAMS;
        steps_run(init, hatch_steps, ARRAY_SIZE(hatch_steps));
        if (init->plan.adopts)
                adopt_run(init, handed[0], hand.plan_length);
        close_all(init->namespace_fds, NAMESPACE_COUNT);
        keeper_run(init);
}

/* The keeper of a guest that is executed at once, and waits itself. */
static _Noreturn void place_main(struct init *init, const struct hatch *hatch, const int *fds)
{
        init_decode_plan(init, fds[1], hatch->plan_length);
        take_streams(init, fds + 2);
        init->file_fds = fds + HATCH_FIXED_FDS;
        init->file_fd_count = (int)hatch->fd_count - HATCH_FIXED_FDS;
        steps_run(init, hatch_steps, ARRAY_SIZE(hatch_steps));
        container_send_places(init);
        if (init->plan.waits && once_make_pair(init) < 0)
                report_failure(init, STAGE_FORK, errno);
        close_all(init->namespace_fds, NAMESPACE_COUNT);
        keeper_run(init);
}

/* Pid 1 of its namespaces. */
static _Noreturn void hatch_main(struct init *init, const struct hatch *hatch, const int *fds)
{
        /* Reports go to whoever ordered the run. */
        if (dup3(fds[0], HELPER_SOCKET, O_CLOEXEC) < 0)
                _exit(1); /* nobody could be told */
        fd_close(fds[0]);
        lay(init);
        if (hatch->plan_length == 0)
                wait_main(init, hatch, fds);
        place_main(init, hatch, fds);
}

static bool is_good(const struct hatch *order, size_t count)
{
        return order->magic == HATCH_MAGIC && count == order->fd_count &&
               count >= (order->plan_length == 0 ? 1 : HATCH_FIXED_FDS);
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

static void hatch(struct init *init, const struct counters *counters, const struct hatch *order,
                  const int *fds)
{
        int pidfd = -1;
        pid_t keeper = clone_keeper(&pidfd);

        if (keeper == 0)
                hatch_main(init, order, fds);
        init->report.keeper_pid = keeper;
        if (keeper < 0) {
                report_failure_to(init, fds[0], STAGE_NAMESPACES);
        } else if (report_to(init, fds[0], REPORT_STARTED, &pidfd) < 0) {
                /* Nobody could end it by its descriptor. */
                report_failure_to(init, fds[0], STAGE_ORDER);
                (void)kill(keeper, SIGKILL);
        }
        close_all(fds + 1, order->fd_count - 1);
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

                if (r <= 0)
                        _exit(0); /* nobody will order any more */
                if (!is_good(&order, count))
                        _exit(1);
                hatch(init, &counters, &order, fds);
        }
}
