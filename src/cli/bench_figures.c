/* What is measured beside the rows, group by group. */
#include "cli/bench.h"
#include "cli/run.h"

#include <stdio.h>

static const struct bench_figure streams[] = {
        { .name = "pipe", .title = "1 GiB of output into a pipe", .unit = BENCH_BYTES_PER_SECOND },
        { .name = "file", .title = "1 GiB of output into a file", .unit = BENCH_BYTES_PER_SECOND },
};
static const struct bench_figure rates[] = {
        { .name = "rate-bare",
          .title = "two clients, python3 -c pass, bare",
          .unit = BENCH_RUNS_PER_SECOND },
        { .name = "rate-warm",
          .title = "two clients, the same, sbx_run, warm",
          .unit = BENCH_RUNS_PER_SECOND },
};
static const struct bench_figure burst[] = {
        { .name = "burst-median",
          .title = "100 at once, four slots, median",
          .unit = BENCH_SECONDS },
        { .name = "burst-p99", .title = "100 at once, four slots, p99", .unit = BENCH_SECONDS },
};
static const struct bench_figure memory[] = {
        { .name = "engine-memory", .title = "idle engine, resident", .unit = BENCH_BYTES },
        { .name = "container-memory",
          .title = "a container kept ready, with its copy of Python",
          .unit = BENCH_BYTES },
        { .name = "parked-memory", .title = "a parked Python", .unit = BENCH_BYTES },
        { .name = "slot-memory", .title = "a warm Python slot of four", .unit = BENCH_BYTES },
};

static const struct bench_figure network[] = {
        { .name = "network-host",
          .title = "512 MiB over a connection, host's network",
          .unit = BENCH_BYTES_PER_SECOND },
        { .name = "network-allowed",
          .title = "the same, allowed by a rule",
          .unit = BENCH_BYTES_PER_SECOND },
        { .name = "connect-host", .title = "a connect, host's network", .unit = BENCH_SECONDS },
        { .name = "connect-allowed",
          .title = "the same, allowed by a rule",
          .unit = BENCH_SECONDS },
        { .name = "connect-added", .title = "what that adds", .unit = BENCH_SECONDS },
};

static const struct group {
        const char *word; /* for --only */
        const struct bench_figure *figures;
        size_t count;
        int (*measure)(struct bench *bench, struct bench_figure *figures, struct error *err);
} groups[] = {
        { "stream", streams, ARRAY_SIZE(streams), bench_measure_streams },
        { "rate", rates, ARRAY_SIZE(rates), bench_measure_rates },
        { "burst", burst, ARRAY_SIZE(burst), bench_measure_burst },
        { "memory", memory, ARRAY_SIZE(memory), bench_measure_memory },
        { "network", network, ARRAY_SIZE(network), bench_measure_network },
};

_Static_assert(ARRAY_SIZE(streams) + ARRAY_SIZE(rates) + ARRAY_SIZE(burst) + ARRAY_SIZE(memory) +
                               ARRAY_SIZE(network) <=
                       BENCH_FIGURES_MAX,
               "every figure has its place");

void bench_figures_words(struct strbuf *names)
{
        for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
                strbuf_addf(names, "%s%s", i ? "," : "", groups[i].word);
}

size_t bench_figures_init(struct bench_figure figures[BENCH_FIGURES_MAX], const char *only)
{
        size_t count = 0;

        for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
                for (size_t j = 0; j < groups[i].count; j++) {
                        figures[count] = groups[i].figures[j];
                        figures[count++].chosen = bench_is_listed(only, groups[i].word);
                }
        }
        return count;
}

void bench_figures_measure(struct bench *bench, struct bench_figure *figures, size_t count)
{
        struct bench_figure *next = figures;

        for (size_t i = 0; i < ARRAY_SIZE(groups) && next < figures + count; i++) {
                struct error err = { 0 };
                int r = 0;

                if (next->chosen && !run_signals_caught())
                        r = groups[i].measure(bench, next, &err);
                for (size_t j = 0; j < groups[i].count; j++, next++)
                        if (r < 0 && !next->measured)
                                (void)snprintf(next->reason, sizeof(next->reason), "failed: %.240s",
                                               err.message);
        }
}

void bench_figures_done(struct bench_figure *figures, size_t count)
{
        for (size_t i = 0; i < count; i++)
                mem_free(figures[i].samples);
}
