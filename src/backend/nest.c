#include "backend/nest.h"
#include "backend/parcel.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

/* An ordinary run leaves half a megabyte; more would count as the next one's. */
enum { NEST_BUILD_MS = 30000, NEST_MEMORY_MOST = 2 << 20 };

int nest_start(const struct backend *backend, const struct backend_host *host, struct plan *plan,
               const struct cgroup_limits *limits, struct nest *nest, struct error *err)
{
        struct backend_input input = { .group_limits = *limits };
        int r;

        input.group_limits.processes++; /* the nest itself lives in the group */
        plan->nest = 1;
        nest->guest = NULL;
        nest->ahead_fd = -1;
        r = backend_start(backend, host, plan, &input, &nest->run, err);
        if (r == 0)
                cgroup_keep_files(&nest->run.group);
        return r;
}

int nest_wait(struct nest *nest)
{
        struct pollfd socket = { .fd = nest->run.socket, .events = POLLIN };

        while (!nest->run.is_nested) {
                int r;

                if (nest->run.has_failed || nest->run.is_gone)
                        return -1;
                r = poll(&socket, 1, NEST_BUILD_MS);
                if (r == 0 || (r < 0 && errno != EINTR))
                        return -1;
                r = run_receive(&nest->run);
                if (r == 0 || (r < 0 && errno != EAGAIN && errno != EINTR))
                        return -1;
        }
        return 0;
}

static void begin_run(const struct backend *backend, const struct nest *nest, struct run *run)
{
        run_init(run);
        run->nest = nest;
        run->kill_signal = backend == &backend_docker ? SIGINT : SIGKILL;
        run->group = nest->run.group;
        run->own_processes = 2; /* the nest and the keeper */
        run->peak_before = cgroup_processes_peak(&nest->run.group);
}

/* What a parked interpreter needs to bring a guest: a way to it, and into the groups. */
static int add_park(struct nest *nest, const struct park *park, struct parcel *parcel)
{
        int joins[CGROUP_CONTROLLERS];
        bool are_kept;
        int count = cgroup_entry_fds(&nest->run.group, joins, &are_kept);

        if (count < 0)
                return -1;
        parcel_add(parcel, park->socket, false);
        for (int i = 0; i < count; i++)
                parcel_add(parcel, joins[i], !are_kept);
        return 0;
}

int nest_prepare(struct nest *nest, const struct park *park)
{
        struct hatch order = { .magic = HATCH_MAGIC };
        struct parcel parcel = { 0 };
        int pair[2];
        int r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);

        if (r < 0)
                return -1;
        nest->ahead_fd = pair[0];
        nest->ahead_park = park ? park->number : 0;
        parcel_add(&parcel, pair[1], true);
        if (park)
                r = add_park(nest, park, &parcel);
        order.fd_count = (uint32_t)parcel.count;
        if (r == 0)
                r = message_send(nest->run.socket, &order, sizeof(order), parcel.fds,
                                 (size_t)parcel.count);
        parcel_done(&parcel);
        if (r < 0)
                nest_forget_ahead(nest);
        return r;
}

void nest_forget_ahead(struct nest *nest)
{
        fd_close(fd_take(&nest->ahead_fd));
}

void nest_call_off(struct nest *nest)
{
        /* By hand: to close it would not do where a child of the caller's has it, too. */
        if (nest->ahead_fd >= 0)
                (void)shutdown(nest->ahead_fd, SHUT_RDWR);
        nest_forget_ahead(nest);
}

/* A run that was prepared, or is now; not one whose guest comes from another interpreter. */
static int take_ahead(struct nest *nest, const struct park *park, struct error *err)
{
        if (nest->ahead_park != (park ? park->number : 0))
                nest_call_off(nest);
        if (nest->ahead_fd < 0 && nest_prepare(nest, park) < 0)
                return error_set_errno(err, "prepare a container");
        return fd_take(&nest->ahead_fd);
}

static int send_run(struct run *run, struct plan *plan, const struct backend_input *input,
                    struct error *err)
{
        struct parcel parcel = { .count = HAND_FIXED_FDS };
        int r = parcel_open_streams(&parcel, run, input->empty_stdin, err);

        if (r == 0)
                r = nest_send_hand(run, plan, input, &parcel, err);
        parcel_done(&parcel);
        return r;
}

static int send_whole(struct nest *nest, struct plan *plan, const struct backend_input *input,
                      struct parcel *parcel, struct error *err)
{
        struct hatch order = { .magic = HATCH_MAGIC };
        int r;

        for (int i = 0; i < input->file_fd_count; i++)
                parcel_add(parcel, input->file_fds[i], false);
        order.fd_count = (uint32_t)parcel->count;
        r = parcel_put_plan(parcel, 1, plan, &order.plan_length, err);
        return r < 0 ? r
                     : parcel_send(nest->run.socket, &order, sizeof(order), parcel->fds,
                                   parcel->count, err);
}

int nest_hatch_whole(const struct backend *backend, struct nest *nest, struct plan *plan,
                     const struct backend_input *input, struct run *run, struct error *err)
{
        struct parcel parcel = { .count = 2 };
        int pair[2];
        int r;

        begin_run(backend, nest, run);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_set_errno(err, "make a socket");
        run->socket = pair[0];
        parcel.fds[0] = pair[1];
        backend->complete(plan);
        r = parcel_open_streams(&parcel, run, input->empty_stdin, err);
        if (r == 0)
                r = send_whole(nest, plan, input, &parcel, err);
        fd_close(pair[1]);
        parcel_done(&parcel);
        if (r < 0)
                run_close(run);
        return r;
}

int nest_hatch(const struct backend *backend, struct nest *nest, const struct park *park,
               struct plan *plan, const struct backend_input *input, struct run *run,
               struct error *err)
{
        int r;

        begin_run(backend, nest, run);
        run->socket = take_ahead(nest, park, err);
        if (run->socket < 0)
                return run->socket;
        plan->adopts = park != NULL;
        backend->complete(plan);
        r = send_run(run, plan, input, err);
        if (r < 0)
                run_close(run);
        return r;
}

bool nest_is_empty(struct nest *nest)
{
        /* What a run left in memory would be the next one's. */
        return cgroup_processes_now(&nest->run.group) <= 1 &&
               cgroup_memory_now(&nest->run.group) <= NEST_MEMORY_MOST &&
               cgroup_reset(&nest->run.group);
}

bool nest_may_renew(const struct nest *nest, const struct run *run)
{
        /* What hit a limit, was ended by us or left something is not looked into any further. Nor
         * what had more than its one process: no group forgets how many it had at most, and the
         * next run could not tell its own. */
        return run->has_exited && !run->was_ended && run->exited.survivors == 0 &&
               run->counted.memory_kills == 0 && run->counted.fork_refusals == 0 &&
               run->counted.processes_peak <= run->own_processes + 1 &&
               cgroup_can_reset(&nest->run.group);
}

bool nest_renew(struct nest *nest, const struct run *run)
{
        return run->is_gone && !run->has_traces && nest_may_renew(nest, run) && nest_is_empty(nest);
}

void nest_end(struct nest *nest)
{
        if (nest->guest) {
                run_close(nest->guest); /* it ends with the nest */
                mem_free(nest->guest);
        }
        nest_forget_ahead(nest); /* likewise */
        run_kill(&nest->run);
        cgroup_lift_cpus(&nest->run.group);
        run_wake_helper(&nest->run);
        /* The helper waits for the end of the connection, and a borrower may hold it, too. */
        (void)shutdown(nest->run.socket, SHUT_RDWR);
        run_finish(&nest->run);
        run_close(&nest->run);
}
