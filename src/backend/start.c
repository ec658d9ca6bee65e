/* Starting a run: helper, pipes, order, group; the helper works while the later ones are made. */
#include "backend/backend.h"
#include "backend/parcel.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/mem.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The group's place goes with the order, so that the helper can remove it whatever becomes of us.
 */
static void add_group(const struct cgroup_site *site, struct run *run, struct plan *plan,
                      struct parcel *parcel)
{
        bool v1 = site->version == CGROUP_V1;

        plan->group_name = run->group.name;
        plan->has_into = cgroup_into_fd(&run->group) >= 0;
        if (plan->has_into)
                parcel_add(parcel, cgroup_into_fd(&run->group), false);
        plan->join_count = plan->parent_count = 0;
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                if (site->parent_fds[i] >= 0 && (v1 || i == CGROUP_MEMORY)) {
                        parcel_add(parcel, site->parent_fds[i], false);
                        plan->parent_count++;
                        plan->join_count += v1;
                }
}

/* Makes the groups of version 1 while the keeper builds the root, and lets it in. */
static int open_entries(const struct backend_host *host, const struct backend_input *input,
                        struct run *run, struct error *err)
{
        int joins[CGROUP_CONTROLLERS];
        struct entry entry = { .magic = ENTRY_MAGIC };
        char name[CGROUP_NAME_MAX];
        int count, r;

        memcpy(name, run->group.name, sizeof(name));
        r = cgroup_open(host->site, name, &input->group_limits, &run->group, err);
        if (r < 0)
                return r;
        count = cgroup_join_fds(&run->group, joins);
        if (count < 0)
                return error_set_errno(err, "open control group '%s'", run->group.name);
        entry.fd_count = (uint32_t)count;
        /* A helper that has ended has said why: that is heard where all its reports are. */
        if (message_send(run->socket, &entry, sizeof(entry), joins, (size_t)count) < 0 &&
            errno != EPIPE)
                r = error_set_errno(err, "let the helper into the control group");
        while (count > 0)
                fd_close(joins[--count]);
        return r;
}

/* Takes the helper that waits already, or starts one. */
static int take_helper(const struct backend_host *host, bool makes_network, struct run *run,
                       struct error *err)
{
        const char *hint = makes_network ? HELPER_HINT_NETWORK_BESIDE : NULL;

        if (host->early)
                run->helper = host->early;
        else if (helper_start(&run->own, host->init_path, hint) < 0)
                return error_set_errno(err, "start the helper '%s'", host->init_path);
        run->helper_pid = run->helper->pid;
        run->helper_pidfd = run->helper->pidfd;
        run->socket = run->helper->socket;
        return 0;
}

bool backend_makes_network(const struct plan *plan)
{
        return plan->kind == PLAN_CONTAINER && !plan->user_namespace && !plan->park &&
               plan->network != PLAN_NETWORK_HOST;
}

static int send_order(struct run *run, struct plan *plan, struct parcel *parcel, struct error *err)
{
        struct order order = { .magic = ORDER_MAGIC, .fd_count = (uint32_t)parcel->count };
        int r = parcel_put_plan(parcel, 0, plan, &order.plan_length, err);

        if (r < 0)
                return r;
        memcpy(order.outer_namespaces, run->helper->outer_namespaces,
               sizeof(order.outer_namespaces));
        return parcel_send(run->socket, &order, sizeof(order), parcel->fds, parcel->count, err);
}

/* An interpreter that is parked finds a pipe, as its copies will: some ask once what they have.
 * What it says there is read by nobody. */
static int open_streams(struct parcel *parcel, const struct plan *plan, struct run *run,
                        bool empty_stdin, struct error *err)
{
        if (plan->park)
                return parcel_open_idle_streams(parcel, run, err);
        return parcel_open_streams(parcel, plan->nest ? NULL : run, empty_stdin, err);
}

int backend_start(const struct backend *backend, const struct backend_host *host, struct plan *plan,
                  const struct backend_input *input, struct run *run, struct error *err)
{
        struct parcel parcel = { .count = 1 };
        char name[CGROUP_NAME_MAX];
        int r;

        run_init(run);
        run->kill_signal =
                plan->kind == PLAN_CONTAINER && backend != &backend_docker ? SIGKILL : SIGINT;
        run->is_local = plan->kind == PLAN_LOCAL;
        cgroup_name(host->site, host->number, name);
        memcpy(run->group.name, name, sizeof(name));
        /* The helper starts up while the rest is prepared, and waits for the order. */
        r = take_helper(host, backend_makes_network(plan), run, err);
        if (r == 0 && host->site->version == CGROUP_V2)
                r = cgroup_open(host->site, name, &input->group_limits, &run->group, err);
        if (r == 0)
                r = open_streams(&parcel, plan, run, input->empty_stdin, err);
        if (r == 0) {
                add_group(host->site, run, plan, &parcel);
                for (int i = 0; i < input->file_fd_count; i++)
                        parcel_add(&parcel, input->file_fds[i], false);
                backend->complete(plan);
                r = send_order(run, plan, &parcel, err);
        }
        if (r == 0 && host->site->version == CGROUP_V1)
                r = open_entries(host, input, run, err);
        parcel_done(&parcel);
        if (r < 0) {
                run_finish(run);
                (void)backend_child_failure(run, err);
                run_close(run);
        }
        return r;
}

int backend_child_failure(const struct run *run, struct error *err)
{
        int r;

        if (!run->helper->child.sys_errno)
                return 0;
        errno = run->helper->child.sys_errno;
        r = error_set_errno(err, "start the helper '%s'", run->helper->child.path);
        error_hint(err, "install it, or set SANDBOX_INIT to where it is");
        return r;
}
