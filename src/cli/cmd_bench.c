/* `sandbox bench`: measures, and says which of our own bars are met. */
#include "cli/bench.h"
#include "cli/run.h"
#include "base/mem.h"
#include "base/units.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct option bench_options[] = {
        OPTION_HEADING("Options"),
        { "runs", 0, "N", false, false, "measurements of each row; default 200" },
        { "only", 0, "WORDS", false, false,
          "measure these alone, separated by commas; an unknown word lists them" },
        { "compare", 0, NULL, false, false, "also measure the other sandboxes that are installed" },
        { "raw", 0, "FILE", false, false, "write every sample there, as JSON" },
        { "svg", 0, "FILE", false, false, "draw the medians there, on a logarithmic scale" },
        { "check", 0, "FILE", false, false,
          "fail where a ratio is more than 30 % worse than in this file" },
        { "json", 0, NULL, false, false, "as JSON" },
        OPTION_HELP,
        OPTION_END,
};

static int parse_runs(const struct options *options, unsigned *ret_runs, struct error *err)
{
        const char *text = options_value(options, "runs");
        uint64_t runs = BENCH_RUNS_DEFAULT;
        int r = text ? units_parse_count(text, &runs, err) : 0;

        if (r == 0 && (runs < 1 || runs > BENCH_RUNS_MAX))
                r = error_set(err, SBX_EINVAL, "'%s' is not between 1 and %d", text,
                              BENCH_RUNS_MAX);
        if (r < 0) {
                error_prefix(err, "option '--runs'");
                return r;
        }
        *ret_runs = (unsigned)runs;
        return 0;
}

/* Before minutes were spent on it. */
static int look_at_check(const struct options *options, struct error *err)
{
        const char *check = options_value(options, "check");

        if (!check || access(check, R_OK) == 0)
                return 0;
        (void)error_set(err, SBX_EINVAL, "option '--check': '%s': %s", check, strerror(errno));
        error_hint(err,
                   "'sandbox bench --json | bench/baseline' makes such a file, of the sources");
        return SBX_EINVAL;
}

static int measure_all(struct bench *bench, struct bench_all *all, struct error *err)
{
        int r = bench_open(bench, err);

        if (r < 0)
                return r;
        /* A signal ends the rounds; what was made is removed all the same. */
        run_signals_catch(NULL);
        r = bench_rows_measure(bench, all->rows, all->row_count, err);
        if (r == 0)
                bench_figures_measure(bench, all->figures, all->figure_count);
        return r;
}

static int tell(const struct cli *cli, const struct options *options, const struct bench *bench,
                const struct bench_all *all, struct error *err)
{
        const char *raw = options_value(options, "raw"), *svg = options_value(options, "svg");
        const char *check = options_value(options, "check");
        int r;

        if (run_signals_caught())
                return 128 + run_signals_caught();
        r = raw ? bench_write_raw(all, raw, err) : 0;
        if (r == 0 && svg)
                r = bench_write_chart(all, svg, err);
        if (r == 0)
                r = bench_print(cli, bench, all, options_given(options, "json"), err);
        return r == 0 && check ? bench_check(all, check, err) : r;
}

static int bench_main(const struct cli *cli, const struct options *options, struct error *err)
{
        const char *only = options_value(options, "only");
        struct bench *bench = mem_alloc(sizeof(*bench));
        struct bench_all *all = mem_alloc(sizeof(*all));
        int r = bench && all ? 0 : error_set_nomem(err);

        if (bench)
                bench->hello_fd = bench->error_fd = -1;
        if (r == 0)
                r = setup_refuse_words(options, err);
        if (r == 0)
                r = parse_runs(options, &bench->runs, err);
        if (r == 0)
                r = look_at_check(options, err);
        if (r == 0) {
                all->figure_count = bench_figures_init(all->figures, only);
                all->row_count =
                        bench_rows_init(all->rows, only, options_given(options, "compare"), err);
                r = all->row_count ? measure_all(bench, all, err) : SBX_EINVAL;
        }
        if (r == 0)
                r = tell(cli, options, bench, all, err);
        if (all) {
                bench_rows_done(all->rows, all->row_count);
                bench_figures_done(all->figures, all->figure_count);
        }
        if (bench)
                bench_close(bench);
        mem_free(bench);
        mem_free(all);
        return r;
}

const struct command cmd_bench = {
        .name = "bench",
        .summary = "the overhead on this machine, beside other sandboxes that are installed",
        .synopsis = "[--runs N] [--only WORDS] [--compare] [--raw FILE] [--svg FILE] [--check "
                    "FILE] [--json]",
        .uses_groups = true,
        .options = bench_options,
        .run = bench_main,
};
