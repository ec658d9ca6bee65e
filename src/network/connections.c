/*
 * Connections on their way. A call of the guest's that must wait is answered when its connection is
 * there, has failed, or the guest's own timeout has passed; a call that must not wait gets the
 * socket at once and EINPROGRESS, and sees the rest for itself.
 */
#include "network/internal.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "kernel/notify.h"
#include "kernel/poll_move.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72
#endif

static const uint64_t check_ns = 1000000000; /* whether the one who waits still does */

struct pending {
        struct watched watched;
        uint64_t id;
        pid_t thread, process; /* who waits */
        int fd;                /* owned: ours, or a copy of the guest's */
        bool leads_out;        /* it is in our namespace, not in the guest's */
        bool is_own;           /* a copy of the guest's: nothing is put in its place */
        int replaced;          /* owned: a copy of what is replaced; or -1 */
        int place;             /* the guest's descriptor */
        bool close_on_exec;
        struct sockaddr_storage name;
        socklen_t length;
        uint64_t deadline_ns; /* the guest's; UINT64_MAX: none */
};

/* ---- options ---- */

/* What a program may have set before it connects, and expects to stand. */
static const struct {
        int level, option;
} carried[] = {
        { SOL_SOCKET, SO_KEEPALIVE },   { SOL_SOCKET, SO_LINGER },
        { SOL_SOCKET, SO_OOBINLINE },   { SOL_SOCKET, SO_RCVTIMEO },
        { SOL_SOCKET, SO_SNDTIMEO },    { SOL_SOCKET, SO_RCVLOWAT },
        { SOL_SOCKET, SO_TIMESTAMP },   { IPPROTO_TCP, TCP_NODELAY },
        { IPPROTO_TCP, TCP_CORK },      { IPPROTO_TCP, TCP_KEEPIDLE },
        { IPPROTO_TCP, TCP_KEEPINTVL }, { IPPROTO_TCP, TCP_KEEPCNT },
        { IPPROTO_TCP, TCP_SYNCNT },    { IPPROTO_TCP, TCP_USER_TIMEOUT },
        { IPPROTO_IP, IP_TOS },         { IPPROTO_IPV6, IPV6_V6ONLY },
        { IPPROTO_IPV6, IPV6_TCLASS },
};

/* A size that was set switches the kernel's own choice off, so it is carried only where it was. */
static void carry_buffers(int from, int to)
{
        static const struct {
                int bit, option;
        } buffers[] = { { 1, SO_SNDBUF }, { 2, SO_RCVBUF } };
        int locked = 0, size;
        socklen_t length = sizeof(locked);

        if (getsockopt(from, SOL_SOCKET, SO_BUF_LOCK, &locked, &length) < 0)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(buffers); i++) {
                length = sizeof(size);
                if (!(locked & buffers[i].bit) ||
                    getsockopt(from, SOL_SOCKET, buffers[i].option, &size, &length) < 0)
                        continue;
                size /= 2; /* the kernel doubles what it is told */
                (void)setsockopt(to, SOL_SOCKET, buffers[i].option, &size, sizeof(size));
        }
}

static void carry_options(int from, int to)
{
        for (size_t i = 0; i < ARRAY_SIZE(carried); i++) {
                char value[32];
                socklen_t length = sizeof(value);

                /* What this family or kernel does not have cannot have been set either. */
                if (getsockopt(from, carried[i].level, carried[i].option, value, &length) == 0)
                        (void)setsockopt(to, carried[i].level, carried[i].option, value, length);
        }
        carry_buffers(from, to);
}

/* ---- the way of one ---- */

static void end_pending(struct network *network, struct pending *pending)
{
        for (size_t i = 0; i < network->pending_count; i++)
                if (network->pending[i] == pending) {
                        network->pending[i] = network->pending[--network->pending_count];
                        break;
                }
        if (pending->fd >= 0) {
                network_unwatch(network, pending->fd);
                fd_close(pending->fd);
        }
        fd_close(pending->replaced);
        mem_free(pending);
}

/* connect() that does not wait, on a socket whose owner may see it wait. The setting is shared with
 * the guest's descriptor, so it is put back at once. The guest may have put it back before us; then
 * it is the timer of main.c that ends the wait, and the connection is being made all the same. */
static int connect_now(const struct pending *pending)
{
        int flags = fcntl(pending->fd, F_GETFL), r;

        if (flags < 0 ||
            (!(flags & O_NONBLOCK) && fcntl(pending->fd, F_SETFL, flags | O_NONBLOCK) < 0))
                return errno;
        r = connect(pending->fd, (const struct sockaddr *)&pending->name, pending->length) < 0
                    ? errno
                    : 0;
        if (!(flags & O_NONBLOCK))
                (void)fcntl(pending->fd, F_SETFL, flags);
        return r == EINTR ? EINPROGRESS : r;
}

/* Hands the socket over where it is ours, and ends the call. */
static void hand_over(struct network *network, struct pending *pending, int sys_errno)
{
        int listener = network->guest.listener;
        bool succeeded = sys_errno == 0 || sys_errno == EINPROGRESS;

        /* One that was given before can be used once more, to another place that is allowed. */
        if (succeeded && pending->leads_out &&
            !alive_note(network, pending->fd, &pending->name, pending->process, pending->place)) {
                succeeded = false;
                sys_errno = ENOBUFS;
        }
        if (succeeded && !pending->is_own && notify_is_valid(listener, pending->id)) {
                poll_move(pending->thread, pending->process, pending->place, pending->replaced,
                          pending->fd);
                if (!notify_inject(listener, pending->id, pending->fd, pending->place,
                                   pending->close_on_exec))
                        sys_errno = errno == ENOENT ? EINTR : errno;
        }
        /* Nobody may wait for it any more; then there is nobody to tell. */
        (void)notify_answer(listener, pending->id, sys_errno);
        end_pending(network, pending);
}

static void connection_ready(struct network *network, struct watched *self)
{
        struct pending *pending = (struct pending *)self;
        int r = connect_now(pending);

        if (r == EALREADY || r == EINPROGRESS)
                return;
        hand_over(network, pending, r == EISCONN ? 0 : r);
}

/* When the guest wants to hear the end of it. */
static uint64_t deadline_of(int fd)
{
        struct timeval timeout = { 0 };
        socklen_t length = sizeof(timeout);
        uint64_t ns;

        if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, &length) < 0)
                return UINT64_MAX;
        ns = (uint64_t)timeout.tv_sec * 1000000000 + (uint64_t)timeout.tv_usec * 1000;
        return ns > 0 && timeout.tv_sec < 1000000000 ? clock_now_ns() + ns : UINT64_MAX;
}

/* Has the call wait for the connection. */
static void wait_for(struct network *network, struct pending *pending)
{
        uint64_t check = clock_now_ns() + check_ns;

        pending->deadline_ns = deadline_of(pending->fd);
        /* Once for each change: a guest can have its socket report a hang-up all the while. */
        if (network_watch(network, pending->fd, EPOLLOUT | EPOLLET, &pending->watched) < 0) {
                hand_over(network, pending, ENOBUFS);
                return;
        }
        network_due(network, pending->deadline_ns < check ? pending->deadline_ns : check);
}

static struct pending *new_pending(struct network *network, const struct notify_call *call)
{
        struct pending *pending = NULL;

        if (network->pending_count < PENDING_MAX &&
            MEM_GROW(network->pending, network->pending_count, network->pending_capacity) == 0)
                pending = mem_alloc(sizeof(*pending));
        if (!pending) {
                (void)notify_answer(network->guest.listener, call->id, EAGAIN);
                return NULL;
        }
        pending->watched.ready = connection_ready;
        pending->id = call->id;
        pending->thread = call->thread;
        pending->fd = pending->replaced = -1;
        pending->place = (int)call->arguments[0];
        pending->close_on_exec = guest_closes_on_exec(call->thread, pending->place);
        network->pending[network->pending_count++] = pending;
        return pending;
}

void connection_begin(struct network *network, const struct notify_call *call, pid_t process,
                      int copy, const struct destination *to)
{
        struct pending *pending = new_pending(network, call);
        int flags = fcntl(copy, F_GETFL), r;
        bool waits = flags >= 0 && !(flags & O_NONBLOCK);

        if (!pending) {
                fd_close(copy);
                return;
        }
        pending->process = process;
        pending->leads_out = true;
        pending->replaced = copy;
        pending->length = address_to_socket(&to->address, to->port, to->family, &pending->name);
        pending->fd =
                socket(to->family, SOCK_STREAM | SOCK_CLOEXEC | (waits ? 0 : SOCK_NONBLOCK), 0);
        if (pending->fd < 0) {
                hand_over(network, pending, errno);
                return;
        }
        carry_options(copy, pending->fd);
        pace_begin(network, pending->fd);
        r = connect_now(pending);
        if (r == EINPROGRESS && waits)
                wait_for(network, pending);
        else
                hand_over(network, pending, r);
}

void connection_begin_own(struct network *network, const struct notify_call *call, pid_t process,
                          int copy, const struct sockaddr_storage *name, socklen_t length,
                          bool leads_out)
{
        struct pending *pending = new_pending(network, call);
        int flags = fcntl(copy, F_GETFL), r;

        if (!pending) {
                fd_close(copy);
                return;
        }
        pending->is_own = true;
        pending->process = process;
        pending->leads_out = leads_out;
        pending->fd = copy;
        pending->name = *name;
        pending->length = length;
        r = connect_now(pending);
        if (r == EINPROGRESS && flags >= 0 && !(flags & O_NONBLOCK))
                wait_for(network, pending);
        else
                hand_over(network, pending, r);
}

void connections_expire(struct network *network, uint64_t now)
{
        for (size_t i = network->pending_count; i-- > 0;) {
                struct pending *pending = network->pending[i];

                if (!notify_is_valid(network->guest.listener, pending->id))
                        end_pending(network, pending);
                else if (pending->deadline_ns <= now)
                        hand_over(network, pending, EINPROGRESS); /* as the kernel says it */
                else
                        network_due(network, pending->deadline_ns < now + check_ns
                                                     ? pending->deadline_ns
                                                     : now + check_ns);
        }
}

void connections_done(struct network *network)
{
        while (network->pending_count > 0)
                end_pending(network, network->pending[0]);
        mem_free(network->pending);
        network->pending = NULL;
}
