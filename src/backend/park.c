#include "backend/park.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/mem.h"
#include "base/message.h"
#include "base/str.h"
#include "base/tree.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static bool loads_modules(const struct plan *plan)
{
        for (uint32_t i = 0; i < plan->environment_count; i++)
                if (str_has_prefix(plan->environment[i], PARK_PRELOAD "="))
                        return true;
        return false;
}

/* What modules write when they are loaded goes with the interpreter. */
static int make_home(struct park *park, struct plan *plan, struct error *err)
{
        static const char *const names[] = { "HOME=", "TMPDIR=" };
        int r = folder_name_temporary(park->home, sizeof(park->home), err);

        if (r < 0)
                return r;
        plan->scratch = park->home;
        for (size_t n = 0; n < ARRAY_SIZE(names); n++)
                (void)snprintf(park->variables[n], sizeof(park->variables[n]), "%s%s", names[n],
                               park->home);
        /* In place of those that stand for it. */
        for (uint32_t i = 0; i < plan->environment_count; i++)
                for (size_t n = 0; n < ARRAY_SIZE(names); n++)
                        if (str_has_prefix(plan->environment[i], names[n]))
                                plan->environment[i] = park->variables[n];
        return 0;
}

static int start(const struct backend_host *host, struct plan *plan,
                 const struct cgroup_limits *limits, struct park *park, struct error *err)
{
        struct backend_input input = { .group_limits = *limits };
        int pair[2];
        int r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_set_errno(err, "make a socket");
        input.file_fds[input.file_fd_count++] = pair[1];
        r = backend_start(&backend_container, host, plan, &input, &park->run, err);
        park->socket = pair[0];
        fd_close(pair[1]);
        if (r < 0)
                fd_close(park->socket);
        return r;
}

/* Gone already, unless the helper was killed. */
static void remove_home(const struct park *park)
{
        if (park->home[0])
                (void)tree_remove(park->home);
}

int park_start(const struct backend_host *host, struct plan *plan,
               const struct cgroup_limits *limits, struct park *park, struct error *err)
{
        int r = 0;

        park->home[0] = '\0';
        park->number = (uint64_t)host->number + 1;
        if (loads_modules(plan))
                r = make_home(park, plan, err);
        if (r < 0)
                return r;
        plan->park = 1;
        r = start(host, plan, limits, park, err);
        if (r < 0)
                remove_home(park);
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

void park_wake(const struct park *park)
{
        run_wake_helper(&park->run);
}

void park_end(struct park *park)
{
        fd_close(park->socket);
        run_kill(&park->run);
        run_wake_helper(&park->run);
        run_finish(&park->run);
        run_close(&park->run);
        remove_home(park);
}
