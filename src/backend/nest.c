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

static int send_hatch(struct nest *nest, struct plan *plan, struct parcel *parcel,
                      struct error *err)
{
        struct hatch order = { .magic = HATCH_MAGIC, .fd_count = (uint32_t)parcel->count };
        int r = parcel_put_plan(parcel, 1, plan, &order.plan_length, err);

        if (r < 0)
                return r;
        return parcel_send(nest->run.socket, &order, sizeof(order), parcel->fds, parcel->count,
                           err);
}

void nest_prepare(struct nest *nest)
{
        const struct hatch order = { .magic = HATCH_MAGIC };

        /* A nest that is dead is found so by its next run. */
        (void)message_send(nest->run.socket, &order, sizeof(order), NULL, 0);
}

/* What a parked interpreter needs to bring a guest: a way to it, and into the groups. */
static int add_park(struct nest *nest, const struct park *park, struct plan *plan,
                    struct parcel *parcel, struct error *err)
{
        int joins[CGROUP_CONTROLLERS];
        bool are_kept;
        int count = cgroup_entry_fds(&nest->run.group, joins, &are_kept);

        if (count < 0)
                return error_set_errno(err, "open control group '%s'", nest->run.group.name);
        plan->adopts = 1;
        plan->join_count = (uint32_t)count;
        parcel_add(parcel, park->socket, false);
        for (int i = 0; i < count; i++)
                parcel_add(parcel, joins[i], !are_kept);
        return 0;
}

int nest_hatch(const struct backend *backend, struct nest *nest, const struct park *park,
               struct plan *plan, const struct backend_input *input, struct run *run,
               struct error *err)
{
        struct parcel parcel = { .count = 2 };
        int pair[2];
        int r;

        run_init(run);
        run->kill_signal = backend == &backend_docker ? SIGINT : SIGKILL;
        run->nest = nest;
        run->group = nest->run.group;
        run->own_processes = 2; /* the nest and the keeper */
        run->peak_before = cgroup_processes_peak(&nest->run.group);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_set_errno(err, "make a socket");
        run->socket = pair[0];
        parcel.fds[0] = pair[1];
        r = parcel_open_streams(&parcel, run, input->empty_stdin, err);
        if (r == 0 && park)
                r = add_park(nest, park, plan, &parcel, err);
        for (int i = 0; i < input->file_fd_count; i++)
                parcel_add(&parcel, input->file_fds[i], false);
        if (r == 0) {
                backend->complete(plan);
                r = send_hatch(nest, plan, &parcel, err);
        }
        fd_close(pair[1]);
        parcel_done(&parcel);
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
        /* What hit a limit, was ended by us or left something is not looked into any further. */
        return run->has_exited && !run->was_ended && run->exited.survivors == 0 &&
               run->counted.memory_kills == 0 && run->counted.fork_refusals == 0 &&
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
        run_kill(&nest->run);
        run_wake_helper(&nest->run);
        /* The helper waits for the end of the connection, and a borrower may hold it, too. */
        (void)shutdown(nest->run.socket, SHUT_RDWR);
        run_finish(&nest->run);
        run_close(&nest->run);
}
