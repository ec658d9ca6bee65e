/*
 * The resolver as the guest sees it: questions by datagram and by stream on sockets of the guest's
 * namespace. A stream is asked one question at a time; what comes meanwhile waits in the kernel.
 */
#include "network/internal.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
        BATCH = 32,
        STREAM_MESSAGE_MAX = 1024,
        STREAM_IDLE_S = 30,
        TTL_MAX = 300,
        STREAM_PAUSE_MS = 200
};

struct stream {
        struct watched watched;
        int fd;
        bool is_asking; /* a question is on its way */
        uint64_t idle_end_ns;
        size_t have;
        uint8_t data[2 + STREAM_MESSAGE_MAX];
};

static void close_stream(struct network *network, struct stream *stream)
{
        for (size_t i = 0; i < STREAMS_MAX; i++)
                if (network->streams[i] == stream)
                        network->streams[i] = NULL;
        upstream_forget(network, stream);
        network_unwatch(network, stream->fd);
        fd_close(stream->fd);
        mem_free(stream);
}

static void send_stream(struct network *network, struct stream *stream, const uint8_t *answer,
                        size_t length)
{
        uint8_t message[2 + DNS_UDP_MAX];

        message[0] = (uint8_t)(length >> 8);
        message[1] = (uint8_t)length;
        memcpy(message + 2, answer, length);
        /* A guest that does not read its answers loses the connection. */
        if (send(stream->fd, message, length + 2, MSG_DONTWAIT | MSG_NOSIGNAL) !=
            (ssize_t)length + 2)
                (void)shutdown(stream->fd, SHUT_RDWR);
        stream->is_asking = false;
        if (network_watch(network, stream->fd, EPOLLIN, &stream->watched) < 0)
                (void)shutdown(stream->fd, SHUT_RDWR);
}

void resolver_answer(struct network *network, const struct asker *asker, struct dns_answer *answer)
{
        uint8_t buffer[DNS_UDP_MAX];
        size_t length;

        if (answer->ttl > TTL_MAX)
                answer->ttl = TTL_MAX;
        if (answer->code == DNS_OK)
                decide_answer(network, asker->question.name, answer);
        length = dns_write_answer(&asker->question, answer, buffer,
                                  asker->stream ? sizeof(buffer) : asker->question.answer_max);
        if (length == 0)
                return;
        if (asker->stream)
                send_stream(network, asker->stream, buffer, length);
        else /* A guest that has no room for it asks again, as with any datagram. */
                (void)sendto(network->guest.resolver_fds[0], buffer, length,
                             MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&asker->name,
                             asker->length);
}

/* What is known without asking anybody. */
static bool knows(const char *hosts, const struct dns_question *question, struct dns_answer *answer)
{
        static const uint8_t v4[4] = { 127, 0, 0, 1 };
        const char *name = question->name;
        bool is_v4 = question->type == DNS_A;

        if (question->type != DNS_A && question->type != DNS_AAAA)
                return true; /* there are no records but addresses */
        if (strcmp(name, "localhost") != 0 && !str_has_suffix(name, ".localhost"))
                return host_lookup(hosts, name, is_v4, answer);
        answer->count = 1; /* the guest's own */
        answer->addresses[0] = address_v4(v4);
        if (!is_v4) {
                memset(&answer->addresses[0], 0, sizeof(answer->addresses[0]));
                answer->addresses[0].bytes[15] = 1;
        }
        return true;
}

static bool is_local(const char *name)
{
        return strcmp(name, "localhost") == 0 || str_has_suffix(name, ".localhost");
}

static void ask(struct network *network, const struct asker *asker)
{
        const struct dns_question *question = &asker->question;
        struct dns_answer answer = { .code = DNS_NO_SUCH_NAME };
        const char *why;

        if (!question->is_ordinary_name || !question->name[0]) {
                resolver_answer(network, asker, &answer);
                return;
        }
        why = is_local(question->name) ? NULL : decide_name(network, question->name);
        if (why) {
                network_refuse(network, why, "resolve %s", question->name);
                resolver_answer(network, asker, &answer);
                return;
        }
        answer.code = DNS_OK;
        if (knows(network->hosts, question, &answer)) {
                resolver_answer(network, asker, &answer);
        } else if (!upstream_ask(network, asker)) {
                answer.code = DNS_SERVER_FAILURE;
                resolver_answer(network, asker, &answer);
        }
}

/* A message of the guest's: asks, or answers at once what is wrong with it. False: not even that.
 */
static bool hear(struct network *network, const uint8_t *data, size_t length, struct asker *asker)
{
        int code = dns_parse_question(data, length, &asker->question);
        struct dns_answer answer = { 0 };

        if (code < 0)
                return false;
        if (code == DNS_OK) {
                ask(network, asker);
        } else {
                answer.code = (enum dns_code)code;
                resolver_answer(network, asker, &answer);
        }
        return true;
}

void resolver_datagram_ready(struct network *network, struct watched *self)
{
        uint8_t data[DNS_UDP_MAX];

        (void)self;
        for (int i = 0; i < BATCH; i++) {
                struct asker asker = { .length = sizeof(asker.name) };
                ssize_t n = recvfrom(network->guest.resolver_fds[0], data, sizeof(data),
                                     MSG_DONTWAIT, (struct sockaddr *)&asker.name, &asker.length);

                if (n < 0)
                        return;
                (void)hear(network, data, (size_t)n, &asker); /* noise gets no answer */
        }
}

/* Takes the next message from a stream where one is complete. */
static bool hear_stream(struct network *network, struct stream *stream)
{
        struct asker asker = { .stream = stream };
        size_t length = stream->have >= 2 ? (size_t)stream->data[0] << 8 | stream->data[1] : 0;
        uint8_t message[STREAM_MESSAGE_MAX];

        if (stream->have < 2)
                return true;
        if (length == 0 || length > STREAM_MESSAGE_MAX)
                return false;
        if (stream->have < length + 2)
                return true;
        memcpy(message, stream->data + 2, length);
        stream->have = 0;
        stream->is_asking = true;
        network_unwatch(network, stream->fd); /* until it is answered */
        return hear(network, message, length, &asker);
}

static void stream_ready(struct network *network, struct watched *self)
{
        struct stream *stream = (struct stream *)self;
        size_t have = stream->have;
        size_t wanted = have < 2 ? 2 : 2 + ((size_t)stream->data[0] << 8 | stream->data[1]);
        ssize_t n;

        if (wanted > sizeof(stream->data)) {
                close_stream(network, stream);
                return;
        }
        n = recv(stream->fd, stream->data + have, wanted - have, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                close_stream(network, stream);
                return;
        }
        stream->have += (size_t)n;
        stream->idle_end_ns = clock_now_ns() + STREAM_IDLE_S * UINT64_C(1000000000);
        if (!hear_stream(network, stream))
                close_stream(network, stream);
}

static void pause_streams(struct network *network)
{
        network_unwatch(network, network->guest.resolver_fds[1]);
        network->streams_wait = true;
        network_due(network, clock_now_ns() + STREAM_PAUSE_MS * UINT64_C(1000000));
}

void resolver_stream_ready(struct network *network, struct watched *self)
{
        int fd = accept4(network->guest.resolver_fds[1], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct stream *stream = NULL;
        size_t slot = 0;

        (void)self;
        if (fd < 0) {
                /* Whoever waits there would be told of again at once, and still not be let in. */
                if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                        pause_streams(network);
                return;
        }
        while (slot < STREAMS_MAX && network->streams[slot])
                slot++;
        if (slot < STREAMS_MAX)
                stream = mem_alloc(sizeof(*stream));
        if (!stream) {
                fd_close(fd);
                return;
        }
        stream->watched.ready = stream_ready;
        stream->fd = fd;
        stream->idle_end_ns = clock_now_ns() + STREAM_IDLE_S * UINT64_C(1000000000);
        network->streams[slot] = stream;
        network_due(network, stream->idle_end_ns);
        if (network_watch(network, fd, EPOLLIN, &stream->watched) < 0)
                close_stream(network, stream);
}

void resolver_expire(struct network *network, uint64_t now)
{
        if (network->streams_wait) {
                network->streams_wait = false;
                if (network_watch(network, network->guest.resolver_fds[1], EPOLLIN,
                                  &network->streams_listener) < 0)
                        pause_streams(network);
        }
        for (size_t i = 0; i < STREAMS_MAX; i++) {
                struct stream *stream = network->streams[i];

                if (stream && !stream->is_asking && stream->idle_end_ns <= now)
                        close_stream(network, stream);
                else if (stream)
                        network_due(network, stream->idle_end_ns > now ? stream->idle_end_ns
                                                                       : now + 1000000000);
        }
}

void resolver_done(struct network *network)
{
        for (size_t i = 0; i < STREAMS_MAX; i++)
                if (network->streams[i])
                        close_stream(network, network->streams[i]);
}
