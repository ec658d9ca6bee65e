/* A container that was made before the run that it is for; run.h says how. */
#include "docker/run.h"
#include "base/fd.h"
#include "base/message.h"

#include <errno.h>

static int leave(struct docker_run *run, struct error *err)
{
        run->is_told = true;
        return error_set(err, SBX_EUNAVAILABLE, "no run came");
}

/* The order: descriptors for reports, of the plan, of its pipes and files. The nest's own plan and
 * order stay in memory, as the container borrows nothing of them. */
static int receive_run(struct docker_run *run, struct error *err)
{
        int fds[ORDER_FDS_MAX];
        struct hatch hatch;
        size_t count = 0;

        if (message_receive(HELPER_SOCKET, 0, &hatch, sizeof(hatch), fds, ORDER_FDS_MAX, &count) <=
                    0 ||
            hatch.magic != HATCH_MAGIC || count != hatch.fd_count || count < HATCH_FIXED_FDS)
                return leave(run, err);
        docker_order_done(&run->order);
        run->socket = fds[0];
        if (!docker_run_take(run, fds + 1, count - 1, hatch.plan_length))
                return leave(run, err);
        run->container.is_old = true;
        outcome_started(run);
        return 0;
}

int pool_wait(struct docker_run *run, struct error *err)
{
        struct pollfd waits[] = {
                { .fd = HELPER_SOCKET, .events = POLLIN | POLLRDHUP },
                { .fd = run->signal_fd, .events = POLLIN },
                { .fd = run->streams.fd, .events = POLLIN | POLLRDHUP }, /* its end; it is silent */
        };

        outcome_report(run, REPORT_NESTED, NULL, 0);
        sweep_end(run->sweeper, false);
        run->sweeper = 0;
        while (poll(waits, 3, -1) < 0)
                if (errno != EINTR)
                        return leave(run, err);
        if (waits[1].revents || waits[2].revents || !(waits[0].revents & POLLIN))
                return leave(run, err);
        return receive_run(run, err);
}
