/*
 * What an allowed connection costs: the same static client with the host's network and with an
 * allowlist, in turns, against servers of ours on this machine's loopback. The client tells what
 * it measured: the throughput of a connection that stands, and how long a connect takes.
 */
#include "cli/bench.h"
#include "cli/run.h"
#include "base/fd.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS = 5, CHUNK = 1 << 18 };
#define NETWORK_BYTES UINT64_C(536870912)

struct server {
        int fd;
        uint16_t port;
        uint64_t bytes; /* to each who connects */
        pthread_t thread;
};

static void *serve(void *argument)
{
        static const char chunk[CHUNK];
        const struct server *server = argument;

        for (;;) {
                AUTO_CLOSE int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);

                if (fd < 0)
                        return NULL; /* it was shut down */
                for (uint64_t left = server->bytes; left > 0;) {
                        ssize_t n =
                                send(fd, chunk, left < CHUNK ? (size_t)left : CHUNK, MSG_NOSIGNAL);

                        if (n <= 0)
                                break;
                        left -= (uint64_t)n;
                }
        }
}

static int open_server(struct server *server, uint64_t bytes, struct error *err)
{
        struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t length = sizeof(name);

        server->bytes = bytes;
        server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (server->fd < 0 || bind(server->fd, (const struct sockaddr *)&name, length) < 0 ||
            listen(server->fd, 128) < 0 ||
            getsockname(server->fd, (struct sockaddr *)&name, &length) < 0 ||
            pthread_create(&server->thread, NULL, serve, server) != 0) {
                fd_close(fd_take(&server->fd));
                return error_set_errno(err, "open a server");
        }
        server->port = ntohs(name.sin_port);
        return 0;
}

static void close_server(struct server *server)
{
        if (server->fd < 0)
                return;
        (void)shutdown(server->fd, SHUT_RDWR); /* wakes the thread */
        (void)pthread_join(server->thread, NULL);
        fd_close(server->fd);
}

/* Runs the client; the number that it prints. */
static int measure_once(struct bench *bench, const struct server *server, bool is_allowed,
                        double *ret_value, struct error *err)
{
        char place[32], port[8], text[64] = "";
        const char *const command[] = { "{self}",
                                        "run",
                                        "--backend",
                                        "container",
                                        "--quiet",
                                        is_allowed ? "--allow" : "--network",
                                        is_allowed ? place : "host",
                                        "{hello}",
                                        "--",
                                        server->bytes ? "read" : "connect",
                                        port,
                                        NULL };
        AUTO_CLOSE int fd = memfd_create("bench-network", MFD_CLOEXEC);
        pid_t pid;
        int r;

        (void)snprintf(place, sizeof(place), "127.0.0.1:%u", server->port);
        (void)snprintf(port, sizeof(port), "%u", server->port);
        if (fd < 0)
                return error_set_errno(err, "make a file");
        r = bench_command(bench, command, "", BENCH_ALONE, fd, &pid, err);
        if (r == 0)
                r = bench_wait(pid, "network", err);
        if (r < 0)
                return r;
        if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
                return error_set(err, SBX_ESYSTEM, "the client said nothing");
        *ret_value = strtod(text, NULL);
        return 0;
}

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* The medians, the host's network first. */
static int measure(struct bench *bench, const struct server *server, double ret_medians[2],
                   struct error *err)
{
        double values[2][TURNS];

        for (int i = 0; i < TURNS; i++)
                for (int allowed = 0; allowed < 2; allowed++)
                        if (run_signals_caught() ||
                            measure_once(bench, server, allowed, &values[allowed][i], err) < 0)
                                return SBX_ESYSTEM;
        for (int i = 0; i < 2; i++) {
                qsort(values[i], TURNS, sizeof(values[i][0]), compare);
                ret_medians[i] = values[i][TURNS / 2];
        }
        return 0;
}

int bench_measure_network(struct bench *bench, struct bench_figure *figures, struct error *err)
{
        struct server talking = { .fd = -1 }, silent = { .fd = -1 };
        double rates[2], seconds[2];
        int r = open_server(&talking, NETWORK_BYTES, err);

        if (r == 0)
                r = open_server(&silent, 0, err);
        if (r == 0)
                r = measure(bench, &talking, rates, err);
        if (r == 0)
                r = measure(bench, &silent, seconds, err);
        close_server(&talking);
        close_server(&silent);
        if (r < 0)
                return r;
        figures[0].value = rates[0];
        figures[1].value = rates[1];
        figures[2].value = seconds[0];
        figures[3].value = seconds[1];
        figures[4].value = seconds[1] > seconds[0] ? seconds[1] - seconds[0] : 0;
        for (int i = 0; i < 5; i++)
                figures[i].measured = true;
        return 0;
}
