#include "cli/run.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/units.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { REPORT_NEVER, REPORT_UNLESS_QUIET, REPORT_ALWAYS };

/* A program that exited has said what it had to say itself. */
static int words_for(const char *status)
{
        static const struct {
                const char *status;
                int words;
        } table[] = {
                { "ok", REPORT_NEVER },
                { "failed", REPORT_NEVER },
                { "refused", REPORT_ALWAYS },
                { "internal_error", REPORT_ALWAYS },
        };

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                if (str_equal(status, table[i].status))
                        return table[i].words;
        return REPORT_UNLESS_QUIET;
}

static json_t *parse_result(const sbx_result *result, struct error *err)
{
        sbx_error *failure = NULL;
        char *text = sbx_result_format(result, "jsonline", false, &failure);
        json_t *root;

        if (!text) {
                (void)report_take(err, failure);
                return NULL;
        }
        root = json_loads(text, JSON_ALLOW_NUL, NULL);
        sbx_string_free(text);
        if (!root)
                (void)error_set_nomem(err);
        return root;
}

static const char *text_of(const json_t *object, const char *key, const char *otherwise)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : otherwise;
}

/* What the compiler, or the installer, said: in the raw form nobody else shows it. */
static void write_compiler_output(const json_t *compile)
{
        static const char *const streams[] = { "stdout", "stderr" };

        if (!str_equal(text_of(compile, "encoding", NULL), "utf-8"))
                return;
        for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
                const json_t *text = json_object_get(compile, streams[i]);

                if (json_is_string(text)) /* a failure has nowhere to be told */
                        (void)fd_write_all(2, json_string_value(text), json_string_length(text));
        }
}

static void report_cut(const json_t *root, const char *stream, const char *title)
{
        const json_t *limit = json_object_get(json_object_get(root, "limits"), stream);
        char flag[32], count[32], kept[UNITS_TEXT_MAX], written[UNITS_TEXT_MAX], line[160];

        (void)snprintf(flag, sizeof(flag), "%s_truncated", stream);
        (void)snprintf(count, sizeof(count), "%s_bytes", stream);
        if (!json_is_true(json_object_get(root, flag)))
                return;
        (void)snprintf(line, sizeof(line), "%s: cut after the limit of %s, %s were written", title,
                       units_format_size((uint64_t)json_number_value(limit), kept),
                       units_format_size((uint64_t)json_number_value(json_object_get(root, count)),
                                         written));
        report_line(line, "--output-limit SIZE sets the limit");
}

int run_report_streams(const sbx_result *result, bool quiet, struct error *err)
{
        bool compile_failed = str_equal(sbx_result_status(result), "compile_error");
        json_t *root;

        if (!compile_failed &&
            (quiet || (!sbx_result_truncated(result, 1) && !sbx_result_truncated(result, 2))))
                return 0; /* nothing to tell: the common case reads no JSON */
        root = parse_result(result, err);
        if (!root)
                return err->code;
        if (compile_failed)
                write_compiler_output(json_object_get(
                        root, json_is_null(json_object_get(root, "compile")) ? "deps" : "compile"));
        /* Where the limit ended the program, that is the outcome, and told as such. */
        if (!quiet && !str_equal(sbx_result_status(result), "output_limit")) {
                report_cut(root, "stdout", "standard output");
                report_cut(root, "stderr", "standard error");
        }
        json_decref(root);
        return 0;
}

void run_report_outcome(const sbx_result *result, enum output_form form, bool quiet)
{
        const char *status = sbx_result_status(result);
        const char *message = sbx_result_message(result);
        int words = words_for(status);

        /* The report for a person has the message in it; the others are read by programs, and a
         * refusal is to be seen beside them. */
        if (form == OUTPUT_TEXT || words == REPORT_NEVER)
                return;
        if (words == REPORT_UNLESS_QUIET && (quiet || form != OUTPUT_RAW))
                return;
        report_line(message ? message : status, sbx_result_hint(result));
}

void run_report_missing(const sbx_result *result)
{
        char *names = sbx_result_missing(result);
        char line[512];

        if (!names)
                return;
        (void)snprintf(line, sizeof(line), "not in force for this run: %s", names);
        report_line(line, NULL);
        sbx_string_free(names);
}

void run_report_warnings(const sbx_result *result)
{
        enum { SHOWN = 5 };
        const char *text = sbx_result_analysis(result);
        json_t *report = text ? json_loads(text, 0, NULL) : NULL, *finding;
        size_t index, shown = 0;

        /* What was blocked has been said. */
        json_array_foreach(json_object_get(report, "findings"), index, finding)
        {
                const char *severity = text_of(finding, "severity", "");
                AUTO_STRBUF struct strbuf line = { 0 };

                if ((strcmp(severity, "high") != 0 && strcmp(severity, "critical") != 0) ||
                    str_equal(sbx_result_status(result), "blocked") || shown++ >= SHOWN)
                        continue;
                strbuf_addf(&line, "warning: %s: %s (line %lld)", text_of(finding, "sentence", ""),
                            text_of(finding, "what", ""),
                            (long long)json_integer_value(json_object_get(finding, "line")));
                report_line(line.data ? line.data : "warning", NULL);
        }
        if (shown > SHOWN)
                report_line("warning: there is more; 'sandbox check' tells all", NULL);
        json_decref(report);
}

void run_report_figures(const sbx_result *result)
{
        bool color = report_is_colored(2);
        char memory[UNITS_TEXT_MAX], line[256];
        int length;

        length = snprintf(
                line, sizeof(line), "%s%s: %.1f ms, cpu %.1f ms, memory %s%s\n",
                color ? "\033[2m" : "", sbx_result_status(result),
                sbx_result_execution_time(result) * 1e3, sbx_result_cpu_time(result) * 1e3,
                units_format_size(sbx_result_memory_used(result), memory), color ? "\033[0m" : "");
        (void)fd_write_all(2, line, (size_t)length); /* nowhere left to complain */
}

static void add_protections(struct strbuf *out, const json_t *protections)
{
        size_t index;
        json_t *item;

        json_array_foreach(protections, index, item)
        {
                const char *detail = text_of(item, "detail", NULL);
                bool enforced = str_equal(text_of(item, "state", NULL), "enforced");

                strbuf_addf(out, "%c %-18s%s%s%s\n", enforced ? '+' : '-',
                            text_of(item, "name", "?"),
                            enforced ? text_of(item, "by", "") : "missing", detail ? ": " : "",
                            detail ? detail : "");
        }
}

static void add_limits(struct strbuf *out, json_t *limits)
{
        static const char *const sizes[] = { "memory", "disk", "stdout", "stderr" };
        const char *name;
        json_t *value;

        json_object_foreach(limits, name, value)
        {
                char text[UNITS_TEXT_MAX];
                bool is_size = false;

                if (!json_is_number(value))
                        continue;
                for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
                        is_size = is_size || strcmp(name, sizes[i]) == 0;
                (void)snprintf(text, sizeof(text), "%.12g", json_number_value(value));
                if (is_size)
                        units_format_size((uint64_t)json_number_value(value), text);
                strbuf_addf(out, "  %-18s%s%s\n", name, text,
                            str_has_prefix(name, "timeout") || str_has_suffix(name, "_time") ? " s"
                                                                                             : "");
        }
}

int run_report_details(const sbx_result *result, struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        json_t *root = parse_result(result, err);

        if (!root)
                return err->code;
        strbuf_addf(&out, "sandbox: run %s: %s %s, backend %s, warm start: %s\n",
                    text_of(root, "id", "?"), text_of(root, "language", "?"),
                    text_of(root, "version", ""), text_of(root, "backend", "none"),
                    text_of(json_object_get(root, "metrics"), "warm", "none"));
        strbuf_adds(&out, "limits:\n");
        add_limits(&out, json_object_get(root, "limits"));
        strbuf_adds(&out, "protections:\n");
        add_protections(&out, json_object_get(root, "protections"));
        json_decref(root);
        if (out.failed)
                return error_set_nomem(err);
        (void)fd_write_all(2, out.data, out.length); /* nowhere left to complain */
        return 0;
}
