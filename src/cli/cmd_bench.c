/* `sandbox bench`: measures, and says which of our own bars are met. */
#include "cli/bench.h"
#include "cli/run.h"
#include "base/mem.h"
#include "base/units.h"

#include <jansson.h>
#include <string.h>

static const struct option bench_options[] = {
        OPTION_HEADING("Options"),
        { "runs", 0, "N", false, false, "measurements of each row; default 200" },
        { "only", 0, "WORDS", false, false,
          "measure these rows alone, separated by commas; 'stream' is the throughput" },
        { "json", 0, NULL, false, false, "as JSON" },
        OPTION_HELP,
        OPTION_END,
};

struct bench_all {
        struct bench_row rows[BENCH_ROWS_MAX];
        size_t row_count;
        struct bench_stream streams[BENCH_STREAMS];
        bool streams_chosen;
};

/* What we hold ourselves to: the median of `row` over that of `over`, at most `bound`; or a stream
 * at least `bound` bytes a second. */
static const struct bar {
        const char *what;
        const char *row;
        const char *over;
        const char *stream;
        double bound;
} bars[] = {
        { "sandbox run of a static binary, cold, against bare: at most 4x", "sandbox", "bare", NULL,
          4.0 },
        { "sandbox run of a static binary, cold, against bwrap: faster", "sandbox", "bwrap", NULL,
          1.0 },
        { "Python hello through the library, against bare: at most 0.25x", "python-library",
          "python-bare", NULL, 0.25 },
        { "output into a pipe: at least 1 GB/s", NULL, NULL, "pipe", 1e9 },
        { "output into a file: at least 1 GB/s", NULL, NULL, "file", 1e9 },
};

/* The figure a bar is about; false where it was not measured. */
static bool bar_value(const struct bench_all *all, const struct bar *bar, double *ret_value)
{
        const struct bench_row *row, *over;

        for (size_t i = 0; bar->stream && i < BENCH_STREAMS; i++) {
                if (str_equal(all->streams[i].name, bar->stream) && all->streams[i].measured) {
                        *ret_value = all->streams[i].bytes_per_second;
                        return true;
                }
        }
        row = bench_rows_find(all->rows, all->row_count, bar->row);
        over = bench_rows_find(all->rows, all->row_count, bar->over);
        if (!row || !over || !row->measured || !over->measured || !over->median_ns)
                return false;
        *ret_value = (double)row->median_ns / (double)over->median_ns;
        return true;
}

static bool bar_is_met(const struct bar *bar, double value)
{
        return bar->stream ? value >= bar->bound : value <= bar->bound;
}

static void add_rows_text(const struct bench_all *all, struct strbuf *out)
{
        strbuf_addf(out, "%-38s%12s%12s%10s%8s\n", "", "median ms", "p99 ms", "ratio", "runs");
        for (size_t i = 0; i < all->row_count; i++) {
                const struct bench_row *row = &all->rows[i];

                if (!row->chosen)
                        continue;
                if (!row->measured)
                        strbuf_addf(out, "%-38s  %s\n", row->kind->title, row->reason);
                else if (row->ratio > 0)
                        strbuf_addf(out, "%-38s%12.3f%12.3f%9.2fx%8zu\n", row->kind->title,
                                    (double)row->median_ns / 1e6, (double)row->p99_ns / 1e6,
                                    row->ratio, row->sample_count);
                else
                        strbuf_addf(out, "%-38s%12.3f%12.3f%10s%8zu\n", row->kind->title,
                                    (double)row->median_ns / 1e6, (double)row->p99_ns / 1e6, "-",
                                    row->sample_count);
        }
}

static void add_streams_text(const struct bench_all *all, struct strbuf *out)
{
        for (size_t i = 0; all->streams_chosen && i < BENCH_STREAMS; i++) {
                const struct bench_stream *stream = &all->streams[i];

                if (stream->measured)
                        strbuf_addf(out, "%-38s%12.2f GB/s\n", stream->title,
                                    stream->bytes_per_second / 1e9);
                else
                        strbuf_addf(out, "%-38s  %s\n", stream->title, stream->reason);
        }
}

static void add_bars_text(const struct bench_all *all, struct strbuf *out)
{
        strbuf_adds(out, "\n");
        for (size_t i = 0; i < ARRAY_SIZE(bars); i++) {
                double value;

                if (!bar_value(all, &bars[i], &value))
                        strbuf_addf(out, "not measured  %s\n", bars[i].what);
                else if (bars[i].stream)
                        strbuf_addf(out, "%-14s%s (%.2f GB/s)\n",
                                    bar_is_met(&bars[i], value) ? "met" : "not met", bars[i].what,
                                    value / 1e9);
                else
                        strbuf_addf(out, "%-14s%s (%.2fx)\n",
                                    bar_is_met(&bars[i], value) ? "met" : "not met", bars[i].what,
                                    value);
        }
}

static json_t *row_json(const struct bench_row *row)
{
        if (!row->measured)
                return json_pack("{s:s, s:s, s:b, s:s}", "name", row->kind->name, "title",
                                 row->kind->title, "measured", 0, "reason", row->reason);
        return json_pack("{s:s, s:s, s:b, s:f, s:f, s:f, s:s, s:I}", "name", row->kind->name,
                         "title", row->kind->title, "measured", 1, "median",
                         (double)row->median_ns / 1e9, "p99", (double)row->p99_ns / 1e9, "ratio",
                         row->ratio, "baseline", row->kind->baseline, "runs",
                         (json_int_t)row->sample_count);
}

static json_t *stream_json(const struct bench_stream *stream)
{
        if (!stream->measured)
                return json_pack("{s:s, s:b, s:s}", "name", stream->name, "measured", 0, "reason",
                                 stream->reason);
        return json_pack("{s:s, s:b, s:f}", "name", stream->name, "measured", 1, "bytes_per_second",
                         stream->bytes_per_second);
}

static json_t *bar_json(const struct bench_all *all, const struct bar *bar)
{
        double value;

        if (!bar_value(all, bar, &value))
                return json_pack("{s:s, s:f, s:n, s:n}", "what", bar->what, "bound", bar->bound,
                                 "value", "met");
        return json_pack("{s:s, s:f, s:f, s:b}", "what", bar->what, "bound", bar->bound, "value",
                         value, "met", (int)bar_is_met(bar, value));
}

static char *format_json(const struct bench_all *all)
{
        json_t *rows = json_array(), *streams = json_array(), *met = json_array();
        json_t *root;
        char *text;

        for (size_t i = 0; i < all->row_count; i++)
                if (all->rows[i].chosen)
                        (void)json_array_append_new(rows, row_json(&all->rows[i]));
        for (size_t i = 0; all->streams_chosen && i < BENCH_STREAMS; i++)
                (void)json_array_append_new(streams, stream_json(&all->streams[i]));
        for (size_t i = 0; i < ARRAY_SIZE(bars); i++)
                (void)json_array_append_new(met, bar_json(all, &bars[i]));
        root = json_pack("{s:o, s:o, s:o}", "rows", rows, "streams", streams, "bars", met);
        text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
        json_decref(root);
        return text;
}

static int print_all(const struct cli *cli, const struct bench_all *all, bool json,
                     struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        char *text = NULL;

        if (json) {
                text = format_json(all);
                if (!text)
                        return error_set_nomem(err);
                strbuf_addf(&out, "%s\n", text);
                free(text); /* jansson's own allocation */
        } else {
                add_rows_text(all, &out);
                add_streams_text(all, &out);
                add_bars_text(all, &out);
        }
        if (out.failed)
                return error_set_nomem(err);
        return report_write(cli, out.data, out.length, err);
}

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

static int measure_all(struct bench *bench, struct bench_all *all, unsigned runs, struct error *err)
{
        int r = bench_open(bench, err);

        if (r < 0)
                return r;
        /* A signal ends the rounds; what was made is removed all the same. */
        run_signals_catch(NULL);
        r = bench_rows_measure(bench, all->rows, all->row_count, runs, err);
        if (r == 0 && all->streams_chosen && !run_signals_caught())
                bench_stream_measure(bench, all->streams);
        return r;
}

static int bench_main(const struct cli *cli, const struct options *options, struct error *err)
{
        const char *only = options_value(options, "only");
        struct bench *bench = mem_alloc(sizeof(*bench));
        struct bench_all *all = mem_alloc(sizeof(*all));
        unsigned runs;
        int r = bench && all ? 0 : error_set_nomem(err);

        if (bench)
                bench->hello_fd = -1;
        if (r == 0)
                r = setup_refuse_words(options, err);
        if (r == 0)
                r = parse_runs(options, &runs, err);
        if (r == 0) {
                all->row_count = bench_rows_init(all->rows, only, err);
                all->streams_chosen = !only || strstr(only, "stream");
                r = all->row_count ? measure_all(bench, all, runs, err) : SBX_EINVAL;
        }
        if (r == 0)
                r = run_signals_caught() ? 128 + run_signals_caught()
                                         : print_all(cli, all, options_given(options, "json"), err);
        if (all)
                bench_rows_done(all->rows, all->row_count);
        if (bench)
                bench_close(bench);
        mem_free(bench);
        mem_free(all);
        return r;
}

const struct command cmd_bench = {
        .name = "bench",
        .summary = "the overhead on this machine, beside other sandboxes that are installed",
        .synopsis = "[--runs N] [--only WORDS] [--json]",
        .uses_groups = true,
        .options = bench_options,
        .run = bench_main,
};
