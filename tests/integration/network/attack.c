/*
 * Tries to reach what is not allowed, with raw system calls. Allowed are 203.0.113.10 (ports 7 and
 * 80) alone; 203.0.113.11 must never be reached, which its server tells the test. Each attempt
 * prints "REFUSED what errno", "ESCAPED what" or "UNEXPECTED what errno".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MSG_FASTOPEN
#define MSG_FASTOPEN 0x20000000
#endif

static const char *const good = "203.0.113.10", *const other = "203.0.113.11";

static struct sockaddr_in v4(const char *text, unsigned port)
{
        struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

        inet_pton(AF_INET, text, &name.sin_addr);
        return name;
}

static struct sockaddr_in6 v6(const char *text, unsigned port)
{
        struct sockaddr_in6 name = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };

        inet_pton(AF_INET6, text, &name.sin6_addr);
        return name;
}

static long raw_connect(int fd, const void *name, size_t length)
{
        return syscall(SYS_connect, fd, name, length);
}

/* A call that must fail with one of two errors. */
static void must_fail(const char *what, long r, int expected, int or_else)
{
        if (r >= 0)
                printf("ESCAPED %s\n", what);
        else if (errno == expected || errno == or_else)
                printf("REFUSED %s %d\n", what, errno);
        else
                printf("UNEXPECTED %s %d\n", what, errno);
        fflush(stdout);
}

static void try_v4(const char *what, const char *address, unsigned port, int expected)
{
        struct sockaddr_in name = v4(address, port);
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        must_fail(what, raw_connect(fd, &name, sizeof(name)), expected, expected);
        close(fd);
}

static void try_v6(const char *what, const char *address, unsigned port, int expected)
{
        struct sockaddr_in6 name = v6(address, port);
        int fd = socket(AF_INET6, SOCK_STREAM, 0);

        must_fail(what, raw_connect(fd, &name, sizeof(name)), expected, expected);
        close(fd);
}

static int connected(void)
{
        struct sockaddr_in name = v4(good, 7);
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (raw_connect(fd, &name, sizeof(name)) < 0)
                printf("UNEXPECTED allowed connect %d\n", errno);
        return fd;
}

static void addresses(unsigned host_port)
{
        try_v4("address that no name has", other, 80, ENETUNREACH);
        try_v4("port that is not allowed", good, 81, ENETUNREACH);
        try_v4("private address", "10.9.8.7", 80, ENETUNREACH);
        try_v4("metadata address", "169.254.169.254", 80, ENETUNREACH);
        try_v4("the host's address", "192.0.2.1", host_port, ENETUNREACH);
        try_v4("name server over TCP", "192.0.2.2", 53, ENETUNREACH);
        try_v4("the host's loopback", "127.0.0.1", host_port, ECONNREFUSED);
        try_v4("any address", "0.0.0.0", host_port, ECONNREFUSED);
        try_v4("broadcast", "255.255.255.255", 80, ENETUNREACH);
        try_v6("mapped address", "::ffff:203.0.113.11", 80, ENETUNREACH);
        try_v6("mapped loopback", "::ffff:127.0.0.1", host_port, ECONNREFUSED);
        try_v6("compatible address", "::203.0.113.11", 80, ENETUNREACH);
        try_v6("translated address", "64:ff9b::203.0.113.11", 80, ENETUNREACH);
        try_v6("any IPv6 address", "::", host_port, ECONNREFUSED);
        try_v6("IPv6 address", "2001:db8:2::10", 80, ENETUNREACH);
        try_v6("the host's IPv6 address", "2001:db8:1::1", host_port, ENETUNREACH);
}

static void bad_arguments(void)
{
        struct sockaddr_in name = v4(good, 80);
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        must_fail("bad pointer", raw_connect(fd, (void *)8, 16), EFAULT, EFAULT);
        must_fail("short length", raw_connect(fd, &name, 3), EINVAL, EINVAL);
        must_fail("huge length", raw_connect(fd, &name, 100000), EINVAL, EINVAL);
        must_fail("negative length", raw_connect(fd, &name, (size_t)-1), EINVAL, EINVAL);
        must_fail("no descriptor", raw_connect(999, &name, sizeof(name)), EBADF, EBADF);
        must_fail("no socket", raw_connect(1, &name, sizeof(name)), ENOTSOCK, ENOTSOCK);
        name.sin_family = 77;
        must_fail("no family", raw_connect(fd, &name, sizeof(name)), EAFNOSUPPORT, EINVAL);
        close(fd);
}

static void other_sockets(void)
{
        struct sockaddr_in name = v4(other, 9), server = v4("192.0.2.2", 53);
        int fd = socket(AF_INET, SOCK_DGRAM, 0);
        struct iovec part = { "x", 1 };
        struct msghdr message = { &name, sizeof(name), &part, 1, NULL, 0, 0 };
        struct mmsghdr messages = { .msg_hdr = message };
        char params[120] = { 0 };

        must_fail("UDP", sendto(fd, "x", 1, 0, (void *)&name, sizeof(name)), ENETUNREACH, EPERM);
        must_fail("UDP sendmsg", sendmsg(fd, &message, 0), ENETUNREACH, EPERM);
        must_fail("UDP sendmmsg", sendmmsg(fd, &messages, 1, 0), ENETUNREACH, EPERM);
        must_fail("UDP connect", raw_connect(fd, &name, sizeof(name)), ENETUNREACH, EPERM);
        must_fail("name server over UDP", sendto(fd, "x", 1, 0, (void *)&server, sizeof(server)),
                  ENETUNREACH, EPERM);
        close(fd);
        must_fail("raw socket", socket(AF_INET, SOCK_RAW, IPPROTO_TCP), EPERM, EPERM);
        must_fail("ICMP socket", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), EPERM, ENOSYS);
        must_fail("packet socket", socket(AF_PACKET, SOCK_RAW, 0), EAFNOSUPPORT, EPERM);
        must_fail("netlink", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), EAFNOSUPPORT, EPERM);
        must_fail("MPTCP", socket(AF_INET, SOCK_STREAM, 262), ENOSYS, EPERM);
        must_fail("SCTP", socket(AF_INET, SOCK_STREAM, 132), ENOSYS, EPERM);
        must_fail("vsock", socket(AF_VSOCK, SOCK_STREAM, 0), EAFNOSUPPORT, EPERM);
        must_fail("io_uring", syscall(SYS_io_uring_setup, 4, params), EPERM, ENOSYS);
}

/* A socket that was connected for us, turned against others. */
static void given_socket(void)
{
        struct sockaddr nobody = { .sa_family = AF_UNSPEC };
        struct sockaddr_in name = v4(other, 80), any = v4("0.0.0.0", 0);
        unsigned char route[] = { 131, 7, 4, 203, 0, 113, 11, 0 };
        char srh[24] = { 0, 2, 4 };
        struct ifconf list = { 0 };
        int fd = connected(), one = 1;

        must_fail("connect again", raw_connect(fd, &name, sizeof(name)), ENETUNREACH, EISCONN);
        must_fail("source route", setsockopt(fd, 0, 4, route, sizeof(route)), EPERM, EPERM);
        must_fail("IPv6 route", setsockopt(fd, 41, 57, srh, sizeof(srh)), EPERM, EPERM);
        must_fail("another device", setsockopt(fd, 1, 25, "near", 4), EPERM, EPERM);
        must_fail("another device by index", setsockopt(fd, 1, 62, &one, 4), EPERM, EPERM);
        must_fail("fast open option", setsockopt(fd, 6, 30, &one, 4), ENOPROTOOPT, EPERM);
        must_fail("fast open option with high bits",
                  syscall(SYS_setsockopt, fd, 6 | 1L << 40, 30 | 1L << 33, &one, 4), ENOPROTOOPT,
                  EPERM);
        must_fail("interfaces of the host", ioctl(fd, SIOCGIFCONF, &list), EPERM, EPERM);
        must_fail("namespace of the host", ioctl(fd, 0x894c), EPERM, ENOSYS);
        must_fail("listen", listen(fd, 1), EINVAL, EINVAL);
        if (raw_connect(fd, &nobody, sizeof(nobody)) < 0)
                printf("UNEXPECTED disconnect %d\n", errno);
        must_fail("connect after disconnect", raw_connect(fd, &name, sizeof(name)), ENETUNREACH,
                  ENETUNREACH);
        must_fail("send with fast open",
                  sendto(fd, "x", 1, MSG_FASTOPEN, (void *)&name, sizeof(name)), EOPNOTSUPP, EPERM);
        must_fail("send elsewhere", sendto(fd, "x", 1, MSG_NOSIGNAL, (void *)&name, sizeof(name)),
                  EPIPE, ECONNRESET);
        must_fail("bind after disconnect", bind(fd, (void *)&any, sizeof(any)), EINVAL, EINVAL);
        must_fail("listen after disconnect", listen(fd, 1), EINVAL, EINVAL);
        name = v4("127.0.0.1", 8999);
        must_fail("the host's loopback from it", raw_connect(fd, &name, sizeof(name)), ENETUNREACH,
                  ENETUNREACH);
        close(fd);
}

/* The same in another process, which got it over a unix socket. */
static void passed_socket(void)
{
        struct sockaddr nobody = { .sa_family = AF_UNSPEC };
        struct sockaddr_in name = v4(other, 80);
        char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
        struct iovec part = { &byte, 1 };
        struct msghdr message = { NULL, 0, &part, 1, control, sizeof(control), 0 };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        int fd = connected(), pair[2];

        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        if (fork() == 0) {
                recvmsg(pair[1], &message, 0);
                memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
                raw_connect(fd, &nobody, sizeof(nobody));
                must_fail("connect of a passed socket", raw_connect(fd, &name, sizeof(name)),
                          ENETUNREACH, ENETUNREACH);
                _exit(0);
        }
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof(fd));
        sendmsg(pair[0], &message, 0);
        close(fd);
        wait(NULL);
        must_fail("processes that share descriptors",
                  syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL), EPERM, EPERM);
}

/* ---- races ---- */

static atomic_bool stop;
static struct sockaddr_in shared;

static void *change_address(void *argument)
{
        const struct sockaddr_in names[2] = { v4(good, 80), v4(other, 80) };

        (void)argument;
        for (unsigned i = 0; !stop; i++) {
                memcpy(&shared, &names[i & 1], sizeof(shared));
                if (i % 64 == 0)
                        sched_yield(); /* one CPU may be all there is */
        }
        return NULL;
}

static void race_address(void)
{
        pthread_t thread;
        unsigned reached = 0, wrong = 0;

        shared = v4(good, 80);
        stop = false;
        pthread_create(&thread, NULL, change_address, NULL);
        for (int i = 0; i < 1500; i++) {
                int fd = socket(AF_INET, SOCK_STREAM, 0);
                struct sockaddr_in peer;
                socklen_t length = sizeof(peer);

                if (raw_connect(fd, &shared, sizeof(shared)) == 0) {
                        reached++;
                        getpeername(fd, (void *)&peer, &length);
                        wrong += peer.sin_addr.s_addr != inet_addr(good);
                }
                close(fd);
        }
        stop = true;
        pthread_join(thread, NULL);
        printf("%s race of the address %d\n", wrong || !reached ? "ESCAPED" : "REFUSED", 0);
}

/* One number, three sockets: a unix one, for which the kernel may go on; one that we were given,
 * disconnected; and the address changes with it. */
static int contested, unix_fd, given_fd;
static union {
        struct sockaddr_un local;
        struct sockaddr_in far;
        struct sockaddr any;
} contested_name;

static void *change_socket(void *argument)
{
        const struct sockaddr_un local = { .sun_family = AF_UNIX, .sun_path = "/tmp/nobody" };
        const struct sockaddr_in far = v4(other, 80);
        const struct sockaddr nobody = { .sa_family = AF_UNSPEC };

        (void)argument;
        for (unsigned i = 0; !stop; i++) {
                memcpy(&contested_name, &local, sizeof(local));
                dup2(unix_fd, contested);
                sched_yield();
                if (i % 3)
                        memcpy(&contested_name, &far, sizeof(far));
                else
                        memcpy(&contested_name, &nobody, sizeof(nobody));
                dup2(given_fd, contested);
        }
        return NULL;
}

static void race_socket(void)
{
        struct sockaddr_in peer;
        socklen_t length = sizeof(peer);
        unsigned listening = 0, connected_elsewhere = 0;
        pthread_t thread;

        unix_fd = socket(AF_UNIX, SOCK_STREAM, 0);
        given_fd = connected();
        fcntl(given_fd, F_SETFL, O_NONBLOCK);
        contested = dup(unix_fd);
        stop = false;
        pthread_create(&thread, NULL, change_socket, NULL);
        for (int i = 0; i < 3000; i++) {
                int accepts = 0;

                raw_connect(contested, &contested_name, sizeof(contested_name.local));
                listen(contested, 1);
                bind(contested, &contested_name.any, sizeof(contested_name.far));
                length = sizeof(accepts);
                getsockopt(given_fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length);
                listening += accepts != 0;
                length = sizeof(peer);
                if (getpeername(given_fd, (void *)&peer, &length) == 0 &&
                    peer.sin_addr.s_addr != inet_addr(good))
                        connected_elsewhere++;
        }
        stop = true;
        pthread_join(thread, NULL);
        printf("%s race of the descriptor %d\n",
               listening || connected_elsewhere ? "ESCAPED" : "REFUSED", 0);
}

static void unix_sockets(void)
{
        struct sockaddr_un name = { .sun_family = AF_UNIX };
        const char *paths[] = { getenv("HOST_SOCKET"), "/run/dbus/system_bus_socket",
                                "/var/run/docker.sock" };

        for (size_t i = 0; i < 3; i++) {
                int fd = socket(AF_UNIX, SOCK_STREAM, 0);

                snprintf(name.sun_path, sizeof(name.sun_path), "%s", paths[i] ? paths[i] : "/x");
                must_fail("unix socket of the host", raw_connect(fd, &name, sizeof(name)), ENOENT,
                          ENOTDIR);
                close(fd);
        }
}

/* What would have the host do something for a socket that was given. */
static void options(void)
{
        static const struct {
                const char *what;
                int level, option, error;
        } rows[] = {
                { "join a group", IPPROTO_IP, MCAST_JOIN_GROUP, EPERM },
                { "join an IPv4 group", IPPROTO_IP, IP_ADD_MEMBERSHIP, EPERM },
                { "join a group with a source", IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP, EPERM },
                { "join an IPv6 group", IPPROTO_IPV6, IPV6_JOIN_GROUP, EPERM },
                { "join a group over IPv6", IPPROTO_IPV6, MCAST_JOIN_GROUP, EPERM },
                { "have a flow label", IPPROTO_IPV6, 32, EPERM },
                { "leave the pace", SOL_SOCKET, 47, ENOPROTOOPT },
        };
        struct group_req group = { .gr_interface = 1 };
        struct sockaddr_in *name = (struct sockaddr_in *)&group.gr_group;
        int fd = connected();

        *name = v4("224.0.0.251", 0);
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                must_fail(rows[i].what,
                          setsockopt(fd, rows[i].level, rows[i].option, &group, sizeof(group)),
                          rows[i].error, rows[i].error);
        close(fd);
}

/* Families that the kernel takes for IPv4 where an address is given. */
static void privileged_ports(void)
{
        static const int families[] = { AF_INET, AF_UNSPEC };

        for (size_t i = 0; i < 2; i++) {
                struct sockaddr_in name = { .sin_family = (sa_family_t)families[i],
                                            .sin_port = htons(80) };
                int fd = socket(AF_INET, SOCK_STREAM, 0);

                must_fail(i ? "privileged port of no family" : "privileged port",
                          syscall(SYS_bind, fd, &name, sizeof(name)), EACCES, EACCES);
                close(fd);
        }
}

/* Often enough to find what leaks, to a port where nobody listens. */
static void many(void)
{
        struct sockaddr_in name = v4(good, 7), closed = v4(good, 80);
        unsigned failed = 0;

        (void)name;
        for (int i = 0; i < 10000; i++) {
                int fd = socket(AF_INET, SOCK_STREAM, 0);
                struct linger now = { 1, 0 };

                setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
                closed.sin_port = htons(i % 100 ? 6 : 7); /* the second one answers */
                if (raw_connect(fd, &closed, sizeof(closed)) < 0)
                        failed++;
                close(fd);
        }
        printf("%s ten thousand connects %u\n", failed == 9900 ? "REFUSED" : "UNEXPECTED", failed);
}

int main(int argc, char **argv)
{
        unsigned host_port = (unsigned)atoi(getenv("HOST_PORT"));

        (void)argc;
        (void)argv;
        addresses(host_port);
        bad_arguments();
        other_sockets();
        given_socket();
        passed_socket();
        options();
        privileged_ports();
        unix_sockets();
        race_address();
        race_socket();
        many();
        printf("DONE\n");
        return 0;
}
