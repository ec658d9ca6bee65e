/* The report of static analysis for a person. */
#include "cli/check.h"
#include "base/mem.h"

#include <string.h>

static const char *const level_colors[] = { "32", "36", "33", "31", "1;31" };

static const char *text_of(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

static long long number_of(const json_t *object, const char *key)
{
        return (long long)json_integer_value(json_object_get(object, key));
}

/* What comes from the source cannot steer the terminal. */
static void add_plain(struct strbuf *out, const char *text)
{
        for (; *text; text++)
                strbuf_add(out, (unsigned char)*text < 0x20 || *text == 0x7f ? "?" : text, 1);
}

static void add_colored(struct strbuf *out, bool color, const char *code, const char *text)
{
        if (color)
                strbuf_addf(out, "\033[%sm", code);
        add_plain(out, text);
        if (color)
                strbuf_adds(out, "\033[0m");
}

/* The line with its tabs as spaces, and a caret under the column (counted in bytes). */
static void add_source(struct strbuf *out, const json_t *finding, bool color)
{
        const char *source = text_of(finding, "source");
        long long column = number_of(finding, "column"), end = number_of(finding, "end_column");
        long long length = (long long)strlen(source), marks = 0;

        strbuf_adds(out, "    ");
        for (const char *p = source; *p; p++)
                strbuf_add(out, (unsigned char)*p < 0x20 ? " " : p, 1);
        strbuf_adds(out, "\n");
        if (column < 1 || column > length)
                return; /* beyond what is shown of a long line */
        strbuf_adds(out, "    ");
        for (long long i = 0; i < column - 1; i++)
                if (((unsigned char)source[i] & 0xc0) != 0x80)
                        strbuf_adds(out, " ");
        if (color)
                strbuf_adds(out, "\033[1m");
        strbuf_adds(out, "^");
        for (long long i = column; i < end - 1 && i < length && marks < 60; i++)
                if (((unsigned char)source[i] & 0xc0) != 0x80) {
                        strbuf_adds(out, "~");
                        marks++;
                }
        strbuf_adds(out, color ? "\033[0m\n" : "\n");
}

static void add_finding(struct strbuf *out, const struct check_report *check, const json_t *finding,
                        bool color)
{
        const char *severity = text_of(finding, "severity");
        const char *file = text_of(finding, "file");
        int level = check_level(severity);

        if (!*file)
                file = check->file ? check->file : "code";
        add_plain(out, file);
        strbuf_addf(out, ":%lld:%lld: ", number_of(finding, "line"), number_of(finding, "column"));
        add_colored(out, color, level_colors[level < 0 ? 0 : level], severity);
        strbuf_adds(out, ": ");
        add_plain(out, text_of(finding, "sentence"));
        strbuf_adds(out, ": ");
        add_plain(out, text_of(finding, "what"));
        strbuf_addf(out, "%s [",
                    json_is_true(json_object_get(finding, "guess")) ? " (likely)" : "");
        add_plain(out, text_of(finding, "rule"));
        strbuf_adds(out, "]\n");
        add_source(out, finding, color);
        strbuf_adds(out, "    ");
        add_plain(out, text_of(finding, "recommendation"));
        strbuf_adds(out, "\n");
}

static void add_names(struct strbuf *out, const json_t *report, const char *key, const char *title)
{
        const json_t *list = json_object_get(report, key);
        size_t index;
        json_t *item;

        if (json_array_size(list) == 0)
                return;
        strbuf_addf(out, "%s: ", title);
        json_array_foreach((json_t *)list, index, item)
        {
                if (index > 0)
                        strbuf_adds(out, ", ");
                if (index >= 40) {
                        strbuf_addf(out, "and %zu more", json_array_size(list) - index);
                        break;
                }
                add_plain(out, text_of(item, "name"));
                if (json_is_true(json_object_get(item, "guess")))
                        strbuf_adds(out, " (likely)");
        }
        strbuf_adds(out, "\n");
}

static void add_errors(struct strbuf *out, const struct check_report *check)
{
        size_t index;
        json_t *error;

        json_array_foreach(json_object_get(check->report, "syntax_errors"), index, error)
        {
                const char *file = text_of(error, "file");

                add_plain(out, *file ? file : check->file ? check->file : "code");
                strbuf_addf(out, ":%lld:%lld: syntax: ", number_of(error, "line"),
                            number_of(error, "column"));
                add_plain(out, text_of(error, "message"));
                strbuf_adds(out, "\n");
        }
}

void check_text(const struct check_report *check, bool color, struct strbuf *out)
{
        const json_t *report = check->report;
        const char *risk = text_of(report, "risk");
        long long dropped = number_of(report, "dropped");
        int level = check_level(risk);
        size_t index;
        json_t *finding, *reason;

        json_array_foreach(json_object_get(report, "findings"), index, finding)
        {
                add_finding(out, check, finding, color);
        }
        if (dropped > 0)
                strbuf_addf(out, "and %lld more findings\n", dropped);
        add_errors(out, check);
        add_names(out, report, "imports", "imports");
        add_names(out, report, "commands", "commands");
        if (*text_of(report, "reason")) {
                strbuf_adds(out, "not analysed: ");
                add_plain(out, text_of(report, "reason"));
                strbuf_adds(out, "\n");
                return;
        }
        strbuf_adds(out, "risk: ");
        add_colored(out, color, level_colors[level < 0 ? 0 : level], risk);
        json_array_foreach(json_object_get(report, "reasons"), index, reason)
        {
                strbuf_adds(out, index == 0 ? " (" : "; ");
                add_plain(out, json_string_value(reason));
        }
        strbuf_adds(out, index > 0 ? ")\n" : "\n");
}
