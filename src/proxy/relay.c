/* The loop: clients of the sandbox on one side, the places that may be reached on the other. */
#include "proxy/proxy.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
        CONNECTIONS_MAX = 64,
        BUFFER_SIZE = 64 << 10,
        HEAD_MS = 30000,
        CONNECT_MS = 15000,
        IDLE_MS = 120000,
};

/* Bytes from everybody together, after which nothing goes through any more. */
static const uint64_t bytes_max = UINT64_C(8) << 30;

enum state {
        STATE_FREE,
        STATE_HEAD,       /* reading the request's head into `up` */
        STATE_CONNECTING, /* to the place's next address */
        STATE_RELAYING,
        STATE_ANSWERING, /* our own answer is in `down`; then it ends */
};

/* One direction: what was read on one side and not yet written to the other. */
struct channel {
        char data[BUFFER_SIZE];
        size_t start, end;
        bool has_ended; /* no more will be read */
        bool is_shut;   /* the other side was told */
};

struct connection {
        enum state state;
        int client, server;
        struct channel up, down; /* to the server, to the client */
        struct proxy_request request;
        const struct allow_place *place;
        size_t next_address;
        uint64_t deadline_ns;
};

struct relay {
        const struct allow_list *list;
        struct refusals *refusals;
        int listener; /* or -1 */
        int handover; /* the socket it comes by, or -1 */
        uint64_t bytes;
        struct connection connections[CONNECTIONS_MAX];
};

static void set_deadline(struct connection *connection, unsigned ms)
{
        connection->deadline_ns = clock_now_ns() + UINT64_C(1000000) * ms;
}

static void drop(struct connection *connection)
{
        fd_close(connection->client);
        fd_close(connection->server);
        connection->client = connection->server = -1;
        connection->state = STATE_FREE;
}

static void answer(struct connection *connection, const char *status, const char *words)
{
        struct channel *down = &connection->down;
        int n = snprintf(down->data, sizeof(down->data),
                         "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                         "Connection: close\r\n\r\n%s\n",
                         status, strlen(words) + 1, words);

        down->start = 0;
        down->end = (size_t)n;
        down->has_ended = true;
        fd_close(fd_take(&connection->server));
        connection->state = STATE_ANSWERING;
        set_deadline(connection, CONNECT_MS);
}

static void refuse(struct relay *relay, struct connection *connection)
{
        const struct proxy_request *request = &connection->request;
        char what[PROXY_WHAT_MAX], words[REQUEST_HOST_MAX + 64];

        /* A name may be longer than there is room to tell: its beginning says enough. */
        (void)snprintf(what, sizeof(what), "connect %.72s:%u", request->host, request->port);
        refusals_add(relay->refusals, what);
        (void)snprintf(words, sizeof(words), "sandbox: %s:%u is not a place that may be reached",
                       request->host, request->port);
        answer(connection, "403 Forbidden", words);
}

/* The way is open: what was read beyond the head, and the head itself as the server is to see it,
 * go up. */
static void begin_relaying(struct connection *connection)
{
        static char rewritten[2 * REQUEST_HEAD_MAX];
        static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
        const struct proxy_request *request = &connection->request;
        struct channel *up = &connection->up, *down = &connection->down;
        size_t head = 0, body = up->end - request->head_length;

        if (request->is_tunnel) {
                memcpy(down->data, established, sizeof(established) - 1);
                down->end = sizeof(established) - 1;
        } else {
                head = request_rewrite(up->data, request, rewritten, sizeof(rewritten));
                if (head == 0 || head + body > sizeof(up->data)) {
                        answer(connection, "431 Request Header Fields Too Large", "too large");
                        return;
                }
        }
        memmove(up->data + head, up->data + request->head_length, body);
        memcpy(up->data, rewritten, head);
        up->start = 0;
        up->end = head + body;
        connection->state = STATE_RELAYING;
        set_deadline(connection, IDLE_MS);
}

/* Begins to connect to the next address of the place, or gives up. */
static void connect_next(struct connection *connection)
{
        const struct allow_place *place = connection->place;

        fd_close(fd_take(&connection->server));
        while (connection->next_address < place->address_count) {
                const union allow_address *address = &place->addresses[connection->next_address++];
                socklen_t size = address->any.sa_family == AF_INET ? sizeof(address->v4)
                                                                   : sizeof(address->v6);
                int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                                0);

                if (fd < 0)
                        continue;
                if (connect(fd, &address->any, size) == 0 || errno == EINPROGRESS) {
                        connection->server = fd;
                        connection->state = STATE_CONNECTING;
                        set_deadline(connection, CONNECT_MS);
                        return;
                }
                fd_close(fd);
        }
        answer(connection, "502 Bad Gateway", "sandbox: the place does not answer");
}

static void read_head(struct relay *relay, struct connection *connection)
{
        struct channel *up = &connection->up;
        ssize_t n = read(connection->client, up->data + up->end, REQUEST_HEAD_MAX - up->end);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                drop(connection);
                return;
        }
        up->end += (size_t)n;
        switch (request_parse(up->data, up->end, &connection->request)) {
        case REQUEST_INCOMPLETE:
                return;
        case REQUEST_WRONG:
                refusals_add(relay->refusals, "request that is none");
                answer(connection, "400 Bad Request", "sandbox: not a request to a proxy");
                return;
        case REQUEST_WHOLE:
                break;
        }
        connection->place =
                allow_find(relay->list, connection->request.host, connection->request.port);
        connection->next_address = 0;
        if (connection->place)
                connect_next(connection);
        else
                refuse(relay, connection);
}

static void check_connected(struct connection *connection)
{
        int failure = 0;
        socklen_t size = sizeof(failure);

        if (getsockopt(connection->server, SOL_SOCKET, SO_ERROR, &failure, &size) < 0 || failure)
                connect_next(connection);
        else
                begin_relaying(connection);
}

/* ---- moving bytes; fill and drain give false where the connection is beyond use ---- */

static bool has_room(const struct channel *channel)
{
        return !channel->has_ended &&
               (channel->end < BUFFER_SIZE || channel->start == channel->end);
}

static bool fill(struct relay *relay, struct channel *channel, int from)
{
        ssize_t n;

        if (channel->start == channel->end)
                channel->start = channel->end = 0;
        n = read(from, channel->data + channel->end, sizeof(channel->data) - channel->end);
        if (n < 0)
                return errno == EAGAIN || errno == EINTR;
        if (n == 0)
                channel->has_ended = true;
        channel->end += (size_t)n;
        relay->bytes += (uint64_t)n;
        return true;
}

static bool drain(struct channel *channel, int to)
{
        if (channel->start < channel->end) {
                ssize_t n =
                        write(to, channel->data + channel->start, channel->end - channel->start);

                if (n < 0 && errno != EAGAIN && errno != EINTR)
                        return false;
                if (n > 0)
                        channel->start += (size_t)n;
        }
        if (channel->has_ended && channel->start == channel->end && !channel->is_shut) {
                channel->is_shut = true;
                (void)shutdown(to, SHUT_WR); /* gone already is as well */
        }
        return true;
}

static void move_bytes(struct relay *relay, struct connection *connection, short client,
                       short server)
{
        struct channel *up = &connection->up, *down = &connection->down;
        bool is_usable = true;

        if (client & (POLLIN | POLLHUP | POLLERR) && has_room(up))
                is_usable = fill(relay, up, connection->client);
        if (is_usable && server & (POLLIN | POLLHUP | POLLERR) && has_room(down))
                is_usable = fill(relay, down, connection->server);
        if (is_usable)
                is_usable = drain(up, connection->server) && drain(down, connection->client);
        /* What the server has said is all: a client that keeps its side open gains nothing. */
        if (!is_usable || down->is_shut || relay->bytes > bytes_max) {
                if (relay->bytes > bytes_max)
                        refusals_add(relay->refusals, "bytes beyond the most that may go through");
                drop(connection);
                return;
        }
        set_deadline(connection, IDLE_MS);
}

/* ---- the loop ---- */

static void accept_client(struct relay *relay)
{
        int fd = accept4(relay->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        for (size_t i = 0; fd >= 0 && i < CONNECTIONS_MAX; i++) {
                struct connection *connection = &relay->connections[i];

                if (connection->state != STATE_FREE)
                        continue;
                connection->up.start = connection->up.end = 0;
                connection->down.start = connection->down.end = 0;
                connection->up.has_ended = connection->up.is_shut = false;
                connection->down.has_ended = connection->down.is_shut = false;
                connection->client = fd;
                connection->server = -1;
                connection->state = STATE_HEAD;
                set_deadline(connection, HEAD_MS);
                return;
        }
        fd_close(fd);
}

static void take_listener(struct relay *relay)
{
        uint32_t magic = 0;
        size_t count = 0;
        int fd = -1;
        int r = message_receive(relay->handover, MSG_DONTWAIT, &magic, sizeof(magic), &fd, 1,
                                &count);

        if (r < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (r == 1 && magic == MESSAGE_LISTENER && count == 1)
                relay->listener = fd_take(&fd);
        fd_close(fd);
        fd_close(fd_take(&relay->handover));
}

static short events_of_client(const struct connection *connection)
{
        short events = 0;

        if (connection->state == STATE_HEAD)
                return POLLIN;
        if (connection->state == STATE_RELAYING && has_room(&connection->up))
                events |= POLLIN;
        if (connection->down.start < connection->down.end)
                events |= POLLOUT;
        return events;
}

static short events_of_server(const struct connection *connection)
{
        short events = 0;

        if (connection->state == STATE_CONNECTING)
                return POLLOUT;
        if (connection->state != STATE_RELAYING)
                return 0;
        if (has_room(&connection->down))
                events |= POLLIN;
        if (connection->up.start < connection->up.end)
                events |= POLLOUT;
        return events;
}

static void serve(struct relay *relay, struct connection *connection, short client, short server,
                  uint64_t now)
{
        switch (connection->state) {
        case STATE_HEAD:
                if (client)
                        read_head(relay, connection);
                break;
        case STATE_CONNECTING:
                if (server)
                        check_connected(connection);
                else if (now >= connection->deadline_ns)
                        connect_next(connection);
                return;
        case STATE_RELAYING:
                if (client || server)
                        move_bytes(relay, connection, client, server);
                break;
        case STATE_ANSWERING:
                if (client &&
                    (!drain(&connection->down, connection->client) || connection->down.is_shut))
                        drop(connection);
                break;
        case STATE_FREE:
                return;
        }
        if (connection->state != STATE_FREE && now >= connection->deadline_ns)
                drop(connection);
}

/* A side that we wait nothing from is left out: its end would wake us for ever. */
static void add_item(struct pollfd *item, int fd, short events)
{
        *item = (struct pollfd){ .fd = events ? fd : -1, .events = events };
}

uint64_t relay_run(const struct allow_list *list, struct refusals *refusals)
{
        static struct relay relay;
        static struct pollfd items[3 + 2 * CONNECTIONS_MAX];

        relay.list = list;
        relay.refusals = refusals;
        relay.listener = -1;
        relay.handover = PROXY_SOCKET;
        for (size_t i = 0; i < CONNECTIONS_MAX; i++)
                relay.connections[i].client = relay.connections[i].server = -1;
        for (;;) {
                bool is_full = true, is_busy = false;
                uint64_t now;

                for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
                        struct connection *connection = &relay.connections[i];

                        is_full &= connection->state != STATE_FREE;
                        is_busy |= connection->state != STATE_FREE;
                        add_item(&items[3 + 2 * i], connection->client,
                                 events_of_client(connection));
                        add_item(&items[4 + 2 * i], connection->server,
                                 events_of_server(connection));
                }
                add_item(&items[0], PROXY_CONTROL, POLLIN);
                add_item(&items[1], relay.handover, POLLIN);
                add_item(&items[2], is_full ? -1 : relay.listener, POLLIN);
                if (poll(items, 3 + 2 * CONNECTIONS_MAX, is_busy ? 1000 : -1) < 0 && errno != EINTR)
                        return relay.bytes;
                if (items[0].revents)
                        return relay.bytes;
                now = clock_now_ns();
                for (size_t i = 0; i < CONNECTIONS_MAX; i++)
                        serve(&relay, &relay.connections[i], items[3 + 2 * i].revents,
                              items[4 + 2 * i].revents, now);
                if (items[1].revents)
                        take_listener(&relay);
                if (items[2].revents)
                        accept_client(&relay);
        }
}
