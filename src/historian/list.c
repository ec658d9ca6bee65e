/* Records as a table, JSON, lines or CSV. */
#include "historian/historian.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

enum { LIST_DEFAULT = 50, FLUSH_BYTES = 1 << 20 };

int list_form(const struct options *options, enum list_form *ret_form, struct error *err)
{
        static const char *const names[] = { "table", "json", "jsonl", "csv" };
        const char *name = options_value(options, "output");
        char shown[80];
        int r;

        if (name && options_given(options, "json"))
                return error_set(err, SBX_EINVAL, "more than one of '--output', '--json'");
        if (!name)
                name = options_given(options, "json") ? "json" : "table";
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                if (strcmp(name, names[i]) == 0) {
                        *ret_form = (enum list_form)i;
                        return 0;
                }
        }
        r = error_set(err, SBX_EINVAL, "option '--output': no such form '%s'",
                      str_printable(name, shown, sizeof(shown)));
        error_hint(err, "the forms are table, json, jsonl and csv");
        return r;
}

/* ---- CSV ---- */

static const char *const csv_columns[] = {
        "seq",      "id",          "started_at", "name",      "uid",       "language",
        "version",  "backend",     "status",     "exit_code", "signal",    "execution_time",
        "cpu_time", "memory_used", "network",    "message",   "artifacts", "hash",
};

/* A cell that a spreadsheet would take for a formula gets an apostrophe before it. */
static void add_csv_text(struct strbuf *out, const char *text)
{
        size_t size = strlen(text) * 4 + 8;
        AUTO_FREE char *shown = mem_alloc(size);

        if (!shown) {
                out->failed = true;
                return;
        }
        str_printable(text, shown, size);
        strbuf_adds(out, strchr("=+-@", *shown) && *shown ? "\"'" : "\"");
        for (const char *at = shown; *at; at++)
                strbuf_addf(out, *at == '"' ? "\"\"" : "%c", *at);
        strbuf_adds(out, "\"");
}

static void add_csv(struct strbuf *out, const json_t *record)
{
        for (size_t i = 0; i < ARRAY_SIZE(csv_columns); i++) {
                const json_t *value = json_object_get(record, csv_columns[i]);

                strbuf_adds(out, i ? "," : "");
                if (json_is_string(value))
                        add_csv_text(out, json_string_value(value));
                else if (json_is_integer(value))
                        strbuf_addf(out, "%lld", (long long)json_integer_value(value));
                else if (json_is_real(value))
                        strbuf_addf(out, "%.6f", json_real_value(value));
        }
        strbuf_adds(out, "\n");
}

/* ---- table ---- */

static void add_row(struct strbuf *out, const json_t *record)
{
        char id[40], stamp[40], language[40], status[40], name[80], memory[UNITS_TEXT_MAX];

        (void)show_text(record, "id", id, sizeof(id));
        (void)show_text(record, "started_at", stamp, sizeof(stamp));
        (void)show_text(record, "language", language, sizeof(language));
        (void)show_text(record, "status", status, sizeof(status));
        (void)show_text(record, "name", name, sizeof(name));
        if (strlen(stamp) > 19)
                stamp[19] = '\0';
        strbuf_addf(out, "%-26s  %-14s  %-10.10s  %-14s  %9.3f  %9s", id,
                    strlen(stamp) == 19 ? stamp + 5 : stamp, language, status,
                    json_number_value(json_object_get(record, "execution_time")) * 1e3,
                    units_format_size(
                            (uint64_t)json_integer_value(json_object_get(record, "memory_used")),
                            memory));
        if (strcmp(name, "-") != 0)
                strbuf_addf(out, "  %s", name);
        strbuf_adds(out, "\n");
}

void list_heading(struct strbuf *out, enum list_form form)
{
        if (form == LIST_TABLE)
                strbuf_addf(out, "%-26s  %-14s  %-10s  %-14s  %9s  %9s  %s\n", "ID",
                            "STARTED (UTC)", "LANGUAGE", "STATUS", "TIME (MS)", "MEMORY", "NAME");
        if (form == LIST_CSV)
                for (size_t i = 0; i < ARRAY_SIZE(csv_columns); i++)
                        strbuf_addf(out, "%s%s", csv_columns[i],
                                    i + 1 < ARRAY_SIZE(csv_columns) ? "," : "\n");
}

void list_add(struct strbuf *out, enum list_form form, const char *line, bool is_first)
{
        json_t *record;

        if (form == LIST_JSON || form == LIST_JSONL) {
                strbuf_addf(out, "%s%s%s", form == LIST_JSON && !is_first ? ",\n" : "", line,
                            form == LIST_JSONL ? "\n" : "");
                return;
        }
        record = json_loads(line, 0, NULL);
        if (!record)
                out->failed = true;
        else if (form == LIST_CSV)
                add_csv(out, record);
        else
                add_row(out, record);
        json_decref(record);
}

struct listing {
        const struct archive *archive;
        enum list_form form;
        struct strbuf out;
        bool has_any;
};

static int flush(struct listing *listing, struct error *err)
{
        int r;

        if (listing->out.failed)
                return error_set_nomem(err);
        r = report_write(listing->archive->cli, listing->out.data ? listing->out.data : "",
                         listing->out.length, err);
        listing->out.length = 0;
        return r;
}

static int add_entry(void *context, uint64_t seq, const char *line, struct error *err)
{
        struct listing *listing = context;

        (void)seq;
        list_add(&listing->out, listing->form, line, !listing->has_any);
        listing->has_any = true;
        return listing->out.length > FLUSH_BYTES ? flush(listing, err) : 0;
}

static int list(struct archive *archive, enum list_form form, int64_t limit, struct error *err)
{
        struct listing listing = { .archive = archive, .form = form };
        struct query query;
        int r = query_init(&query, archive, limit, err);

        if (form == LIST_JSON)
                strbuf_adds(&listing.out, "[");
        list_heading(&listing.out, form);
        if (r == 0)
                r = query_run(archive, &query, 0, add_entry, &listing, err);
        if (form == LIST_JSON)
                strbuf_adds(&listing.out, "]\n");
        if (r == 0)
                r = flush(&listing, err);
        strbuf_done(&listing.out);
        query_done(&query);
        return r;
}

int history_list(struct archive *archive, struct error *err)
{
        enum list_form form;
        int r = list_form(archive->options, &form, err);

        return r < 0 ? r : list(archive, form, LIST_DEFAULT, err);
}

int history_export(struct archive *archive, struct error *err)
{
        enum list_form form;
        int r = list_form(archive->options, &form, err);

        if (r == 0 && !options_given(archive->options, "output") && form == LIST_TABLE)
                form = LIST_JSONL;
        return r < 0 ? r : list(archive, form, 0, err);
}
