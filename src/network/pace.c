/*
 * Bytes a second: a run that moves more is slowed down.
 *
 * Theory of operation. What may go is a balance that fills up as time goes by, to a second's worth.
 * It can fall below nothing, because what went over TCP is seen only afterwards. Then every
 * connection is slowed until there is something in it again: the kernel paces what is sent, and a
 * receive buffer and a window as small as can be, less than a segment, keep the other side from
 * sending; it asks again each few tenths of a second. Datagrams are not passed on meanwhile.
 *
 * Nobody here holds a connection, so for a change its descriptor is copied from the guest, by the
 * number that it had when the connection was made, and only believed where it is the same socket.
 * A guest that keeps it under another number, or undoes the change, cannot be slowed; a run that
 * goes on as before is ended.
 */
#include "network/internal.h"
#include "base/clock.h"
#include "base/fd.h"
#include "kernel/notify.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif
#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72
#endif

static const uint64_t ns_per_s = 1000000000, window_ns = 500000000;

enum {
        SLOWED_PARTS = 16,     /* of the rate that is still sent by all together */
        PACE_LEAST = 16 << 10, /* slower ones would wait for ever for one segment */
        RECEIVE_LEAST = 1,     /* the kernel makes it what it can */
        RECEIVE_AFTERWARDS = 256 << 10,
        CLAMP_AFTERWARDS = 1 << 30, /* none: the buffer decides */
        RECEIVE_LOCK = 2,           /* of SO_BUF_LOCK */
        SMALL_RATE = 64 << 20,
        UNDERWAY_FIRST = 8 << 20, /* in buffers and on the wire when one is slowed */
        UNDERWAY_LATER = 128 << 10,
};

static uint64_t bytes_so_far(const struct network *network)
{
        return network->usage.rx_bytes + network->usage.tx_bytes + network->header_bytes;
}

bool pace_is_limited(const struct network *network)
{
        return network->rate_max < NETWORK_RATE_NONE;
}

bool pace_is_over(const struct network *network)
{
        return network->rate_left < 0;
}

void pace_count(struct network *network)
{
        uint64_t now = clock_now_ns(), bytes = bytes_so_far(network);
        double most = (double)network->rate_max;
        double left = (double)network->rate_left +
                      most * (double)(now - network->rate_ns) / (double)ns_per_s;

        if (left > most)
                left = most;
        network->rate_left = (int64_t)(left - (double)(bytes - network->rate_bytes));
        network->rate_ns = now;
        network->rate_bytes = bytes;
}

/* What cannot be set is seen by what goes over. */
static void set_number(int fd, int option, int value)
{
        (void)setsockopt(fd, SOL_SOCKET, option, &value, sizeof(value));
}

static void set_sending(const struct network *network, int fd)
{
        uint64_t whole = network->is_slowed ? network->rate_max / SLOWED_PARTS
                                            : network->rate_max - network->rate_max / 8;
        uint64_t pace = whole / (network->counted_count + 1);

        if (pace < PACE_LEAST)
                pace = PACE_LEAST;
        if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &pace, sizeof(pace)) < 0)
                set_number(fd, SO_MAX_PACING_RATE, /* before Linux 4.20 */
                           pace > INT32_MAX ? INT32_MAX : (int)pace);
}

/* A window that the other side was offered cannot be taken back. Where the rate is small the kernel
 * does not choose it itself, for that may be many seconds' worth. */
static bool has_small_window(const struct network *network)
{
        return network->rate_max < SMALL_RATE;
}

/* Where it does it does so again afterwards, from Linux 5.16. */
static void set_receiving(const struct network *network, int fd)
{
        int locked = 0, clamp;
        socklen_t length = sizeof(locked);

        set_number(fd, SO_RCVBUF, network->is_slowed ? RECEIVE_LEAST : RECEIVE_AFTERWARDS);
        clamp = network->is_slowed ? RECEIVE_LEAST : CLAMP_AFTERWARDS;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp));
        if (!network->is_slowed && !has_small_window(network) &&
            getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &locked, &length) == 0)
                set_number(fd, SO_BUF_LOCK, locked & ~RECEIVE_LOCK);
}

void pace_begin(const struct network *network, int fd)
{
        if (!pace_is_limited(network))
                return;
        set_sending(network, fd);
        if (network->is_slowed || has_small_window(network))
                set_receiving(network, fd);
}

/* A copy of the connection's descriptor, or -1. */
static int fetch(const struct counted *one)
{
        AUTO_CLOSE int fd = guest_descriptor(one->process, one->place);
        uint32_t cookie[2] = { 0 };
        socklen_t length = sizeof(cookie);

        if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_COOKIE, cookie, &length) < 0 ||
            memcmp(cookie, one->id.cookie, sizeof(cookie)) != 0)
                return -1;
        return fd_take(&fd);
}

static void set_all(struct network *network)
{
        for (size_t i = 0; i < network->counted_count; i++) {
                int fd = fetch(&network->counted[i]);

                if (fd < 0)
                        continue;
                set_sending(network, fd);
                set_receiving(network, fd);
                fd_close(fd);
        }
}

/* What may go while all is slowed: at first what was under way already, which may take its time to
 * arrive; later what cannot be held back. */
static void allow_slowed(struct network *network, uint64_t underway)
{
        network->window_ns = clock_now_ns() + window_ns;
        network->window_end += network->rate_max / 2 + underway * (network->counted_count + 1);
}

void pace_look(struct network *network)
{
        uint64_t now = clock_now_ns();

        if (!pace_is_limited(network))
                return;
        pace_count(network);
        if (!network->is_slowed && pace_is_over(network)) {
                network->is_slowed = true;
                set_all(network);
                network->window_end = bytes_so_far(network);
                allow_slowed(network, UNDERWAY_FIRST);
        } else if (network->is_slowed && network->rate_left > (int64_t)(network->rate_max / 8)) {
                network->is_slowed = false;
                set_all(network);
        } else if (network->is_slowed && now > network->window_ns) {
                set_all(network); /* the guest may have set it anew */
                allow_slowed(network, UNDERWAY_LATER);
        } else if (network->is_slowed && bytes_so_far(network) > network->window_end) {
                network_exceed(network, "bytes a second");
        }
}
