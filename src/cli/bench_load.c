/*
 * Many at once: how many runs a second two clients get, bare and warm in turn; and how long the
 * slowest of a hundred takes that are started together.
 *
 * Theory of operation: each client is a thread that does nothing but start and wait. Slices of bare
 * and warm alternate, so that the noise of the machine hits both.
 */
#include "cli/bench.h"
#include "cli/run.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
        CLIENTS = 2,
        SLICES_MOST = 40,
        SLICE_MS = 500,
        BURST = 100,
        BURSTS = 5,
        STACK_BYTES = 1 << 20,
};

static const char *const bare_command[] = { "{tool}", "-c", "pass", NULL };
static const struct bench_row_kind warm_kind = {
        .name = "warm", .language = "python", .code = "pass", .is_warm = true
};

/* One thread's work, and what came of it. */
struct client {
        struct bench *bench;
        const char *tool;           /* of a bare client; NULL: a warm one */
        pthread_barrier_t *barrier; /* of a burst, or NULL */
        uint64_t until_ns;          /* of a slice */
        uint64_t runs, took_ns;
        struct error err;
        int failed;
};

static int run_once(struct client *client)
{
        AUTO_RESULT sbx_result *result = NULL;
        pid_t pid;
        int r;

        if (!client->tool)
                return bench_call(client->bench, &warm_kind, &result, &client->err);
        r = bench_command(client->bench, bare_command, client->tool, BENCH_ALONE, -1, &pid,
                          &client->err);
        return r < 0 ? r : bench_wait(pid, "python", &client->err);
}

static void *slice_main(void *argument)
{
        struct client *client = argument;

        while (client->failed == 0 && clock_now_ns() < client->until_ns && !run_signals_caught()) {
                client->failed = run_once(client);
                client->runs++;
        }
        return NULL;
}

static void *burst_main(void *argument)
{
        struct client *client = argument;
        uint64_t start;

        (void)pthread_barrier_wait(client->barrier);
        start = clock_now_ns();
        client->failed = run_once(client);
        client->took_ns = clock_now_ns() - start;
        return NULL;
}

/* Starts all, waits for all; the first failure of any. */
static int run_clients(struct client *clients, size_t count, void *(*main)(void *),
                       struct error *err)
{
        AUTO_FREE pthread_t *threads = mem_alloc(count * sizeof(*threads));
        pthread_attr_t attributes;
        size_t started = 0;
        int r = 0;

        if (!threads)
                return error_set_nomem(err);
        (void)pthread_attr_init(&attributes);
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
        while (started < count &&
               pthread_create(&threads[started], &attributes, main, &clients[started]) == 0)
                started++;
        if (started < count && main == burst_main)
                abort(); /* those that wait for the others would wait for ever */
        for (size_t i = 0; i < started; i++)
                (void)pthread_join(threads[i], NULL);
        (void)pthread_attr_destroy(&attributes);
        if (started < count)
                return error_set(err, SBX_ESYSTEM, "start a thread");
        for (size_t i = 0; i < count && r == 0; i++)
                if (clients[i].failed < 0)
                        r = error_set(err, SBX_ESYSTEM, "%s", clients[i].err.message);
        return r;
}

/* Warm runs so far. To look at each result would be the clients' time. */
static uint64_t count_forked(struct bench *bench)
{
        sbx_stats stats = { .size = sizeof(stats) };

        (void)sbx_engine_stats(bench->warm_engine, &stats, NULL); /* fails for no engine alone */
        return stats.forked;
}

/* Adds the runs and the time of one slice. */
static int run_slice(struct bench *bench, const char *tool, struct bench_figure *figure,
                     uint64_t *took_ns, struct error *err)
{
        uint64_t *runs = &figure->samples[figure->sample_count++], forked = count_forked(bench);
        struct client clients[CLIENTS] = { 0 };
        uint64_t start = clock_now_ns();
        int r;

        for (int i = 0; i < CLIENTS; i++)
                clients[i] = (struct client){ .bench = bench,
                                              .tool = tool,
                                              .until_ns = start + SLICE_MS * UINT64_C(1000000) };
        r = run_clients(clients, CLIENTS, slice_main, err);
        *took_ns += clock_now_ns() - start;
        for (int i = 0; i < CLIENTS; i++)
                *runs += clients[i].runs;
        figure->run_count += *runs;
        if (!tool)
                figure->cold_count += *runs - (count_forked(bench) - forked);
        return r;
}

int bench_measure_rates(struct bench *bench, struct bench_figure *figures, struct error *err)
{
        unsigned slices = bench->runs < SLICES_MOST ? bench->runs : SLICES_MOST;
        uint64_t took_ns[2] = { 0 };
        char tool[PATH_MAX];
        int r;

        if (!bench_find_interpreter(bench, "python", tool))
                return error_set(err, SBX_ESYSTEM, "python is not installed");
        for (int i = 0; i < 2; i++)
                if (!(figures[i].samples = mem_alloc(slices * sizeof(*figures[i].samples))))
                        return error_set_nomem(err);
        r = bench_warm_up(bench, &warm_kind, err);
        for (unsigned i = 0; i < slices && r == 0; i++) {
                r = run_slice(bench, tool, &figures[0], &took_ns[0], err);
                if (r == 0)
                        r = run_slice(bench, NULL, &figures[1], &took_ns[1], err);
        }
        for (int i = 0; i < 2 && r == 0; i++) {
                figures[i].measured = took_ns[i] > 0;
                figures[i].value = (double)figures[i].run_count * 1e9 / (double)took_ns[i];
        }
        return r;
}

int bench_measure_burst(struct bench *bench, struct bench_figure *figures, struct error *err)
{
        AUTO_FREE struct client *clients = mem_alloc(BURST * sizeof(*clients));
        uint64_t *samples = figures[0].samples = mem_alloc(BURST * BURSTS * sizeof(*samples));
        pthread_barrier_t barrier;
        uint64_t forked;
        size_t count = 0;
        int r;

        if (!clients || !samples)
                return error_set_nomem(err);
        r = bench_warm_up(bench, &warm_kind, err);
        if (r < 0)
                return r;
        forked = count_forked(bench);
        (void)pthread_barrier_init(&barrier, NULL, BURST); /* fails for a count of 0 alone */
        for (int round = 0; round < BURSTS && r == 0; round++) {
                for (int i = 0; i < BURST; i++)
                        clients[i] = (struct client){ .bench = bench, .barrier = &barrier };
                r = run_clients(clients, BURST, burst_main, err);
                for (int i = 0; i < BURST; i++)
                        samples[count++] = clients[i].took_ns;
        }
        (void)pthread_barrier_destroy(&barrier);
        if (r < 0 || count == 0)
                return r;
        qsort(samples, count, sizeof(*samples), bench_compare_ns);
        figures[0].value = (double)bench_percentile(samples, count, 50) / 1e9;
        figures[1].value = (double)bench_percentile(samples, count, 99) / 1e9;
        figures[0].measured = figures[1].measured = true;
        figures[0].sample_count = figures[0].run_count = figures[1].run_count = count;
        figures[0].cold_count = figures[1].cold_count = count - (count_forked(bench) - forked);
        return 0;
}
