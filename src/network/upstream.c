/*
 * Questions to the caller's name servers, as a stub resolver asks them: one datagram to one server
 * after another, from a socket and with a number that nobody can guess. Only A and AAAA are asked.
 */
#include "network/internal.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

enum { ROUNDS = 2, WAIT_MS = 2000, DATAGRAMS_MAX = 8 };

struct query {
        struct watched watched;
        struct asker asker;
        int fd; /* connected to the server that is asked now; or -1 */
        uint16_t id;
        unsigned attempt; /* of server_count * ROUNDS */
        uint64_t deadline_ns;
};

static void answer_ready(struct network *network, struct watched *self);

static void end_query(struct network *network, struct query *query)
{
        for (size_t i = 0; i < QUERIES_MAX; i++)
                if (network->queries[i] == query)
                        network->queries[i] = NULL;
        if (query->fd >= 0)
                network_unwatch(network, query->fd);
        fd_close(query->fd);
        mem_free(query);
}

/* Asks one server; false where it cannot be asked. */
static bool ask_server(struct network *network, struct query *query, const struct server *server)
{
        const struct dns_question *question = &query->asker.question;
        uint8_t message[DNS_UDP_PLAIN];
        size_t length;

        if (query->fd >= 0)
                network_unwatch(network, query->fd);
        fd_close(query->fd);
        query->fd = socket(server->name.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (query->fd < 0 || getrandom(&query->id, sizeof(query->id), 0) != sizeof(query->id))
                return false;
        length = dns_write_question(query->id, question->name, (enum dns_type)question->type,
                                    message, sizeof(message));
        return length > 0 &&
               connect(query->fd, (const struct sockaddr *)&server->name, server->length) == 0 &&
               send(query->fd, message, length, MSG_NOSIGNAL) == (ssize_t)length &&
               network_watch(network, query->fd, EPOLLIN, &query->watched) == 0;
}

/* Asks the next server that can be asked; gives up after the last one. */
static void ask_next(struct network *network, struct query *query)
{
        struct dns_answer failure = { .code = DNS_SERVER_FAILURE };
        struct asker asker;

        while (query->attempt < network->server_count * ROUNDS) {
                const struct server *server =
                        &network->servers[query->attempt++ % network->server_count];

                if (ask_server(network, query, server)) {
                        query->deadline_ns = clock_now_ns() + WAIT_MS * UINT64_C(1000000);
                        network_due(network, query->deadline_ns);
                        return;
                }
        }
        asker = query->asker;
        end_query(network, query);
        resolver_answer(network, &asker, &failure);
}

static void answer_ready(struct network *network, struct watched *self)
{
        struct query *query = (struct query *)self;
        const struct dns_question *question = &query->asker.question;

        for (int i = 0; i < DATAGRAMS_MAX; i++) {
                uint8_t data[4096];
                struct dns_answer answer;
                struct asker asker;
                ssize_t n = recv(query->fd, data, sizeof(data), MSG_DONTWAIT);

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                if (n < 0) {
                        ask_next(network, query); /* nobody listens there */
                        return;
                }
                /* What is no answer to this question is not looked at. */
                if (!dns_parse_answer(data, (size_t)n, query->id, question->name,
                                      (enum dns_type)question->type, &answer))
                        continue;
                if (answer.code != DNS_OK && answer.code != DNS_NO_SUCH_NAME) {
                        ask_next(network, query); /* another one may know */
                        return;
                }
                asker = query->asker;
                end_query(network, query);
                resolver_answer(network, &asker, &answer);
                return;
        }
}

bool upstream_ask(struct network *network, const struct asker *asker)
{
        struct query *query;
        size_t slot = 0;

        while (slot < QUERIES_MAX && network->queries[slot])
                slot++;
        if (slot == QUERIES_MAX || network->server_count == 0)
                return false;
        query = mem_alloc(sizeof(*query));
        if (!query)
                return false;
        query->watched.ready = answer_ready;
        query->asker = *asker;
        query->fd = -1;
        network->queries[slot] = query;
        ask_next(network, query);
        return true;
}

void upstream_forget(struct network *network, const struct stream *stream)
{
        for (size_t i = 0; i < QUERIES_MAX; i++)
                if (network->queries[i] && network->queries[i]->asker.stream == stream)
                        end_query(network, network->queries[i]);
}

void upstream_expire(struct network *network, uint64_t now)
{
        for (size_t i = 0; i < QUERIES_MAX; i++) {
                struct query *query = network->queries[i];

                if (query && query->deadline_ns <= now)
                        ask_next(network, query);
                else if (query)
                        network_due(network, query->deadline_ns);
        }
}

void upstream_done(struct network *network)
{
        for (size_t i = 0; i < QUERIES_MAX; i++)
                if (network->queries[i])
                        end_query(network, network->queries[i]);
}
