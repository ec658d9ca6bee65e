/* The bars, and whether they are met. */
#include "cli/bench.h"
#include "base/mem.h"
#include "base/str.h"

const struct bench_bar bench_bars[] = {
        { "sandbox run of a static binary, cold, against bare: at most 4x", "sandbox", "bare",
          false, 4.0 },
        { "sandbox run of a static binary, cold, against bwrap: faster", "sandbox", "bwrap", false,
          1.0 },
        { "warm Python hello through the library, against bare: at most 0.25x", "python-warm",
          "python-bare", false, 0.25 },
        { "warm Python hello, sandbox run with a keeper, against bare: at most 0.6x",
          "python-keeper", "python-bare", false, 0.6 },
        { "warm pandas use, against bare: at most 0.05x", "pandas-warm", "pandas-bare", false,
          0.05 },
        { "warm Node hello, against bare: at most 0.3x", "node-warm", "node-bare", false, 0.3 },
        { "warm Java hello, against bare: at most 0.3x", "java-warm", "java-bare", false, 0.3 },
        { "warm Python on wasm through the library, against bare: at most 0.35x",
          "wasm-python-warm", "python-bare", false, 0.35 },
        { "warm JavaScript on wasm through the library, against bare node: at most 0.1x",
          "wasm-javascript-warm", "node-bare", false, 0.1 },
        { "sandbox run of Python on wasm, cold, against bare: at most 1x", "wasm-python",
          "python-bare", false, 1.0 },
        { "a loop of Python on wasm, fuel counted, against bare: at most 4x", "wasm-loop",
          "loop-bare", false, 4.0 },
        { "sandbox run on docker, cold, against docker run: at most 0.9x", "docker-backend",
          "docker", false, 0.9 },
        { "a run on docker in a container that waited, against docker run: at most 0.5x",
          "docker-warm", "docker", false, 0.5 },
        { "warm Python runs a second, two clients, against bare: at least 4x", "rate-warm",
          "rate-bare", true, 4.0 },
        { "memory of the idle engine: under 10 MB", "engine-memory", NULL, false, 10e6 },
        { "memory of a warm Python slot: under 3 MB private", "slot-memory", NULL, false, 3e6 },
        { "throughput of an allowed connection, against the host's network: at least 0.95x",
          "network-allowed", "network-host", true, 0.95 },
        { "what control adds to a connect: under 1 ms", "connect-added", NULL, false, 0.001 },
        { "output into a pipe: at least 1 GB/s", "pipe", NULL, true, 1e9 },
        { "output into a file: at least 1 GB/s", "file", NULL, true, 1e9 },
};
const size_t bench_bar_count = ARRAY_SIZE(bench_bars);

static bool find_value(const struct bench_all *all, const char *name, double *ret_value)
{
        const struct bench_row *row = bench_rows_find(all->rows, all->row_count, name);

        if (row && row->measured) {
                *ret_value = (double)row->median_ns / 1e9;
                return true;
        }
        for (size_t i = 0; i < all->figure_count; i++) {
                if (all->figures[i].measured && str_equal(all->figures[i].name, name)) {
                        *ret_value = all->figures[i].value;
                        return true;
                }
        }
        return false;
}

const char *bench_reason(const struct bench_all *all, const char *name)
{
        const struct bench_row *row = bench_rows_find(all->rows, all->row_count, name);

        if (row)
                return row->chosen && !row->measured ? row->reason : NULL;
        for (size_t i = 0; i < all->figure_count; i++) {
                const struct bench_figure *figure = &all->figures[i];

                if (str_equal(figure->name, name))
                        return figure->chosen && !figure->measured ? figure->reason : NULL;
        }
        return NULL;
}

bool bench_bar_value(const struct bench_all *all, const struct bench_bar *bar, double *ret_value)
{
        double value, over = 1.0;

        if (!find_value(all, bar->value, &value) ||
            (bar->over && (!find_value(all, bar->over, &over) || over <= 0)))
                return false;
        *ret_value = value / over;
        return true;
}

bool bench_bar_is_met(const struct bench_bar *bar, double value)
{
        return bar->at_least ? value >= bar->bound : value <= bar->bound;
}
