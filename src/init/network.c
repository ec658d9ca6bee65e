/*
 * The network namespace. Making one is the dearest single step (a third of a millisecond). A warden
 * that has to wait for its order makes it meanwhile, stays in it, and the keeper is born in it.
 * Else a child makes it, on another CPU, beside other work, and the keeper enters it then: a child
 * of the warden or, where it takes a user namespace, of the keeper. It shares our memory, on a
 * stack of its own, and only makes system calls. It shares errno too, but touches it only when it
 * fails, and then so does the run.
 */
#include "init/init.h"
#include "base/fd.h"
#include "base/message.h"
#include "kernel/sys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { MAKER_STACK = 32 << 10, LISTEN_BACKLOG = 64 };

struct answer {
        int sys_errno; /* 0: a descriptor of the namespace comes along */
};

static int make_namespace(void *argument)
{
        const struct init *init = argument;
        struct answer answer = { 0 };
        int fd = -1;

        if (unshare(CLONE_NEWNET) < 0)
                answer.sys_errno = errno;
        else if ((fd = openat(init->host_proc, "self/ns/net", O_RDONLY | O_CLOEXEC)) < 0)
                answer.sys_errno = errno;
        /* Where that fails, the keeper sees the end of the connection. */
        (void)message_send(init->network_pair[1], &answer, sizeof(answer), &fd, fd >= 0);
        _exit(0);
}

int network_begin(struct init *init)
{
        static char stack[MAKER_STACK] __attribute__((aligned(16)));

        if (init->network_errno) {
                errno = init->network_errno;
                return -1;
        }
        if (init->plan.network == PLAN_NETWORK_HOST || init->has_network || init->network_maker > 0)
                return 0; /* not wanted, or the warden did it */
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, init->network_pair) < 0)
                return -1;
        init->network_maker =
                clone(make_namespace, stack + sizeof(stack), CLONE_VM | SIGCHLD, init);
        fd_close(init->network_pair[1]);
        return init->network_maker < 0 ? -1 : 0;
}

void network_prepare(struct init *init, const char *hint)
{
        int r = 0;

        if (strcmp(hint, HELPER_HINT_NETWORK_BESIDE) == 0) {
                r = network_begin(init);
        } else if (strcmp(hint, HELPER_HINT_NETWORK_FIRST) == 0) {
                init->has_network = true;
                r = unshare(CLONE_NEWNET);
        }
        init->network_errno = r < 0 ? errno : 0;
}

/* The one way out: a socket that listens here, and whose connections a proxy outside accepts. It
 * belongs to this namespace wherever its descriptor is. */
static int hand_listener_out(const struct init *init)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)init->plan.listener_port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        uint32_t magic = MESSAGE_LISTENER;
        AUTO_CLOSE int fd = -1;

        if (init->plan.listener_fd == 0 || (int)init->plan.listener_fd > init->file_fd_count) {
                errno = EPROTO;
                return -1;
        }
        fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
            listen(fd, LISTEN_BACKLOG) < 0)
                return -1;
        return message_send(init->file_fds[init->plan.listener_fd - 1], &magic, sizeof(magic), &fd,
                            1);
}

/* The sockets on which the supervisor answers for names: it cannot make them, being outside. */
static int open_resolver(struct init *init)
{
        static const int types[] = { SOCK_DGRAM, SOCK_STREAM };
        const struct sockaddr_in name = { .sin_family = AF_INET,
                                          .sin_port = htons(53),
                                          .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int fds[2];

        for (int i = 0; i < 2; i++) {
                fds[i] = socket(AF_INET, types[i] | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                if (fds[i] < 0 || bind(fds[i], (const struct sockaddr *)&name, sizeof(name)) < 0 ||
                    (types[i] == SOCK_STREAM && listen(fds[i], 16) < 0))
                        return -1;
        }
        report_send(init, REPORT_RESOLVER, fds, 2);
        for (int i = 0; i < 2; i++)
                fd_close(fds[i]);
        return 0;
}

/* Sockets that the supervisor gives the addresses of those who may be reached by UDP. */
static int open_relays(struct init *init)
{
        int fds[REPORT_RELAYS_MAX];
        int count = 0;

        if (namespace_all_local() < 0)
                return -1;
        while (count < REPORT_RELAYS_MAX && count < (int)init->plan.relay_udp) {
                int family = count % 2 ? AF_INET6 : AF_INET;
                int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

                if (fd < 0 && family == AF_INET6) /* there is no IPv6: IPv4 in its stead */
                        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                if (fd < 0)
                        return -1;
                fds[count++] = fd;
        }
        report_send(init, REPORT_RELAYS, fds, count);
        while (count > 0)
                fd_close(fds[--count]);
        return 0;
}

/* Takes the namespace from the child that made it, and enters it. */
static int enter_made(struct init *init)
{
        struct answer answer = { .sys_errno = EPIPE };
        AUTO_CLOSE int fd = -1;
        size_t count = 0;

        if (message_receive(init->network_pair[0], 0, &answer, sizeof(answer), &fd, 1, &count) < 0)
                return -1;
        (void)waitpid(init->network_maker, NULL,
                      __WALL); /* ours, or the warden's and not to be waited for */
        fd_close(init->network_pair[0]);
        if (answer.sys_errno || count != 1) {
                errno = answer.sys_errno ? answer.sys_errno : EPIPE;
                return -1;
        }
        return setns(fd, CLONE_NEWNET);
}

int network_enter(struct init *init)
{
        if (init->plan.network == PLAN_NETWORK_HOST)
                return 0;
        if (!init->has_network && enter_made(init) < 0)
                return -1;
        if (init->plan.network != PLAN_NETWORK_NONE && namespace_loopback_up() < 0)
                return -1;
        if (init->plan.listener_port && hand_listener_out(init) < 0)
                return -1;
        if (init->plan.network != PLAN_NETWORK_ASKED)
                return 0;
        if (init->plan.relay_udp > 0 && open_relays(init) < 0)
                return -1;
        return open_resolver(init);
}
