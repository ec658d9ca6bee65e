/* The object and its poll set; see server.h for what happens when. */
#include "network/internal.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Events served in one go; then the supervisor is heard. */
enum { SERVED_AT_ONCE = 16, TOLD_MS = 20 };

int network_watch(struct network *network, int fd, uint32_t events, struct watched *watched)
{
        struct epoll_event event = { .events = events, .data.ptr = watched };
        int r = epoll_ctl(network->poll_fd, EPOLL_CTL_ADD, fd, &event);

        return r < 0 && errno == EEXIST ? epoll_ctl(network->poll_fd, EPOLL_CTL_MOD, fd, &event)
                                        : r;
}

void network_unwatch(struct network *network, int fd)
{
        (void)epoll_ctl(network->poll_fd, EPOLL_CTL_DEL, fd, NULL); /* not in it is as good */
}

void network_due(struct network *network, uint64_t ns)
{
        struct itimerspec at = { .it_value = { .tv_sec = (time_t)(ns / 1000000000),
                                               .tv_nsec = (long)(ns % 1000000000) } };

        if (network->due_ns && network->due_ns <= ns)
                return;
        network->due_ns = ns;
        (void)timerfd_settime(network->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

void network_refuse(struct network *network, const char *why, const char *format, ...)
{
        char what[NETWORK_WHAT_MAX];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(what, sizeof(what), format, args); /* a long name is cut */
        va_end(args);
        network->guest.say(NETWORK_REFUSED, 0, NULL, what, why);
}

void network_exceed(struct network *network, const char *what)
{
        if (network->has_exceeded)
                return;
        network->has_exceeded = true;
        network_refuse(network, "the limit was reached", "%s", what);
        network->guest.say(NETWORK_EXCEEDED, 0, NULL, "", "");
}

void network_check_bytes(struct network *network)
{
        uint64_t bytes = network->usage.rx_bytes + network->usage.tx_bytes + network->header_bytes;

        if (bytes > network->bytes_max)
                network_exceed(network, "bytes in and out");
}

void network_used(struct network *network)
{
        network_due(network, clock_now_ns() + TOLD_MS * UINT64_C(1000000));
}

static void tell(struct network *network)
{
        if (memcmp(&network->usage, &network->told, sizeof(network->told)) == 0)
                return;
        network->told = network->usage;
        network->guest.say(NETWORK_USED, 0, &network->usage, "", "");
}

void network_tell(struct network *network)
{
        alive_look(network);
        tell(network);
}

static void timer_ready(struct network *network, struct watched *self)
{
        uint64_t count, now = clock_now_ns();

        (void)self;
        if (read(network->timer_fd, &count, sizeof(count)) < 0)
                return;
        network->due_ns = 0;
        connections_expire(network, now);
        upstream_expire(network, now);
        resolver_expire(network, now);
        relay_expire(network, now);
        network_tell(network);
}

static int add_rules(struct rules *rules, const struct strlist *list, struct error *err)
{
        int r = 0;

        for (size_t i = 0; list && i < list->count && r == 0; i++)
                r = rules_add(rules, list->items[i], err);
        return r;
}

int network_new(const struct network_order *order, struct network **ret_network, struct error *err)
{
        struct network *network = mem_alloc(sizeof(*network));
        int r;

        if (!network)
                return error_set_nomem(err);
        network->poll_fd = epoll_create1(EPOLL_CLOEXEC);
        network->alive_fd = epoll_create1(EPOLL_CLOEXEC);
        network->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        network->count_fd = tcp_count_open();
        network->guest = (struct network_guest){ .listener = -1, .resolver_fds = { -1, -1 } };
        for (size_t i = 0; i < NETWORK_RELAYS; i++)
                network->guest.relay_fds[i] = -1;
        network->resolve_all = order->resolve_all;
        network->connects = order->connects;
        network->connections_max = order->connections_max;
        network->bytes_max = order->bytes_max;
        network->rate_max = order->rate_max;
        network->rate_left = (int64_t)order->rate_max;
        network->rate_ns = clock_now_ns();
        network->timer.ready = timer_ready;
        network->alive.ready = alive_end_ready;
        network->listener.ready = calls_ready;
        network->datagrams.ready = resolver_datagram_ready;
        network->streams_listener.ready = resolver_stream_ready;
        if (network->poll_fd < 0 || network->alive_fd < 0 || network->timer_fd < 0 ||
            network_watch(network, network->timer_fd, EPOLLIN, &network->timer) < 0 ||
            network_watch(network, network->alive_fd, EPOLLIN, &network->alive) < 0 ||
            calls_know_ourselves(network) < 0)
                r = error_set_errno(err, "prepare the network");
        else
                r = add_rules(&network->allow, order->allow, err);
        if (r == 0)
                r = add_rules(&network->deny, order->deny, err);
        if (r < 0) {
                network_free(network);
                return r;
        }
        network->hosts = host_read("/etc/hosts");
        network->server_count = host_servers("/etc/resolv.conf", network->servers, SERVERS_MAX);
        *ret_network = network;
        return 0;
}

void network_free(struct network *network)
{
        if (!network)
                return;
        connections_done(network);
        resolver_done(network);
        upstream_done(network);
        decide_done(network);
        alive_done(network);
        relay_done(network);
        rules_done(&network->allow);
        rules_done(&network->deny);
        mem_free(network->hosts);
        fd_close(network->poll_fd);
        fd_close(network->alive_fd);
        fd_close(network->count_fd);
        fd_close(network->timer_fd);
        mem_free(network);
}

int network_attach(struct network *network, const struct network_guest *guest)
{
        const struct {
                int fd;
                struct watched *watched;
        } rows[] = {
                { guest->listener, &network->listener },
                { guest->resolver_fds[0], &network->datagrams },
                { guest->resolver_fds[1], &network->streams_listener },
        };

        network->guest = *guest;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (network_watch(network, rows[i].fd, EPOLLIN, rows[i].watched) < 0)
                        return -1;
        return relay_begin(network);
}

int network_fd(const struct network *network)
{
        return network->poll_fd;
}

void network_serve(struct network *network)
{
        /* One event at a time: serving one may end what the next would have been about. */
        for (int i = 0; i < SERVED_AT_ONCE; i++) {
                struct epoll_event event;
                struct watched *watched;

                if (epoll_wait(network->poll_fd, &event, 1, 0) != 1)
                        return;
                watched = event.data.ptr;
                watched->ready(network, watched);
        }
}
