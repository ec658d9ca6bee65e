/*
 * Connections that were made: how many there are at once, and what went over them.
 *
 * Nobody here holds one open: a copy of ours would keep a connection that the guest has closed from
 * ending. A poll set (alive_fd) does not hold what is in it, and forgets what nobody has open any
 * more; /proc tells what it still has. What the kernel still has of those that are not in it is
 * asked for by the connection's name. Bytes are asked of the kernel by the connection's name:
 * fifty times a second (ten, where there are many), when the other side ends it, and once more at
 * the end. What goes over one between the last look and its end by the guest is not seen.
 */
#include "network/internal.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Connections within a minute, for each that may be there at once. */
enum { MADE_FACTOR = 128, ENDING_MORE = 8 };
enum { LOOK_MS = 20, LOOK_AT_MANY_MS = 100, MANY = 16, LOOK_OFTEN = 5, ENDS_AT_ONCE = 16 };

static void look_again(struct network *network)
{
        uint64_t ms = network->counted_count < MANY ? LOOK_MS : LOOK_AT_MANY_MS;

        if (pace_is_limited(network))
                ms /= LOOK_OFTEN;

        network_due(network, clock_now_ns() + ms * 1000000);
}

/* Where the connection of this number is in the table, which is in their order; its count where it
 * is not. */
static size_t find_counted(const struct network *network, uint64_t number)
{
        size_t low = 0, high = network->counted_count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (network->counted[middle].number < number)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < network->counted_count && network->counted[low].number == number
                       ? low
                       : network->counted_count;
}

/* The guest has it open: "tfd: 7 events: 2000 data: 1f pos:0 ...". */
static void mark_open(struct network *network, const char *line, uint64_t *count)
{
        const char *number = strstr(line, "data:");
        size_t index;

        if (strncmp(line, "tfd:", 4) != 0 || !number)
                return;
        ++*count;
        index = find_counted(network, strtoull(number + strlen("data:"), NULL, 16));
        if (index < network->counted_count)
                network->counted[index].is_open = true;
}

/* How many the guest has open, each marked in the table; or how many there were. */
static uint64_t count_open(struct network *network)
{
        char path[64], line[256];
        uint64_t count = 0;
        FILE *file;

        (void)snprintf(path, sizeof(path), "self/fdinfo/%d", network->alive_fd);
        file = fopen(path, "re");
        if (!file)
                return network->alive_count; /* then it only grows, and refuses too much */
        while (fgets(line, sizeof(line), file))
                mark_open(network, line, &count);
        (void)fclose(file);
        return count;
}

static void forget(struct network *network, size_t index)
{
        size_t behind = --network->counted_count - index;

        memmove(&network->counted[index], &network->counted[index + 1],
                behind * sizeof(network->counted[0]));
}

/* False where it is gone. */
static bool look_at(struct network *network, struct counted *one)
{
        struct tcp_counts before = one->counts;

        if (!tcp_count(network->count_fd, &one->id, &one->counts))
                return false;
        /* The kernel counts a segment that it sends again before it has sent it. */
        if (one->counts.received > before.received)
                network->usage.rx_bytes += one->counts.received - before.received;
        if (one->counts.sent > before.sent)
                network->usage.tx_bytes += one->counts.sent - before.sent;
        network_check_bytes(network);
        return true;
}

/* Counts those that the guest has open, and those that it has closed while the kernel still has
 * something to send: their buffers are as large. */
static void count_alive(struct network *network)
{
        for (size_t i = 0; i < network->counted_count; i++)
                network->counted[i].is_open = false;
        network->alive_count = count_open(network);
        network->ending_count = 0;
        for (size_t i = network->counted_count; i-- > 0;) {
                if (network->counted[i].is_open)
                        continue;
                if (look_at(network, &network->counted[i]))
                        network->ending_count++;
                else
                        forget(network, i);
        }
}

/* As many again may be on their way to an end, and some: whoever closes one and makes the next need
 * not wait for the other side to hear of it. */
static bool has_room(const struct network *network)
{
        uint64_t most = network->connections_max;
        uint64_t count = network->alive_count + network->pending_count;

        return count < most && count + network->ending_count < 2 * most + ENDING_MORE;
}

/* How many were made within the last minute, as long as the kernel keeps a port for one that has
 * ended. */
static uint64_t made_lately(struct network *network)
{
        uint64_t now = clock_now_ns() / 1000000000, sum = 0;

        for (uint64_t i = network->made_s + 1; i <= now && i <= network->made_s + MADE_SECONDS; i++)
                network->made[i % MADE_SECONDS] = 0;
        network->made_s = now;
        for (size_t i = 0; i < MADE_SECONDS; i++)
                sum += network->made[i];
        return sum;
}

const char *alive_refuses(struct network *network, int *ret_errno)
{
        *ret_errno = EADDRNOTAVAIL; /* as where there are no more ports */
        if (made_lately(network) >= network->connections_max * MADE_FACTOR)
                return "too many connections were made within a minute";
        *ret_errno = EAGAIN;
        if (!has_room(network))
                count_alive(network);
        return has_room(network) ? NULL : "the limit of connections was reached";
}

void alive_look(struct network *network)
{
        size_t kept = 0;

        for (size_t i = 0; i < network->counted_count; i++)
                if (look_at(network, &network->counted[i]))
                        network->counted[kept++] = network->counted[i];
        network->counted_count = kept;
        pace_look(network);
        if (network->counted_count > 0)
                look_again(network);
}

/* The other side ended a connection: all it had to say is here. */
void alive_end_ready(struct network *network, struct watched *self)
{
        struct epoll_event events[ENDS_AT_ONCE];
        int count = epoll_wait(network->alive_fd, events, ENDS_AT_ONCE, 0);

        (void)self;
        for (int i = 0; i < count; i++) {
                size_t index = find_counted(network, events[i].data.u64);

                if (index < network->counted_count && !look_at(network, &network->counted[index]))
                        forget(network, index);
        }
}

static bool is_counted(const struct network *network, const struct tcp_id *id)
{
        for (size_t i = 0; i < network->counted_count; i++)
                if (memcmp(&network->counted[i].id, id, sizeof(*id)) == 0)
                        return true;
        return false;
}

bool alive_note(struct network *network, int fd, const struct sockaddr_storage *to, pid_t process,
                int place)
{
        struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET };
        struct counted counted = { .process = process, .place = place };
        bool is_known = tcp_identify(fd, to, &counted.id);

        if (is_known && is_counted(network, &counted.id))
                return true;
        event.data.u64 = network->usage.connections + 1;
        /* One that was given before is in it, under its last number. */
        if (epoll_ctl(network->alive_fd, EPOLL_CTL_ADD, fd, &event) == 0)
                network->alive_count++;
        else if (errno != EEXIST || epoll_ctl(network->alive_fd, EPOLL_CTL_MOD, fd, &event) < 0)
                return false; /* how many there are would not be known */
        counted.number = ++network->usage.connections;
        (void)made_lately(network); /* has the seconds that passed begin at nothing */
        network->made[network->made_s % MADE_SECONDS]++;
        if (network->counted_count >= COUNTED_MAX)
                alive_look(network);
        /* What cannot be asked about is not counted. */
        if (network->count_fd < 0 || network->counted_count >= COUNTED_MAX || !is_known ||
            MEM_GROW(network->counted, network->counted_count, network->counted_capacity) < 0)
                return true;
        network->counted[network->counted_count++] = counted;
        look_again(network);
        return true;
}

void alive_done(struct network *network)
{
        mem_free(network->counted);
        network->counted = NULL;
}
