/* How many, how long, how much: per language and status. */
#include "historian/historian.h"
#include "cli/table.h"
#include "base/mem.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 14, BAR_WIDTH = 40, GROUPS_MAX = 4096 };

/* Runs of one language with one status. */
struct group {
        char language[48], status[32];
        double *times, *memories; /* owned */
        size_t count, times_capacity, memories_capacity;
};

struct stats {
        struct group *groups; /* owned */
        size_t count, capacity;
        size_t buckets[BUCKETS]; /* of time: under 1 ms, under 2 ms, ... doubling */
        size_t total;
};

static struct group *find_group(struct stats *stats, const char *language, const char *status)
{
        struct group *group;

        for (size_t i = 0; i < stats->count; i++)
                if (strcmp(stats->groups[i].language, language) == 0 &&
                    strcmp(stats->groups[i].status, status) == 0)
                        return &stats->groups[i];
        if (stats->count >= GROUPS_MAX ||
            MEM_GROW(stats->groups, stats->count, stats->capacity) < 0)
                return NULL;
        group = &stats->groups[stats->count++];
        *group = (struct group){ 0 };
        (void)snprintf(group->language, sizeof(group->language), "%s", language);
        (void)snprintf(group->status, sizeof(group->status), "%s", status);
        return group;
}

static int add_entry(void *context, uint64_t seq, const char *line, struct error *err)
{
        struct stats *stats = context;
        json_t *record = json_loads(line, 0, NULL);
        double time = json_number_value(json_object_get(record, "execution_time"));
        char language[48], status[32];
        struct group *group;
        int bucket;

        (void)seq;
        group = find_group(stats, show_text(record, "language", language, sizeof(language)),
                           show_text(record, "status", status, sizeof(status)));
        if (!record || !group || MEM_GROW(group->times, group->count, group->times_capacity) < 0 ||
            MEM_GROW(group->memories, group->count, group->memories_capacity) < 0) {
                json_decref(record);
                return error_set_nomem(err);
        }
        group->times[group->count] = time;
        group->memories[group->count++] = json_number_value(json_object_get(record, "memory_used"));
        bucket = time < 1e-3 ? 0 : (int)floor(log2(time * 1e3)) + 1;
        stats->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
        stats->total++;
        json_decref(record);
        return 0;
}

static int by_value(const void *a, const void *b)
{
        double one = *(const double *)a, other = *(const double *)b;

        return one < other ? -1 : one > other;
}

static int by_name(const void *a, const void *b)
{
        const struct group *one = a, *other = b;
        int r = strcmp(one->language, other->language);

        return r ? r : strcmp(one->status, other->status);
}

/* The nearest rank: the smallest value that so many percent do not exceed. */
static double percentile(const double *sorted, size_t count, double percent)
{
        size_t rank = (size_t)ceil(percent / 100 * (double)count);

        return sorted[rank > 0 ? rank - 1 : 0];
}

static void sort(struct stats *stats)
{
        if (stats->count > 1)
                qsort(stats->groups, stats->count, sizeof(*stats->groups), by_name);
        for (size_t i = 0; i < stats->count; i++) {
                struct group *group = &stats->groups[i];

                qsort(group->times, group->count, sizeof(double), by_value);
                qsort(group->memories, group->count, sizeof(double), by_value);
        }
}

static json_t *group_value(const struct group *group)
{
        return json_pack("{s:s, s:s, s:I, s:{s:f, s:f, s:f}, s:{s:I, s:I, s:I}}", "language",
                         group->language, "status", group->status, "count",
                         (json_int_t)group->count, "execution_time", "p50",
                         percentile(group->times, group->count, 50), "p95",
                         percentile(group->times, group->count, 95), "p99",
                         percentile(group->times, group->count, 99), "memory_used", "p50",
                         (json_int_t)percentile(group->memories, group->count, 50), "p95",
                         (json_int_t)percentile(group->memories, group->count, 95), "p99",
                         (json_int_t)percentile(group->memories, group->count, 99));
}

static void add_json(struct strbuf *out, const struct stats *stats, uint64_t lost)
{
        json_t *groups = json_array(), *root;
        char *text;

        for (size_t i = 0; i < stats->count; i++)
                (void)json_array_append_new(groups, group_value(&stats->groups[i]));
        root = json_pack("{s:I, s:I, s:o}", "records", (json_int_t)stats->total, "lost",
                         (json_int_t)lost, "groups", groups);
        text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
        json_decref(root);
        strbuf_addf(out, "%s\n", text ? text : "");
        out->failed |= !text;
        free(text); /* jansson's own allocation */
}

static void add_group(struct strbuf *out, const struct group *group)
{
        char sizes[3][UNITS_TEXT_MAX];
        static const double percents[] = { 50, 95, 99 };

        strbuf_addf(out, "%-10.12s %-13s %6zu", group->language, group->status, group->count);
        for (size_t i = 0; i < ARRAY_SIZE(percents); i++)
                strbuf_addf(out, " %8.1f",
                            percentile(group->times, group->count, percents[i]) * 1e3);
        for (size_t i = 0; i < ARRAY_SIZE(percents); i++)
                strbuf_addf(out, " %9s",
                            units_format_size((uint64_t)percentile(group->memories, group->count,
                                                                   percents[i]),
                                              sizes[i]));
        strbuf_adds(out, "\n");
}

static void bucket_label(int bucket, char *text, size_t size)
{
        if (bucket == BUCKETS - 1)
                (void)snprintf(text, size, ">= %d ms", 1 << (bucket - 1));
        else
                (void)snprintf(text, size, "< %d ms", 1 << bucket);
}

static size_t largest_bucket(const struct stats *stats)
{
        size_t most = 1;

        for (int i = 0; i < BUCKETS; i++)
                most = stats->buckets[i] > most ? stats->buckets[i] : most;
        return most;
}

static void add_plot(struct strbuf *out, const struct stats *stats)
{
        size_t most = largest_bucket(stats);

        strbuf_adds(out, "\nexecution time:\n");
        for (int i = 0; i < BUCKETS; i++) {
                size_t width = (stats->buckets[i] * BAR_WIDTH + most - 1) / most;
                char label[32];

                bucket_label(i, label, sizeof(label));
                strbuf_addf(out, "%12s |", label);
                for (size_t w = 0; w < width; w++)
                        strbuf_adds(out, "█");
                strbuf_addf(out, " %zu\n", stats->buckets[i]);
        }
}

static void add_table(struct strbuf *out, const struct stats *stats, uint64_t lost)
{
        strbuf_addf(out, "%-10s %-13s %6s %8s %8s %8s %9s %9s %9s\n", "LANGUAGE", "STATUS", "COUNT",
                    "P50 (MS)", "P95", "P99", "P50 (MEM)", "P95", "P99");
        for (size_t i = 0; i < stats->count; i++)
                add_group(out, &stats->groups[i]);
        if (stats->total)
                add_plot(out, stats);
        if (lost)
                strbuf_addf(out, "\n%llu records could not be written\n", (unsigned long long)lost);
}

static void add_svg(struct strbuf *out, const struct stats *stats)
{
        size_t most = largest_bucket(stats);

        strbuf_addf(out,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 %d\" "
                    "font-family=\"sans-serif\" font-size=\"12\">\n"
                    "<title>Execution time of %zu runs</title>\n"
                    "<text x=\"10\" y=\"20\">Execution time of %zu runs</text>\n",
                    40 + BUCKETS * 20, stats->total, stats->total);
        for (int i = 0; i < BUCKETS; i++) {
                char label[32];
                int y = 34 + i * 20;

                bucket_label(i, label, sizeof(label));
                strbuf_addf(out,
                            "<text x=\"90\" y=\"%d\" text-anchor=\"end\">%s%s</text>"
                            "<rect x=\"100\" y=\"%d\" width=\"%.1f\" height=\"14\" "
                            "fill=\"#3b7dd8\"/><text x=\"%.1f\" y=\"%d\">%zu</text>\n",
                            y + 12, label[0] == '<' ? "&lt;" : "&gt;", label + 1, y,
                            480.0 * (double)stats->buckets[i] / (double)most,
                            106 + 480.0 * (double)stats->buckets[i] / (double)most, y + 12,
                            stats->buckets[i]);
        }
        strbuf_adds(out, "</svg>\n");
}

static int write_stats(const struct archive *archive, struct stats *stats, struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        uint64_t lost = history_lost(&archive->history);
        enum list_form form;
        int r = list_form(archive->options, &form, err);

        if (r == 0 && form != LIST_TABLE && form != LIST_JSON)
                r = error_set(err, SBX_EINVAL, "history stats: has the forms table, json and svg");
        if (r == 0 && options_given(archive->options, "svg") &&
            (options_given(archive->options, "json") || options_given(archive->options, "output")))
                r = error_set(err, SBX_EINVAL, "more than one of '--output', '--json', '--svg'");
        if (r < 0)
                return r;
        sort(stats);
        if (options_given(archive->options, "svg"))
                add_svg(&out, stats);
        else if (form == LIST_JSON)
                add_json(&out, stats, lost);
        else
                add_table(&out, stats, lost);
        if (out.failed)
                return error_set_nomem(err);
        return report_write(archive->cli, out.data, out.length, err);
}

int history_stats(struct archive *archive, struct error *err)
{
        struct stats stats = { 0 };
        struct query query;
        int r = query_init(&query, archive, 0, err);

        if (r == 0)
                r = query_run(archive, &query, 0, add_entry, &stats, err);
        if (r == 0)
                r = write_stats(archive, &stats, err);
        for (size_t i = 0; i < stats.count; i++) {
                mem_free(stats.groups[i].times);
                mem_free(stats.groups[i].memories);
        }
        mem_free(stats.groups);
        query_done(&query);
        return r;
}
