/*
 * The result as a report for a person. What the guest wrote must not drive the terminal it is shown
 * on, nor make one text look like another: control characters and those that turn the direction of
 * writing are shown escaped.
 */
#include "result/result.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

enum paint { PAINT_NONE, PAINT_BOLD, PAINT_DIM, PAINT_RED, PAINT_GREEN, PAINT_YELLOW };

static const char *const paint_codes[] = {
        [PAINT_NONE] = "",        [PAINT_BOLD] = "\033[1m",   [PAINT_DIM] = "\033[2m",
        [PAINT_RED] = "\033[31m", [PAINT_GREEN] = "\033[32m", [PAINT_YELLOW] = "\033[33m",
};

struct report {
        struct strbuf text;
        bool color;
};

/* ---- foreign text ---- */

/* Length of the UTF-8 sequence at `data`, or 0. */
static size_t sequence_length(const char *data, size_t left)
{
        for (size_t length = 1; length <= 4 && length <= left; length++)
                if (str_is_utf8(data, length))
                        return length;
        return 0;
}

/* C1 controls, marks and overrides of direction, separators of lines, the byte order mark. */
static bool is_dangerous(const unsigned char *p, size_t length)
{
        if (length == 1)
                return p[0] < 0x20 || p[0] == 0x7f;
        if (length == 2)
                return p[0] == 0xc2 && p[1] < 0xa0;
        if (length == 3 && p[0] == 0xe2 && p[1] == 0x80)
                return p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae);
        if (length == 3 && p[0] == 0xe2 && p[1] == 0x81)
                return p[2] >= 0xa6 && p[2] <= 0xa9;
        return length == 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf;
}

static void add_foreign(struct strbuf *text, const char *data, size_t length, const char *allowed)
{
        for (size_t i = 0; i < length;) {
                size_t taken = sequence_length(data + i, length - i);
                bool plain = taken && (!is_dangerous((const unsigned char *)data + i, taken) ||
                                       (data[i] && strchr(allowed, data[i])));

                taken = taken ? taken : 1;
                if (plain)
                        strbuf_add(text, data + i, taken);
                for (size_t k = 0; !plain && k < taken; k++)
                        strbuf_addf(text, "\\x%02x", (unsigned char)data[i + k]);
                i += taken;
        }
}

/* One that stands in a line of ours. */
static void add_word(struct strbuf *text, const char *word)
{
        add_foreign(text, word, strlen(word), "");
}

/* ---- parts ---- */

static void paint(struct report *report, enum paint paint)
{
        if (report->color)
                strbuf_adds(&report->text, paint_codes[paint]);
}

static void unpaint(struct report *report)
{
        if (report->color)
                strbuf_adds(&report->text, "\033[0m");
}

static void add_painted(struct report *report, enum paint color, const char *text)
{
        paint(report, color);
        add_word(&report->text, text);
        unpaint(report);
}

static enum paint outcome_paint(enum outcome outcome)
{
        switch (outcome) {
        case OUTCOME_OK:
                return PAINT_GREEN;
        case OUTCOME_CANCELLED:
                return PAINT_YELLOW;
        default:
                return PAINT_RED;
        }
}

static void add_ending(struct report *report, const struct result_step *step)
{
        add_painted(report, outcome_paint(step->outcome), outcome_name(step->outcome));
        if (step->signal > 0)
                strbuf_addf(&report->text, " (signal %d)", step->signal);
        else if (step->exit_code >= 0)
                strbuf_addf(&report->text, " (exit code %d)", step->exit_code);
}

static void add_head(struct report *report, const struct result *result)
{
        const char *name = result->title ? result->title : result->language;

        add_painted(report, PAINT_BOLD, name ? name : "unknown language");
        if (result->version) {
                strbuf_adds(&report->text, " ");
                add_word(&report->text, result->version);
        }
        if (result->backend)
                strbuf_addf(&report->text, " | %s", result->backend);
        strbuf_adds(&report->text, " | ");
        add_ending(report, &result->run);
        if (result->name) {
                strbuf_adds(&report->text, " | ");
                add_word(&report->text, result->name);
        }
        strbuf_adds(&report->text, "\n");
}

static void add_labelled(struct report *report, enum paint color, const char *label,
                         const char *text)
{
        if (!text)
                return;
        add_painted(report, color, label);
        strbuf_adds(&report->text, ": ");
        add_word(&report->text, text);
        strbuf_adds(&report->text, "\n");
}

static void add_stream(struct report *report, const char *label, const struct result_stream *stream)
{
        const struct strbuf *kept = &stream->kept;

        if (kept->length == 0 && !stream->truncated)
                return;
        paint(report, PAINT_DIM);
        strbuf_addf(&report->text, "--- %s ---", label);
        unpaint(report);
        strbuf_adds(&report->text, "\n");
        if (kept->length > 0) {
                add_foreign(&report->text, kept->data, kept->length, "\n\t");
                if (kept->data[kept->length - 1] != '\n')
                        strbuf_adds(&report->text, "\n");
        }
        if (stream->truncated) {
                paint(report, PAINT_YELLOW);
                strbuf_addf(&report->text, "[cut: %zu of %llu bytes kept]", kept->length,
                            (unsigned long long)stream->bytes);
                unpaint(report);
                strbuf_adds(&report->text, "\n");
        }
}

static void add_step(struct report *report, const struct result_step *step, const char *name,
                     const char *out_label, const char *err_label)
{
        strbuf_adds(&report->text, name);
        add_ending(report, step);
        if (step->cached)
                strbuf_adds(&report->text, ", cached\n");
        else
                strbuf_addf(&report->text, ", %.3f s\n", (double)step->usage.wall_ns / 1e9);
        add_stream(report, out_label, &step->out);
        add_stream(report, err_label, &step->err);
}

/* ---- figures ---- */

/* Short runs are told in milliseconds. */
static void add_time(struct strbuf *text, const char *label, uint64_t us)
{
        if (us < 1000000)
                strbuf_addf(text, "%s %.1f ms", label, (double)us / 1e3);
        else
                strbuf_addf(text, "%s %.2f s", label, (double)us / 1e6);
}

static void add_metrics(struct report *report, const struct result *result)
{
        const struct usage *usage = &result->run.usage;
        struct strbuf *text = &report->text;
        char size[UNITS_TEXT_MAX];

        paint(report, PAINT_DIM);
        strbuf_adds(text, "--- metrics ---");
        unpaint(report);
        add_time(text, "\ntime", usage->wall_ns / 1000);
        add_time(text, ", cpu", usage->cpu_us);
        strbuf_addf(text, ", memory %s", units_format_size(usage->memory_peak, size));
        add_time(text, ", startup", usage->startup_ns / 1000);
        strbuf_addf(text, ", processes %u", usage->processes_peak);
        strbuf_addf(text, ", read %s", units_format_size(usage->io_read_bytes, size));
        strbuf_addf(text, ", written %s\n", units_format_size(usage->io_write_bytes, size));
}

/* ---- files, protections, violations ---- */

static void add_names(struct strbuf *text, char sign, const struct strlist *names)
{
        for (size_t i = 0; i < names->count; i++) {
                strbuf_addf(text, " %c", sign);
                add_word(text, names->items[i]);
        }
}

static void add_files(struct report *report, const struct result *result)
{
        struct strbuf *text = &report->text;

        if (!result->created.count && !result->modified.count && !result->deleted.count)
                return;
        strbuf_adds(text, "files:");
        add_names(text, '+', &result->created);
        add_names(text, '~', &result->modified);
        add_names(text, '-', &result->deleted);
        strbuf_adds(text, result->files_truncated ? " and more\n" : "\n");
}

static void add_enforced(struct report *report, const struct result *result)
{
        struct strbuf *text = &report->text;
        unsigned count = 0;

        for (unsigned id = 0; id < PROTECTION_COUNT; id++) {
                if (result->protections[id].state != STATE_ENFORCED)
                        continue;
                strbuf_addf(text, "%s%s",
                            count++ ? " " : "enforced: ", protection_name((enum protection)id));
        }
        if (count)
                strbuf_adds(text, "\n");
}

static void add_missing(struct report *report, const struct result *result)
{
        for (unsigned id = 0; id < PROTECTION_COUNT; id++) {
                const struct result_protection *protection = &result->protections[id];

                if (protection->state != STATE_MISSING)
                        continue;
                paint(report, PAINT_RED);
                strbuf_addf(&report->text, "missing: %s", protection_name((enum protection)id));
                if (protection->detail[0]) {
                        strbuf_adds(&report->text, ": ");
                        add_word(&report->text, protection->detail);
                }
                unpaint(report);
                strbuf_adds(&report->text, "\n");
        }
}

static void add_violations(struct report *report, const struct result *result)
{
        for (size_t i = 0; i < result->violation_count; i++) {
                const struct result_violation *violation = &result->violations[i];

                add_painted(report, PAINT_YELLOW, "violation");
                strbuf_adds(&report->text, ": ");
                add_word(&report->text, violation->kind);
                strbuf_adds(&report->text, ": ");
                add_word(&report->text, violation->what);
                strbuf_adds(&report->text, ": ");
                add_word(&report->text, violation->why);
                strbuf_addf(&report->text, " (%llu)\n", (unsigned long long)violation->count);
        }
}

/* ---- cases ---- */

static void add_case(struct report *report, const struct result_case *one)
{
        struct strbuf *text = &report->text;
        char size[UNITS_TEXT_MAX];

        strbuf_addf(text, "case %zu", one->number);
        if (one->name) {
                strbuf_adds(text, " (");
                add_word(text, one->name);
                strbuf_adds(text, ")");
        }
        strbuf_adds(text, ": ");
        add_painted(report, str_equal(one->verdict, "accepted") ? PAINT_GREEN : PAINT_RED,
                    one->verdict);
        if (one->usage.wall_ns) {
                add_time(text, ",", one->usage.wall_ns / 1000);
                strbuf_addf(text, ", %s", units_format_size(one->usage.memory_peak, size));
        }
        if (one->message) {
                strbuf_adds(text, ": ");
                add_word(text, one->message);
        }
}

static void add_cases(struct report *report, const struct result *result)
{
        if (!result->case_count)
                return;
        paint(report, PAINT_DIM);
        strbuf_adds(&report->text, "--- cases ---");
        unpaint(report);
        strbuf_adds(&report->text, "\n");
        for (size_t i = 0; i < result->case_count; i++) {
                add_case(report, &result->cases[i]);
                strbuf_adds(&report->text, "\n");
        }
}

char *result_case_to_text(const struct result_case *one, bool color)
{
        struct report report = { .color = color };
        char *text;

        add_case(&report, one);
        text = strbuf_take(&report.text);
        strbuf_done(&report.text);
        return text;
}

/* Whether anything of the program has run, so that there are figures to show. */
static bool has_run(const struct result *result)
{
        return result->run.outcome != OUTCOME_REFUSED && result->run.outcome != OUTCOME_BLOCKED &&
               result->run.outcome != OUTCOME_COMPILE_ERROR;
}

char *result_to_text(const struct result *result, bool color)
{
        struct report report = { .color = color };
        char *text;

        add_head(&report, result);
        add_labelled(&report, outcome_paint(result->run.outcome), "message", result->message);
        add_labelled(&report, PAINT_BOLD, "hint", result->hint);
        add_labelled(&report, PAINT_BOLD, "fallback", result->fallback);
        if (result->has_deps)
                add_step(&report, &result->deps, "dependencies: ", "installer stdout",
                         "installer stderr");
        if (result->compiled)
                add_step(&report, &result->compile, "compile: ", "compiler stdout",
                         "compiler stderr");
        add_stream(&report, "stdout", &result->run.out);
        add_stream(&report, "stderr", &result->run.err);
        add_cases(&report, result);
        if (has_run(result))
                add_metrics(&report, result);
        add_files(&report, result);
        add_enforced(&report, result);
        add_missing(&report, result);
        add_violations(&report, result);
        result_analysis_line(result, &report.text);
        text = strbuf_take(&report.text);
        strbuf_done(&report.text);
        return text;
}
