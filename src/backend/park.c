#include "backend/park.h"
#include "base/fd.h"
#include "base/message.h"

#include <poll.h>
#include <sys/socket.h>

int park_start(const struct backend_host *host, struct plan *plan,
               const struct cgroup_limits *limits, struct park *park, struct error *err)
{
        struct backend_input input = { .group_limits = *limits };
        int pair[2];
        int r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_set_errno(err, "make a socket");
        plan->park = 1;
        input.file_fds[input.file_fd_count++] = pair[1];
        r = backend_start(&backend_container, host, plan, &input, &park->run, err);
        park->socket = pair[0];
        fd_close(pair[1]);
        if (r < 0)
                fd_close(park->socket);
        return r;
}

int park_wait(struct park *park, int timeout_ms)
{
        struct pollfd socket = { .fd = park->socket, .events = POLLIN };
        struct parked here = { 0 };
        size_t count = 0;

        if (poll(&socket, 1, timeout_ms) <= 0 ||
            message_receive(park->socket, 0, &here, sizeof(here), NULL, 0, &count) <= 0)
                return -1;
        return here.magic == PARK_MAGIC ? 0 : -1;
}

void park_end(struct park *park)
{
        fd_close(park->socket);
        run_kill(&park->run);
        run_finish(&park->run);
        run_close(&park->run);
}
