/*
 * The guest's calls that wait for us: connect, bind and listen; sends.c has those that send.
 *
 * Nothing here lets the kernel go on with a call on an internet socket that could lead out: between
 * our look and the kernel's, another thread can put another socket under the same number. What a
 * guest may do on its own sockets we do ourselves, on a copy of its descriptor, which nobody can
 * exchange. Unix sockets are the exception: their paths and credentials are the guest's, so the
 * kernel goes on with bind and connect, but only where that cannot be misused: the caller has no
 * second thread that could exchange the descriptor (and the filter refuses processes that share
 * descriptors without being threads), or Landlock refuses TCP to the guest itself.
 */
#include "network/internal.h"
#include "base/fd.h"
#include "kernel/notify.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

enum { CALLS_AT_ONCE = 8, PRIVILEGED_PORTS = 1024 };

/* One call, with all that was learned of it. */
struct inquiry {
        const struct notify_call *call;
        struct guest_process process;
        int copy; /* of the descriptor; owned */
        int domain, type;
        struct sockaddr_storage name; /* a copy of the address, where the call has one */
        socklen_t length;
};

/* ---- whose namespace is a socket in? ---- */

static uint64_t namespace_cookie(int fd)
{
        uint64_t cookie = 0;
        socklen_t length = sizeof(cookie);

        if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length) < 0)
                return 0;
        return cookie;
}

int calls_know_ourselves(struct network *network)
{
        AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct stat st;

        if (fd < 0 || stat("/proc/self/ns/net", &st) < 0)
                return -1;
        network->own_cookie = namespace_cookie(fd);
        network->own_inode = st.st_ino;
        return 0;
}

/* Whether the socket is in the guest's namespace, not one that we put there. Where that cannot be
 * told it counts as ours, with which less can be done. */
static bool is_guests_own(const struct network *network, int fd)
{
        AUTO_CLOSE int namespace = -1;
        struct stat st;

        if (network->own_cookie) {
                uint64_t cookie = namespace_cookie(fd);

                return cookie != 0 && cookie != network->own_cookie;
        }
        namespace = ioctl(fd, SIOCGSKNS); /* before Linux 5.14 */
        return namespace >= 0 && fstat(namespace, &st) == 0 && st.st_ino != network->own_inode;
}

/* ---- looking ---- */

static int option(int fd, int name)
{
        int value = -1;
        socklen_t length = sizeof(value);

        return getsockopt(fd, SOL_SOCKET, name, &value, &length) < 0 ? -1 : value;
}

/* Fills in what can be known; 0, or the errno to answer. */
static int look(struct inquiry *inquiry, bool has_address)
{
        const struct notify_call *call = inquiry->call;
        int length = (int)call->arguments[2];

        if (guest_process(call->thread, &inquiry->process) < 0)
                return ESRCH;
        inquiry->copy = guest_descriptor(inquiry->process.pid, (int)call->arguments[0]);
        if (inquiry->copy < 0)
                return errno == EBADF ? EBADF : EACCES;
        inquiry->domain = option(inquiry->copy, SO_DOMAIN);
        inquiry->type = option(inquiry->copy, SO_TYPE);
        if (inquiry->domain < 0)
                return ENOTSOCK;
        if (!has_address)
                return 0;
        if (length < 0 || (size_t)length > sizeof(inquiry->name))
                return EINVAL;
        if (guest_read(call->thread, call->arguments[1], &inquiry->name, (size_t)length) < 0)
                return errno == EFAULT ? EFAULT : EACCES;
        inquiry->length = (socklen_t)length;
        return 0;
}

static bool is_inet(const struct inquiry *inquiry)
{
        return inquiry->domain == AF_INET || inquiry->domain == AF_INET6;
}

static void answer(struct network *network, const struct inquiry *inquiry, int sys_errno)
{
        /* A caller that is gone needs none. */
        (void)notify_answer(network->guest.listener, inquiry->call->id, sys_errno);
}

/* The outcome of a call that we made ourselves. */
static void answer_made(struct network *network, const struct inquiry *inquiry, int r)
{
        answer(network, inquiry, r < 0 ? errno : 0);
}

/* ---- unix sockets ---- */

static void go_on_unix(struct network *network, struct inquiry *inquiry)
{
        bool is_alone = inquiry->process.threads == 1;

        if (is_alone || (network->guest.denies_tcp && inquiry->call->number != SYS_listen)) {
                (void)notify_go_on(network->guest.listener, inquiry->call->id);
                return;
        }
        if (inquiry->call->number == SYS_listen) {
                answer_made(network, inquiry,
                            listen(inquiry->copy, (int)inquiry->call->arguments[1]));
                return;
        }
        network_refuse(network, "this kernel's Landlock cannot keep it apart from TCP",
                       "unix socket of a program with threads");
        answer(network, inquiry, EACCES);
}

/* ---- connect ---- */

/* Sets the address of a socket for datagrams of the guest's own namespace, which lead nowhere but
 * to its loopback. */
static void connect_datagrams(struct network *network, struct inquiry *inquiry)
{
        char text[ADDRESS_TEXT_MAX];
        struct address address;
        uint16_t port;

        if (!is_guests_own(network, inquiry->copy)) {
                answer(network, inquiry, EACCES);
                return;
        }
        /* C libraries connect to addresses that they know, without sending, to learn which is the
         * nearest. */
        if (address_from_socket(&inquiry->name, inquiry->length, &address, &port) == 0 &&
            !sends_may_go(network, &address, port)) {
                if (!decide_is_known(network, &address))
                        network_refuse(network, "UDP is not allowed", "connect udp %s",
                                       address_text(&address, port, text));
                answer(network, inquiry, ENETUNREACH);
                return;
        }
        answer_made(
                network, inquiry,
                connect(inquiry->copy, (const struct sockaddr *)&inquiry->name, inquiry->length));
}

static void disconnect(struct network *network, struct inquiry *inquiry)
{
        const struct sockaddr none = { .sa_family = AF_UNSPEC };

        answer_made(network, inquiry, connect(inquiry->copy, &none, sizeof(none)));
}

/* Says what was refused, with the name that led there. */
static void refuse_connect(struct network *network, const struct destination *to, const char *why)
{
        const char *name = decide_name_of(network, &to->address);
        char text[ADDRESS_TEXT_MAX];

        (void)address_text(&to->address, to->port, text);
        if (name)
                network_refuse(network, why, "connect %s (%s)", text, name);
        else
                network_refuse(network, why, "connect %s", text);
}

static void connect_stream(struct network *network, struct inquiry *inquiry)
{
        struct destination to = { .family = inquiry->domain };
        bool is_own = is_guests_own(network, inquiry->copy);
        const char *why;
        int r = address_from_socket(&inquiry->name, inquiry->length, &to.address, &to.port);

        if (r == 0 && inquiry->name.ss_family != inquiry->domain)
                r = EAFNOSUPPORT;
        if (r) {
                answer(network, inquiry, r);
                return;
        }
        why = decide_connect(network, &to.address, to.port);
        if (why && is_own && address_is_loopback(&to.address)) {
                connection_begin_own(network, inquiry->call, inquiry->process.pid,
                                     fd_take(&inquiry->copy), &inquiry->name, inquiry->length,
                                     false);
                return;
        }
        if (why) {
                refuse_connect(network, &to, why);
                answer(network, inquiry, ENETUNREACH);
                return;
        }
        /* A socket that we gave and that is asked once more: how far is it? Only what was decided
         * about is asked for, not the interface that the bytes may name besides. */
        if (!is_own) {
                inquiry->length =
                        address_to_socket(&to.address, to.port, to.family, &inquiry->name);
                connection_begin_own(network, inquiry->call, inquiry->process.pid,
                                     fd_take(&inquiry->copy), &inquiry->name, inquiry->length,
                                     true);
                return;
        }
        why = alive_refuses(network, &r);
        if (why) {
                refuse_connect(network, &to, why);
                answer(network, inquiry, r);
                return;
        }
        connection_begin(network, inquiry->call, inquiry->process.pid, fd_take(&inquiry->copy),
                         &to);
}

static void handle_connect(struct network *network, struct inquiry *inquiry)
{
        if (!is_inet(inquiry))
                go_on_unix(network, inquiry);
        else if (inquiry->length < sizeof(sa_family_t))
                answer(network, inquiry, EINVAL);
        else if (inquiry->type != SOCK_STREAM)
                connect_datagrams(network, inquiry);
        else if (inquiry->name.ss_family == AF_UNSPEC)
                disconnect(network, inquiry);
        else
                connect_stream(network, inquiry);
}

/* ---- bind and listen ---- */

static void handle_bind(struct network *network, struct inquiry *inquiry)
{
        const struct sockaddr_in *name = (const struct sockaddr_in *)&inquiry->name;
        uint16_t port = ntohs(name->sin_port);

        /* The port is where it is whatever the family says, and the kernel takes some that are none
         * for IPv4. What was not copied is zero. */
        if (!is_inet(inquiry)) {
                go_on_unix(network, inquiry);
        } else if (!is_guests_own(network, inquiry->copy)) {
                answer(network, inquiry, EINVAL);
        } else if (port > 0 && port < PRIVILEGED_PORTS) {
                answer(network, inquiry, EACCES); /* we might be allowed to, the guest is not */
        } else {
                answer_made(network, inquiry,
                            bind(inquiry->copy, (const struct sockaddr *)&inquiry->name,
                                 inquiry->length));
        }
}

static void handle_listen(struct network *network, struct inquiry *inquiry)
{
        if (!is_inet(inquiry))
                go_on_unix(network, inquiry);
        else if (!is_guests_own(network, inquiry->copy))
                answer(network, inquiry, EINVAL);
        else
                answer_made(network, inquiry,
                            listen(inquiry->copy, (int)inquiry->call->arguments[1]));
}

/* ---- all of them ---- */

static bool sends(int number)
{
        return number == SYS_sendto || number == SYS_sendmsg || number == SYS_sendmmsg;
}

static bool starts_process(int number)
{
        switch (number) {
        case SYS_clone:
#ifdef SYS_fork
        case SYS_fork:
        case SYS_vfork:
#endif
                return true;
        default:
                return false;
        }
}

/* How many there are the supervisor knows, and it answers. */
static void handle_fork(struct network *network, const struct notify_call *call)
{
        if (network->guest.asks_forks)
                network->guest.say(NETWORK_FORK, call->id, NULL, "", "");
        else
                (void)notify_go_on(network->guest.listener, call->id);
}

static const struct {
        int number;
        bool has_address;
        void (*handle)(struct network *network, struct inquiry *inquiry);
} handlers[] = {
        { SYS_connect, true, handle_connect },
        { SYS_bind, true, handle_bind },
        { SYS_listen, false, handle_listen },
};

static void handle(struct network *network, const struct notify_call *call)
{
        struct inquiry inquiry = { .call = call, .copy = -1 };
        int r;

        if (sends(call->number)) {
                sends_handle(network, call);
                return;
        }
        for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
                if (handlers[i].number != call->number)
                        continue;
                r = look(&inquiry, handlers[i].has_address);
                /* Whatever was read may be another process's, unless the asker still waits. */
                if (!notify_is_valid(network->guest.listener, call->id))
                        ;
                else if (r)
                        answer(network, &inquiry, r);
                else
                        handlers[i].handle(network, &inquiry);
                fd_close(inquiry.copy);
                return;
        }
        if (starts_process(call->number))
                handle_fork(network, call);
        else
                (void)notify_answer(network->guest.listener, call->id, ENOSYS); /* not expected */
}

void calls_ready(struct network *network, struct watched *self)
{
        (void)self;
        for (int i = 0; i < CALLS_AT_ONCE; i++) {
                struct notify_call call;
                int r = notify_receive(network->guest.listener, &call);

                if (r < 0)
                        network_unwatch(network, network->guest.listener);
                if (r <= 0)
                        return;
                handle(network, &call);
        }
}
