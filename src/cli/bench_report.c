/* What was measured, as text and as JSON. */
#include "cli/bench.h"
#include "base/fd.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

/* How a figure is shown: divided, with so many digits, and the word behind it. */
static const struct shown {
        double divisor;
        int digits;
        const char *word;
} units[] = {
        [BENCH_BYTES_PER_SECOND] = { 1e9, 2, "GB/s" },
        [BENCH_RUNS_PER_SECOND] = { 1, 0, "runs/s" },
        [BENCH_SECONDS] = { 1e-3, 3, "ms" },
        [BENCH_BYTES] = { 1e6, 2, "MB" },
};

static void add_row_text(const struct bench_row *row, struct strbuf *out)
{
        if (!row->measured) {
                strbuf_addf(out, "%-38s  %s\n", row->kind->title, row->reason);
                return;
        }
        strbuf_addf(out, "%-38s%12.3f%12.3f", row->kind->title, (double)row->median_ns / 1e6,
                    (double)row->p99_ns / 1e6);
        if (row->ratio > 0)
                strbuf_addf(out, "%9.2fx", row->ratio);
        else
                strbuf_addf(out, "%10s", "-");
        strbuf_addf(out, "%8zu", row->sample_count);
        if (row->cold_count > 0)
                strbuf_addf(out, "  (%zu of them cold)", row->cold_count);
        strbuf_adds(out, "\n");
}

static void add_rows_text(const struct bench_all *all, struct strbuf *out)
{
        strbuf_addf(out, "%-38s%12s%12s%10s%8s\n", "", "median ms", "p99 ms", "ratio", "runs");
        for (size_t i = 0; i < all->row_count; i++)
                if (all->rows[i].chosen)
                        add_row_text(&all->rows[i], out);
}

static void add_figures_text(const struct bench_all *all, struct strbuf *out)
{
        for (size_t i = 0; i < all->figure_count; i++) {
                const struct bench_figure *figure = &all->figures[i];
                const struct shown *shown = &units[figure->unit];

                if (!figure->chosen)
                        continue;
                if (figure->measured)
                        strbuf_addf(out, "%-38s%12.*f %s", figure->title, shown->digits,
                                    figure->value / shown->divisor, shown->word);
                else
                        strbuf_addf(out, "%-38s  %s", figure->title, figure->reason);
                if (figure->cold_count > 0)
                        strbuf_addf(out, "  (%zu of %zu runs cold)", figure->cold_count,
                                    figure->run_count);
                strbuf_adds(out, "\n");
        }
}

static const struct shown *unit_of(const struct bench_all *all, const char *name)
{
        for (size_t i = 0; i < all->figure_count; i++)
                if (str_equal(all->figures[i].name, name))
                        return &units[all->figures[i].unit];
        return &units[BENCH_SECONDS];
}

static void add_bars_text(const struct bench_all *all, struct strbuf *out)
{
        unsigned others = 0;

        strbuf_adds(out, "\n");
        for (size_t i = 0; i < bench_bar_count; i++) {
                const struct bench_bar *bar = &bench_bars[i];
                const struct shown *shown = unit_of(all, bar->value);
                double value;

                if (!bench_bar_value(all, bar, &value)) {
                        bool failed = bench_reason(all, bar->value) ||
                                      (bar->over && bench_reason(all, bar->over));

                        others += !failed;
                        if (failed)
                                strbuf_addf(out, "not measured  %s\n", bar->what);
                        continue;
                }
                strbuf_addf(out, "%-14s%s ", bench_bar_is_met(bar, value) ? "met" : "not met",
                            bar->what);
                if (bar->over)
                        strbuf_addf(out, "(%.2fx)\n", value);
                else
                        strbuf_addf(out, "(%.2f %s)\n", value / shown->divisor, shown->word);
        }
        if (others > 0)
                strbuf_addf(out, "(%u others were not to be measured)\n", others);
}

/* Those of other sandboxes: what they are and exactly how they were called. */
static void add_commands_text(const struct bench *bench, const struct bench_all *all,
                              struct strbuf *out)
{
        bool headed = false;

        for (size_t i = 0; i < all->row_count; i++) {
                const struct bench_row *row = &all->rows[i];

                if (!row->measured || !row->kind->tool || !row->kind->command)
                        continue;
                strbuf_adds(out, headed ? "" : "\n");
                headed = true;
                strbuf_addf(out, "%s%s%s: ", row->kind->name, *row->version ? ", " : "",
                            row->version);
                bench_command_line(bench, row->kind->command, row->tool, out);
                strbuf_adds(out, "\n");
        }
}

static json_t *measured_json(const struct bench *bench, const struct bench_row *row)
{
        AUTO_STRBUF struct strbuf line = { 0 };
        json_t *json =
                json_pack("{s:s, s:s, s:b, s:f, s:f, s:o, s:s, s:I, s:I}", "name", row->kind->name,
                          "title", row->kind->title, "measured", 1, "median",
                          (double)row->median_ns / 1e9, "p99", (double)row->p99_ns / 1e9, "ratio",
                          row->ratio > 0 ? json_real(row->ratio) : json_null(), "baseline",
                          row->kind->baseline, "runs", (json_int_t)row->sample_count, "cold",
                          (json_int_t)row->cold_count);

        if (row->kind->command) {
                bench_command_line(bench, row->kind->command, row->tool, &line);
                (void)json_object_set_new(json, "command", json_string(line.data));
        }
        if (*row->version)
                (void)json_object_set_new(json, "version", json_string(row->version));
        return json;
}

static json_t *row_json(const struct bench *bench, const struct bench_row *row)
{
        if (!row->measured)
                return json_pack("{s:s, s:s, s:b, s:s}", "name", row->kind->name, "title",
                                 row->kind->title, "measured", 0, "reason", row->reason);
        return measured_json(bench, row);
}

static json_t *figure_json(const struct bench_figure *figure)
{
        static const char *const names[] = {
                [BENCH_BYTES_PER_SECOND] = "bytes_per_second",
                [BENCH_RUNS_PER_SECOND] = "runs_per_second",
                [BENCH_SECONDS] = "seconds",
                [BENCH_BYTES] = "bytes",
        };

        if (!figure->measured)
                return json_pack("{s:s, s:s, s:b, s:s}", "name", figure->name, "title",
                                 figure->title, "measured", 0, "reason", figure->reason);
        return json_pack("{s:s, s:s, s:b, s:f, s:s, s:I, s:I}", "name", figure->name, "title",
                         figure->title, "measured", 1, "value", figure->value, "unit",
                         names[figure->unit], "runs", (json_int_t)figure->run_count, "cold",
                         (json_int_t)figure->cold_count);
}

static json_t *bar_json(const struct bench_all *all, const struct bench_bar *bar)
{
        double value;

        if (!bench_bar_value(all, bar, &value))
                return json_pack("{s:s, s:f, s:n, s:n}", "what", bar->what, "bound", bar->bound,
                                 "value", "met");
        return json_pack("{s:s, s:f, s:f, s:b}", "what", bar->what, "bound", bar->bound, "value",
                         value, "met", (int)bench_bar_is_met(bar, value));
}

static json_t *machine_json(void)
{
        struct utsname name;

        if (uname(&name) < 0)
                return json_null();
        return json_pack("{s:s, s:s, s:I}", "kernel", name.release, "machine", name.machine, "cpus",
                         (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static char *format_json(const struct bench *bench, const struct bench_all *all)
{
        json_t *rows = json_array(), *figures = json_array(), *met = json_array();
        json_t *root;
        char *text;

        for (size_t i = 0; i < all->row_count; i++)
                if (all->rows[i].chosen)
                        (void)json_array_append_new(rows, row_json(bench, &all->rows[i]));
        for (size_t i = 0; i < all->figure_count; i++)
                if (all->figures[i].chosen)
                        (void)json_array_append_new(figures, figure_json(&all->figures[i]));
        for (size_t i = 0; i < bench_bar_count; i++)
                (void)json_array_append_new(met, bar_json(all, &bench_bars[i]));
        root = json_pack("{s:o, s:o, s:o, s:o}", "machine", machine_json(), "rows", rows, "figures",
                         figures, "bars", met);
        text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
        json_decref(root);
        return text;
}

int bench_print(const struct cli *cli, const struct bench *bench, const struct bench_all *all,
                bool json, struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        char *text = NULL;

        if (json) {
                text = format_json(bench, all);
                if (!text)
                        return error_set_nomem(err);
                strbuf_addf(&out, "%s\n", text);
                free(text); /* jansson's own allocation */
        } else {
                add_rows_text(all, &out);
                add_figures_text(all, &out);
                add_bars_text(all, &out);
                add_commands_text(bench, all, &out);
        }
        if (out.failed)
                return error_set_nomem(err);
        return report_write(cli, out.data, out.length, err);
}

static void add_samples(const char *name, const uint64_t *samples, size_t count, bool *first,
                        struct strbuf *out)
{
        if (count == 0)
                return;
        strbuf_addf(out, "%s\n\"%s\": [", *first ? "" : ",", name);
        for (size_t i = 0; i < count; i++)
                strbuf_addf(out, "%s%llu", i ? ", " : "", (unsigned long long)samples[i]);
        strbuf_adds(out, "]");
        *first = false;
}

int bench_write_raw(const struct bench_all *all, const char *path, struct error *err)
{
        AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        AUTO_STRBUF struct strbuf out = { 0 };
        bool first = true;

        if (fd < 0)
                return error_set_errno(err, "open '%s'", path);
        strbuf_adds(&out, "{\"unit\": \"ns\", \"rows\": {");
        for (size_t i = 0; i < all->row_count; i++)
                if (all->rows[i].measured)
                        add_samples(all->rows[i].kind->name, all->rows[i].samples,
                                    all->rows[i].sample_count, &first, &out);
        /* Runs that each half second had, of rates. */
        strbuf_adds(&out, "\n}, \"figures\": {");
        first = true;
        for (size_t i = 0; i < all->figure_count; i++)
                add_samples(all->figures[i].name, all->figures[i].samples,
                            all->figures[i].sample_count, &first, &out);
        strbuf_adds(&out, "\n}}\n");
        if (out.failed)
                return error_set_nomem(err);
        if (fd_write_all(fd, out.data, out.length) < 0)
                return error_set_errno(err, "write '%s'", path);
        return 0;
}
