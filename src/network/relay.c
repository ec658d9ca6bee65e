/*
 * UDP, where a rule allows it. A socket for datagrams can send to anybody at any time, so the guest
 * never gets one of the caller's namespace. Instead every address is local in the guest's namespace
 * (its helper made that route), and for each destination that a rule allows, a socket of that
 * namespace has the destination's address and port. What the guest sends there arrives here, goes
 * on from a socket of ours that is connected to the real destination, and the answers go back the
 * same way, from the address that the guest expects. Anything else the guest sends reaches nobody:
 * it is refused as on a machine where nothing listens.
 *
 * A door that a name led to is open as long as that answer is good. Shut, it keeps its socket: a
 * socket's address can be given once, and the next answer may have the same.
 */
#include "network/internal.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { BATCH = 32, DATAGRAM_MAX = 65536, IDLE_S = 60, HEADERS_V4 = 20 + 8, HEADERS_V6 = 40 + 8 };

/* A destination, in the guest's namespace. */
struct door {
        struct watched watched;
        int fd; /* borrowed from the guest's helper */
        struct address address;
        uint16_t port;
        uint64_t expires_ns; /* as the name's answer does; UINT64_MAX: a rule has the address */
};

/* One socket of the guest's that talks through a door. */
struct flow {
        struct watched watched;
        const struct door *door;
        struct sockaddr_storage client;
        socklen_t length;
        int fd; /* owned: connected to the destination */
        uint64_t used_ns;
};

static void end_flow(struct network *network, size_t index)
{
        struct flow *flow = network->flows[index];

        network->flows[index] = NULL;
        network_unwatch(network, flow->fd);
        fd_close(flow->fd);
        mem_free(flow);
}

/* One went over, empty or not. */
static void count(struct network *network, const struct door *door, uint64_t *direction, ssize_t n)
{
        *direction += (uint64_t)n;
        network->header_bytes += address_is_v4(&door->address) ? HEADERS_V4 : HEADERS_V6;
        network_check_bytes(network);
}

/* A datagram for which it is too early gets lost, as on a narrow line. */
static bool may_pass(struct network *network)
{
        if (pace_is_limited(network))
                pace_count(network);
        return !pace_is_over(network);
}

static void answer_ready(struct network *network, struct watched *self)
{
        struct flow *flow = (struct flow *)self;

        for (int i = 0; i < BATCH; i++) {
                ssize_t n = recv(flow->fd, network->datagram, DATAGRAM_MAX, MSG_DONTWAIT);

                if (n < 0 || flow->door->expires_ns <= clock_now_ns())
                        return; /* nothing more, or nobody there: a datagram may get lost */
                if (!may_pass(network))
                        continue;
                count(network, flow->door, &network->usage.rx_bytes, n);
                flow->used_ns = clock_now_ns();
                (void)sendto(flow->door->fd, network->datagram, (size_t)n,
                             MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&flow->client,
                             flow->length);
        }
}

/* A free place, or that of the one which was silent the longest. */
static size_t find_place(struct network *network)
{
        size_t oldest = 0;

        for (size_t i = 0; i < FLOWS_MAX; i++) {
                if (!network->flows[i])
                        return i;
                if (network->flows[i]->used_ns < network->flows[oldest]->used_ns)
                        oldest = i;
        }
        end_flow(network, oldest);
        return oldest;
}

static struct flow *find_flow(struct network *network, const struct door *door,
                              const struct sockaddr_storage *client, socklen_t length)
{
        for (size_t i = 0; i < FLOWS_MAX; i++) {
                struct flow *flow = network->flows[i];

                if (flow && flow->door == door && flow->length == length &&
                    memcmp(&flow->client, client, length) == 0)
                        return flow;
        }
        return NULL;
}

static struct flow *new_flow(struct network *network, const struct door *door,
                             const struct sockaddr_storage *client, socklen_t length)
{
        int family = address_is_v4(&door->address) ? AF_INET : AF_INET6;
        struct flow *flow = mem_alloc(sizeof(*flow));
        struct sockaddr_storage name;
        socklen_t name_length = address_to_socket(&door->address, door->port, family, &name);

        if (!flow)
                return NULL;
        flow->watched.ready = answer_ready;
        flow->door = door;
        flow->client = *client;
        flow->length = length;
        flow->fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (flow->fd < 0 || connect(flow->fd, (const struct sockaddr *)&name, name_length) < 0 ||
            network_watch(network, flow->fd, EPOLLIN, &flow->watched) < 0) {
                fd_close(flow->fd);
                mem_free(flow);
                return NULL;
        }
        network->flows[find_place(network)] = flow;
        network->usage.connections++;
        return flow;
}

static void door_ready(struct network *network, struct watched *self)
{
        const struct door *door = (struct door *)self;
        char text[ADDRESS_TEXT_MAX];

        for (int i = 0; i < BATCH; i++) {
                struct sockaddr_storage client = { 0 };
                socklen_t length = sizeof(client);
                ssize_t n = recvfrom(door->fd, network->datagram, DATAGRAM_MAX, MSG_DONTWAIT,
                                     (struct sockaddr *)&client, &length);
                struct flow *flow;

                if (n < 0)
                        return;
                if (door->expires_ns <= clock_now_ns()) {
                        network_refuse(network, "the answer that had the address is too old",
                                       "send udp %s",
                                       address_text(&door->address, door->port, text));
                        continue;
                }
                flow = find_flow(network, door, &client, length);
                if (!flow)
                        flow = new_flow(network, door, &client, length);
                if (!flow)
                        continue;
                flow->used_ns = clock_now_ns();
                if (!may_pass(network))
                        continue;
                if (send(flow->fd, network->datagram, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n)
                        count(network, door, &network->usage.tx_bytes, n);
        }
        network_used(network);
}

static struct door *find_door(const struct network *network, const struct address *address,
                              uint16_t port)
{
        for (size_t i = 0; i < network->door_count; i++)
                if (network->doors[i]->port == port &&
                    address_equal(&network->doors[i]->address, address))
                        return network->doors[i];
        return NULL;
}

bool relay_has(const struct network *network, const struct address *address, uint16_t port)
{
        const struct door *door = find_door(network, address, port);

        return door && door->expires_ns > clock_now_ns();
}

/* Takes a socket of the family from those that the helper made. */
static int take_socket(struct network *network, int family)
{
        for (size_t i = 0; i < NETWORK_RELAYS; i++) {
                int domain = -1, fd = network->guest.relay_fds[i];
                socklen_t length = sizeof(domain);

                if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0 ||
                    domain != family)
                        continue;
                network->guest.relay_fds[i] = -1;
                return fd;
        }
        return -1;
}

static void open_door(struct network *network, const struct address *address, uint16_t port,
                      uint64_t expires_ns)
{
        int family = address_is_v4(address) ? AF_INET : AF_INET6;
        char text[ADDRESS_TEXT_MAX];
        struct sockaddr_storage name;
        socklen_t length = address_to_socket(address, port, family, &name);
        struct door *door = find_door(network, address, port);
        const char *why = decide_send(network, address, port);

        if (why) {
                network_refuse(network, why, "udp %s", address_text(address, port, text));
                return;
        }
        if (door) {
                if (door->expires_ns < expires_ns)
                        door->expires_ns = expires_ns;
                return;
        }
        door = mem_alloc(sizeof(*door));
        if (!door)
                return;
        door->watched.ready = door_ready;
        door->address = *address;
        door->port = port;
        door->expires_ns = expires_ns;
        door->fd = network->door_count < NETWORK_RELAYS ? take_socket(network, family) : -1;
        if (door->fd < 0 || bind(door->fd, (const struct sockaddr *)&name, length) < 0 ||
            network_watch(network, door->fd, EPOLLIN, &door->watched) < 0) {
                network_refuse(network, "no more destinations are kept for UDP", "udp %s",
                               address_text(address, port, text));
                mem_free(door);
                return;
        }
        network->doors[network->door_count++] = door;
}

void relay_given(struct network *network, const char *name, const struct address *address,
                 uint64_t expires_ns)
{
        for (size_t i = 0; i < network->allow.count; i++) {
                const struct rule *rule = &network->allow.items[i];

                if (rule->is_udp &&
                    rules_have_name(&network->allow, name, rule->first_port, true) &&
                    !rules_have_name(&network->deny, name, rule->first_port, true) &&
                    !rules_have_name(&network->deny, name, rule->first_port, false) &&
                    rule_names(rule, name))
                        open_door(network, address, rule->first_port, expires_ns);
        }
}

int relay_begin(struct network *network)
{
        for (size_t i = 0; i < network->allow.count; i++) {
                const struct rule *rule = &network->allow.items[i];

                if (!rule->is_udp || !network->connects)
                        continue;
                if (!network->datagram)
                        network->datagram = mem_alloc(DATAGRAM_MAX);
                if (!network->datagram) {
                        errno = ENOMEM;
                        return -1;
                }
                if (!rule->name[0])
                        open_door(network, &rule->net, rule->first_port, UINT64_MAX);
        }
        return 0;
}

void relay_expire(struct network *network, uint64_t now)
{
        for (size_t i = 0; i < FLOWS_MAX; i++) {
                const struct flow *flow = network->flows[i];
                uint64_t end = flow ? flow->used_ns + IDLE_S * UINT64_C(1000000000) : 0;

                if (!flow)
                        continue;
                if (end > flow->door->expires_ns)
                        end = flow->door->expires_ns;
                if (end <= now)
                        end_flow(network, i);
                else
                        network_due(network, end);
        }
}

void relay_done(struct network *network)
{
        for (size_t i = 0; i < FLOWS_MAX; i++)
                if (network->flows[i])
                        end_flow(network, i);
        while (network->door_count > 0)
                mem_free(network->doors[--network->door_count]);
        mem_free(network->datagram);
        network->datagram = NULL;
}
