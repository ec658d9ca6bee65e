/*
 * Connections that were made: how many there are at once, and what went over them.
 *
 * Nobody here holds one open: a copy of ours would keep a connection that the guest has closed from
 * ending. A poll set (alive_fd) does not hold what is in it, and forgets what nobody has open any
 * more; /proc tells what it still has. Bytes are asked of the kernel by the connection's name:
 * fifty times a second (ten, where there are many), when the other side ends it, and once more at
 * the end. What goes over one between the last look and its end by the guest is not seen.
 */
#include "network/internal.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { LOOK_MS = 20, LOOK_AT_MANY_MS = 100, MANY = 16, ENDS_AT_ONCE = 16 };

static void look_again(struct network *network)
{
        uint64_t ms = network->counted_count < MANY ? LOOK_MS : LOOK_AT_MANY_MS;

        network_due(network, clock_now_ns() + ms * 1000000);
}

static uint64_t count_alive(const struct network *network)
{
        char path[64], text[4096];
        uint64_t count = 0;
        size_t matched = 0;
        ssize_t n;
        AUTO_CLOSE int fd = -1;

        (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", network->alive_fd);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return network->alive_count; /* then it only grows, and refuses too much */
        while ((n = read(fd, text, sizeof(text))) > 0)
                for (ssize_t i = 0; i < n; i++) {
                        matched = text[i] == "tfd:"[matched] ? matched + 1 : text[i] == 't';
                        if (matched == 4) {
                                count++;
                                matched = 0;
                        }
                }
        return count;
}

bool alive_has_room(struct network *network)
{
        if (network->alive_count + network->pending_count >= network->connections_max)
                network->alive_count = count_alive(network);
        return network->alive_count + network->pending_count < network->connections_max;
}

static void look_at(struct network *network, size_t index)
{
        struct counted *one = &network->counted[index];
        uint64_t received = 0, sent = 0;

        if (!tcp_count(network->count_fd, &one->id, &received, &sent)) {
                *one = network->counted[--network->counted_count]; /* gone */
                return;
        }
        network->usage.rx_bytes += received - one->received;
        network->usage.tx_bytes += sent - one->sent;
        one->received = received;
        one->sent = sent;
        network_check_bytes(network);
}

void alive_look(struct network *network)
{
        for (size_t i = network->counted_count; i-- > 0;)
                look_at(network, i);
        if (network->counted_count > 0)
                look_again(network);
}

/* The other side ended a connection: all it had to say is here. */
void alive_end_ready(struct network *network, struct watched *self)
{
        struct epoll_event events[ENDS_AT_ONCE];
        int count = epoll_wait(network->alive_fd, events, ENDS_AT_ONCE, 0);

        (void)self;
        for (int i = 0; i < count; i++)
                for (size_t k = 0; k < network->counted_count; k++)
                        if (network->counted[k].number == events[i].data.u64) {
                                look_at(network, k);
                                break;
                        }
}

static bool is_counted(const struct network *network, const struct tcp_id *id)
{
        for (size_t i = 0; i < network->counted_count; i++)
                if (memcmp(&network->counted[i].id, id, sizeof(*id)) == 0)
                        return true;
        return false;
}

void alive_note(struct network *network, int fd, const struct sockaddr_storage *to)
{
        struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET };
        struct counted counted = { 0 };
        bool is_known = tcp_identify(fd, to, &counted.id);

        if (is_known && is_counted(network, &counted.id))
                return;
        counted.number = event.data.u64 = ++network->usage.connections;
        if (epoll_ctl(network->alive_fd, EPOLL_CTL_ADD, fd, &event) == 0)
                network->alive_count++;
        /* What cannot be asked about is not counted. */
        if (network->count_fd < 0 || network->counted_count >= COUNTED_MAX || !is_known ||
            MEM_GROW(network->counted, network->counted_count, network->counted_capacity) < 0)
                return;
        network->counted[network->counted_count++] = counted;
        look_again(network);
}

void alive_done(struct network *network)
{
        mem_free(network->counted);
        network->counted = NULL;
}
