/*
 * Questions to the caller's name servers, as a stub resolver asks them: one datagram to one server
 * after another, from a socket and with a number that nobody can guess. Only A and AAAA are asked.
 * Who asks what is being asked already waits for the same answer: however often a guest repeats a
 * question, servers hear it once, and nobody gets more chances to guess the number.
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
        struct dns_question question;
        struct asker *askers; /* owned */
        size_t count, capacity;
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
        network->asker_count -= query->count;
        mem_free(query->askers);
        mem_free(query);
}

/* Tells all who wait, and ends it. */
static void conclude(struct network *network, struct query *query, const struct dns_answer *answer)
{
        AUTO_FREE struct asker *askers = TAKE(query->askers);
        size_t count = query->count;

        network->asker_count -= count;
        query->count = 0;
        end_query(network, query);
        for (size_t i = 0; i < count; i++) {
                struct dns_answer copy = *answer; /* what may not be reached is taken out of it */

                resolver_answer(network, &askers[i], &copy);
        }
}

/* Asks one server; false where it cannot be asked. */
static bool ask_server(struct network *network, struct query *query, const struct server *server)
{
        const struct dns_question *question = &query->question;
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

        while (query->attempt < network->server_count * ROUNDS) {
                const struct server *server =
                        &network->servers[query->attempt++ % network->server_count];

                if (ask_server(network, query, server)) {
                        query->deadline_ns = clock_now_ns() + WAIT_MS * UINT64_C(1000000);
                        network_due(network, query->deadline_ns);
                        return;
                }
        }
        conclude(network, query, &failure);
}

static void answer_ready(struct network *network, struct watched *self)
{
        struct query *query = (struct query *)self;
        const struct dns_question *question = &query->question;

        for (int i = 0; i < DATAGRAMS_MAX; i++) {
                uint8_t data[4096];
                struct dns_answer answer;
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
                conclude(network, query, &answer);
                return;
        }
}

static bool is_same_asker(const struct asker *a, const struct asker *b)
{
        return a->stream == b->stream && a->question.id == b->question.id &&
               a->length == b->length && memcmp(&a->name, &b->name, a->length) == 0;
}

/* Has the asker wait for the answer; false where there is no room. */
static bool join(struct network *network, struct query *query, const struct asker *asker)
{
        for (size_t i = 0; i < query->count; i++)
                if (is_same_asker(&query->askers[i], asker))
                        return true; /* a datagram that was sent once more */
        if (network->asker_count >= ASKERS_MAX ||
            MEM_GROW(query->askers, query->count, query->capacity) < 0)
                return false;
        query->askers[query->count++] = *asker;
        network->asker_count++;
        return true;
}

static struct query *find_query(const struct network *network, const struct dns_question *question)
{
        for (size_t i = 0; i < QUERIES_MAX; i++) {
                struct query *query = network->queries[i];

                if (query && query->question.type == question->type &&
                    strcmp(query->question.name, question->name) == 0)
                        return query;
        }
        return NULL;
}

bool upstream_ask(struct network *network, const struct asker *asker)
{
        struct query *query = find_query(network, &asker->question);
        size_t slot = 0;

        if (query)
                return join(network, query, asker);
        while (slot < QUERIES_MAX && network->queries[slot])
                slot++;
        if (slot == QUERIES_MAX || network->server_count == 0)
                return false;
        query = mem_alloc(sizeof(*query));
        if (!query)
                return false;
        query->watched.ready = answer_ready;
        query->question = asker->question;
        query->fd = -1;
        if (!join(network, query, asker)) {
                mem_free(query);
                return false;
        }
        network->queries[slot] = query;
        ask_next(network, query);
        return true;
}

/* A stream asks one question at a time. */
void upstream_forget(struct network *network, const struct stream *stream)
{
        for (size_t i = 0; i < QUERIES_MAX; i++) {
                struct query *query = network->queries[i];

                for (size_t k = 0; query && k < query->count; k++) {
                        if (query->askers[k].stream != stream)
                                continue;
                        query->askers[k] = query->askers[--query->count];
                        network->asker_count--;
                        if (query->count == 0)
                                end_query(network, query);
                        return;
                }
        }
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
