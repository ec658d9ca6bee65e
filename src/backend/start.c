/* Starting a run: helper, group, pipes, order; in this order, undone in reverse. */
#include "backend/backend.h"
#include "backend/child.h"
#include "base/fd.h"
#include "base/mem.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20 };

/* Descriptors that go along with an order; borrowed but for `owned`. */
struct parcel {
        int fds[ORDER_FDS_MAX];
        int count;
        int owned[3 + 1 + CGROUP_CONTROLLERS];
        int owned_count;
};

static void parcel_done(struct parcel *parcel)
{
        for (int i = 0; i < parcel->owned_count; i++)
                fd_close(parcel->owned[i]);
}

static void parcel_add(struct parcel *parcel, int fd, bool owned)
{
        parcel->fds[parcel->count++] = fd;
        if (owned)
                parcel->owned[parcel->owned_count++] = fd;
}

/* The guest's end of each stream goes into the parcel, ours into the run. */
static int open_streams(struct run *run, struct parcel *parcel, bool empty_stdin, struct error *err)
{
        for (int i = 0; i < 3; i++) {
                int ends[2];
                int ours = i == 0 ? 1 : 0;

                if (i == 0 && empty_stdin) {
                        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

                        if (null < 0)
                                return error_set_errno(err, "open /dev/null");
                        parcel_add(parcel, null, true);
                        continue;
                }
                if (pipe2(ends, O_CLOEXEC) < 0)
                        return error_set_errno(err, "make a pipe");
                parcel_add(parcel, ends[1 - ours], true);
                run->streams[i] = ends[ours];
                /* Only our end must not block. A larger pipe is a matter of speed; a user's quota
                 * may forbid it. */
                if (fcntl(ends[ours], F_SETFL, O_NONBLOCK | (ours ? O_WRONLY : O_RDONLY)) < 0)
                        return error_set_errno(err, "set up a pipe");
                (void)fcntl(ends[ours], F_SETPIPE_SZ, PIPE_BYTES);
        }
        return 0;
}

static int add_group(struct run *run, struct plan *plan, struct parcel *parcel, struct error *err)
{
        int joins[CGROUP_CONTROLLERS];
        int join_count = cgroup_join_fds(&run->group, joins);

        if (join_count < 0)
                return error_set_errno(err, "open control group '%s'", run->group.name);
        for (int i = 0; i < join_count; i++)
                parcel_add(parcel, joins[i], true);
        plan->join_count = (uint32_t)join_count;
        plan->has_into = cgroup_into_fd(&run->group) >= 0;
        if (plan->has_into)
                parcel_add(parcel, cgroup_into_fd(&run->group), false);
        plan->parent_count = 0;
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                if (run->group.dir_fds[i] >= 0 && (run->group.version == CGROUP_V1 || i == CGROUP_MEMORY)) {
                        parcel_add(parcel, run->group.parent_fds[i], false);
                        plan->parent_count++;
                }
        plan->group_name = run->group.name;
        return 0;
}

static int send_order(int socket, const struct parcel *parcel, size_t plan_length, struct error *err)
{
        struct order order = { ORDER_MAGIC, (uint32_t)parcel->count, plan_length };
        struct iovec part = { .iov_base = &order, .iov_len = sizeof(order) };
        size_t size = sizeof(int) * (size_t)parcel->count;
        union {
                char bytes[CMSG_SPACE(sizeof(int) * ORDER_FDS_MAX)];
                struct cmsghdr align;
        } control = { 0 };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1,
                                  .msg_control = control.bytes, .msg_controllen = CMSG_SPACE(size) };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(header), parcel->fds, size);
        if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
                return error_set_errno(err, "send the order to the helper");
        return 0;
}

static int start_helper(const char *path, struct run *run, struct error *err)
{
        int pair[2];
        pid_t pid;
        int r = 0;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_set_errno(err, "make a socket");
        pid = child_start(path, pair[1], &run->helper_pidfd);
        if (pid <= 0) {
                r = error_set_errno(err, "start the helper '%s'", path);
                error_hint(err, "install it, or set init_path or SANDBOX_INIT to where it is");
        }
        fd_close(pair[1]);
        run->socket = pair[0];
        run->helper_pid = pid;
        return r;
}

int backend_start(const struct backend *backend, const struct backend_host *host, struct plan *plan,
                  const struct backend_input *input, struct run *run, struct error *err)
{
        AUTO_STRBUF struct strbuf encoded = { 0 };
        struct parcel parcel = { .count = 1 };
        int r;

        run_init(run);
        run->kill_signal = plan->kind == PLAN_CONTAINER ? SIGKILL : SIGINT;
        /* The helper starts up on another CPU while the rest is prepared; it waits for the order. */
        r = start_helper(host->init_path, run, err);
        if (r == 0)
                r = cgroup_open(host->site, host->number, &input->group_limits, &run->group, err);
        if (r == 0)
                r = open_streams(run, &parcel, input->empty_stdin, err);
        if (r == 0)
                r = add_group(run, plan, &parcel, err);
        for (int i = 0; i < input->file_fd_count && r == 0; i++)
                parcel_add(&parcel, input->file_fds[i], false);
        if (r == 0) {
                backend->complete(plan);
                plan_encode(plan, &encoded);
                parcel.fds[0] = encoded.failed ? -1 : fd_memfile("plan", encoded.data, encoded.length);
                if (parcel.fds[0] < 0)
                        r = encoded.failed ? error_set_nomem(err) : error_set_errno(err, "write the plan");
        }
        if (r == 0) {
                parcel.owned[parcel.owned_count++] = parcel.fds[0];
                r = send_order(run->socket, &parcel, encoded.length, err);
        }
        parcel_done(&parcel);
        if (r < 0) {
                run_finish(run);
                run_close(run);
        }
        return r;
}
