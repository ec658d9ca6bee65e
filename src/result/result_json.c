/*
 * The result as JSON. The order of the fields is part of the contract, and what the guest wrote is
 * hostile: it may not be UTF-8, and its control bytes grow six-fold when escaped.
 */
#include "result/result.h"

#include <jansson.h>
#include <string.h>

/* One object in the making; a field that could not be made is remembered and told at the end. */
struct builder {
        json_t *object;
        bool failed;
};

static void put(struct builder *b, const char *key, json_t *taken)
{
        if (!taken || json_object_set_new(b->object, key, taken) < 0)
                b->failed = true;
}

static struct builder begin(void)
{
        struct builder b = { .object = json_object() };

        b.failed = !b.object;
        return b;
}

/* Gives the object, or NULL when a part of it is missing. */
static json_t *end(struct builder *b)
{
        if (!b->failed)
                return b->object;
        json_decref(b->object);
        return NULL;
}

/* ---- values ---- */

/* A text that should be UTF-8. Other bytes (a file's name can hold any) are shown as \xNN. */
static json_t *text_or_null(const char *text)
{
        AUTO_FREE char *shown = NULL;
        size_t size;

        if (!text)
                return json_null();
        if (str_is_utf8(text, strlen(text)))
                return json_string_nocheck(text);
        size = strlen(text) * 4 + 8;
        shown = mem_alloc(size);
        return shown ? json_string_nocheck(str_printable(text, shown, size)) : NULL;
}

/* To the microsecond: more digits would only claim precision. */
static json_t *seconds(uint64_t us)
{
        return json_real((double)us / 1e6);
}

static json_t *integer(uint64_t value)
{
        return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *exit_code_or_null(const struct result_step *step)
{
        return step->exit_code >= 0 ? json_integer(step->exit_code) : json_null();
}

static json_t *signal_or_null(const struct result_step *step)
{
        return step->signal > 0 ? json_integer(step->signal) : json_null();
}

/* ---- output ---- */

static bool is_cut(const struct result_stream *stream)
{
        return stream->truncated || stream->is_part;
}

/* The length of the text to show: a cap may have cut the last character. */
static size_t text_length(const struct result_stream *stream)
{
        if (!stream->kept.data)
                return 0;
        return is_cut(stream) ? str_utf8_complete(stream->kept.data, stream->kept.length)
                              : stream->kept.length;
}

/* How many bytes the text takes between its quotes. */
static size_t escaped_length(const char *data, size_t length)
{
        size_t escaped = 0;

        for (size_t i = 0; i < length; i++) {
                unsigned char c = (unsigned char)data[i];

                if (c == '"' || c == '\\' || (c && c < 0x20 && strchr("\b\f\n\r\t", c)))
                        escaped += 2;
                else
                        escaped += c < 0x20 ? 6 : 1;
        }
        return escaped;
}

/* What would more than double by escaping is no text: base64 grows by a third. */
static bool is_text(const struct result_stream *stream)
{
        size_t length = text_length(stream);

        return str_is_utf8(stream->kept.data, length) &&
               escaped_length(stream->kept.data, length) <= 2 * length;
}

static json_t *stream_value(const struct result_stream *stream, bool as_text)
{
        const char *data = stream->kept.data ? stream->kept.data : "";
        AUTO_FREE char *encoded = NULL;

        if (as_text)
                return json_stringn_nocheck(data, text_length(stream));
        encoded = str_base64(data, stream->kept.length);
        return encoded ? json_string_nocheck(encoded) : NULL;
}

/* Both streams have one encoding, so that a reader asks once. */
static bool put_streams(struct builder *b, const struct result_step *step)
{
        bool as_text = is_text(&step->out) && is_text(&step->err);

        put(b, "stdout", stream_value(&step->out, as_text));
        put(b, "stderr", stream_value(&step->err, as_text));
        put(b, "stdout_truncated", json_boolean(is_cut(&step->out)));
        put(b, "stderr_truncated", json_boolean(is_cut(&step->err)));
        return as_text;
}

static void put_encoding(struct builder *b, bool as_text)
{
        put(b, "encoding", json_string(as_text ? "utf-8" : "base64"));
}

static void put_usage(struct builder *b, const struct usage *usage)
{
        put(b, "execution_time", seconds(usage->wall_ns / 1000));
        put(b, "cpu_time", seconds(usage->cpu_us));
        put(b, "memory_used", integer(usage->memory_peak));
}

/* ---- parts ---- */

static json_t *difference_value(const struct result_case *one)
{
        struct builder b;

        if (!one->difference_line)
                return json_null();
        b = begin();
        put(&b, "line", integer(one->difference_line));
        put(&b, "expected", text_or_null(one->expected));
        put(&b, "got", text_or_null(one->got));
        return end(&b);
}

static json_t *case_value(const struct result_case *one)
{
        const struct result_step step = { .out = one->out, .err = one->err }; /* a view */
        struct builder b = begin();
        bool as_text;

        put(&b, "number", integer(one->number));
        put(&b, "name", text_or_null(one->name));
        put(&b, "verdict", text_or_null(one->verdict));
        put(&b, "status", json_string(outcome_name(one->outcome)));
        put(&b, "exit_code", one->exit_code >= 0 ? json_integer(one->exit_code) : json_null());
        put(&b, "signal", one->signal > 0 ? json_integer(one->signal) : json_null());
        put(&b, "message", text_or_null(one->message));
        put(&b, "difference", difference_value(one));
        as_text = put_streams(&b, &step);
        put_encoding(&b, as_text);
        put_usage(&b, &one->usage);
        return end(&b);
}

/* A step before the program's: the compiler's, or that of whoever installs dependencies. */
static json_t *step_value(const struct result_step *step, bool took_place)
{
        struct builder b;

        if (!took_place)
                return json_null();
        b = begin();
        put(&b, "status", json_string(outcome_name(step->outcome)));
        put(&b, "exit_code", exit_code_or_null(step));
        put(&b, "signal", signal_or_null(step));
        put_encoding(&b, put_streams(&b, step));
        put_usage(&b, &step->usage);
        put(&b, "cached", json_boolean(step->cached));
        return end(&b);
}

static json_t *names_value(const struct strlist *names)
{
        json_t *array = json_array();

        for (size_t i = 0; array && i < names->count; i++) {
                json_t *name = text_or_null(names->items[i]);

                if (!name || json_array_append_new(array, name) < 0) {
                        json_decref(array);
                        return NULL;
                }
        }
        return array;
}

static json_t *files_value(const struct result *result)
{
        struct builder b = begin();

        put(&b, "created", names_value(&result->created));
        put(&b, "modified", names_value(&result->modified));
        put(&b, "deleted", names_value(&result->deleted));
        put(&b, "truncated", json_boolean(result->files_truncated));
        put(&b, "collected", names_value(&result->collected));
        return end(&b);
}

static json_t *metrics_value(const struct result *result)
{
        const struct usage *usage = &result->run.usage;
        struct builder b = begin();

        put(&b, "startup_time", seconds(usage->startup_ns / 1000));
        put(&b, "processes_peak", integer(usage->processes_peak));
        put(&b, "io_read_bytes", integer(usage->io_read_bytes));
        put(&b, "io_write_bytes", integer(usage->io_write_bytes));
        put(&b, "net_connections", integer(usage->net_connections));
        put(&b, "net_rx_bytes", integer(usage->net_rx_bytes));
        put(&b, "net_tx_bytes", integer(usage->net_tx_bytes));
        put(&b, "warm", text_or_null(result->warm));
        put(&b, "cpu_user", seconds(usage->cpu_user_us));
        put(&b, "cpu_system", seconds(usage->cpu_system_us));
        return end(&b);
}

static json_t *limits_value(const struct result *result)
{
        struct builder b = begin();

        for (size_t i = 0; i < result->limit_count; i++) {
                const struct result_limit *limit = &result->limits[i];

                put(&b, limit->name,
                    limit->is_float
                            ? json_real(limit->value)
                            : json_integer(limit->value >= 9.2e18 ? INT64_MAX
                                                                  : (json_int_t)limit->value));
        }
        return end(&b);
}

static json_t *protection_value(enum protection id, const struct result_protection *protection)
{
        struct builder b = begin();

        put(&b, "name", json_string(protection_name(id)));
        put(&b, "state", json_string(protection->state == STATE_ENFORCED ? "enforced" : "missing"));
        put(&b, "by", text_or_null(protection->by));
        put(&b, "detail", text_or_null(protection->detail[0] ? protection->detail : NULL));
        return end(&b);
}

static json_t *violation_value(const struct result_violation *violation)
{
        struct builder b = begin();

        put(&b, "kind", text_or_null(violation->kind));
        put(&b, "what", text_or_null(violation->what));
        put(&b, "why", text_or_null(violation->why));
        put(&b, "count", integer(violation->count));
        return end(&b);
}

/* Appends `taken`; NULL stands for one that could not be made. Gives the array, or NULL. */
static json_t *append(json_t *array, json_t *taken)
{
        if (array && taken && json_array_append_new(array, taken) == 0)
                return array;
        if (!array)
                json_decref(taken);
        json_decref(array);
        return NULL;
}

static json_t *protections_value(const struct result *result)
{
        json_t *array = json_array();

        for (unsigned id = 0; array && id < PROTECTION_COUNT; id++)
                if (result->protections[id].state != STATE_NOT_ASKED)
                        array = append(array, protection_value((enum protection)id,
                                                               &result->protections[id]));
        return array;
}

static json_t *violations_value(const struct result *result)
{
        json_t *array = json_array();

        for (size_t i = 0; array && i < result->violation_count; i++)
                array = append(array, violation_value(&result->violations[i]));
        return array;
}

static json_t *cases_value(const struct result *result)
{
        json_t *array;

        if (!result->case_count)
                return json_null();
        array = json_array();
        for (size_t i = 0; array && i < result->case_count; i++)
                array = append(array, case_value(&result->cases[i]));
        return array;
}

static json_t *template_value(const struct result *result)
{
        struct builder b;

        if (!result->template_name)
                return json_null();
        b = begin();
        put(&b, "name", text_or_null(result->template_name));
        put(&b, "code_line", integer(result->template_code_line));
        put(&b, "lines", integer(result->template_lines));
        return end(&b);
}

/* The report without what only `sandbox check` lists. */
static json_t *analysis_value(const struct result *result)
{
        json_t *report = result->analysis ? json_loads(result->analysis, 0, NULL) : json_null();

        (void)json_object_del(report, "calls"); /* where it is there */
        (void)json_object_del(report, "commands");
        return report;
}

/* ---- fuel ---- */

enum { FUEL_WARN_PERCENT = 75, FUEL_ROOM = 2 };

/* How much of it was used, and from a point on what to do about it. */
static json_t *fuel_value(const struct fuel *fuel)
{
        struct builder b;
        double percent;
        char advice[160];

        if (!fuel->is_known)
                return json_null();
        b = begin();
        percent = fuel->limit ? 100.0 * (double)fuel->consumed / (double)fuel->limit : 0;
        (void)snprintf(
                advice, sizeof(advice),
                percent >= 100 ? "all of it was used: the program needs more than --fuel %llu"
                               : "little is left: give it --fuel %llu",
                (unsigned long long)(percent >= 100 ? fuel->limit : fuel->consumed * FUEL_ROOM));
        put(&b, "limit", integer(fuel->limit));
        put(&b, "consumed", integer(fuel->consumed));
        put(&b, "percent", json_real((double)(int64_t)(percent * 100 + 0.5) / 100));
        put(&b, "recommendation", percent >= FUEL_WARN_PERCENT ? json_string(advice) : json_null());
        return end(&b);
}

/* ---- the whole ---- */

static void put_head(struct builder *b, const struct result *result)
{
        put(b, "id", text_or_null(result->id));
        put(b, "name", text_or_null(result->name));
        put(b, "language", text_or_null(result->language));
        put(b, "version", text_or_null(result->version));
        put(b, "backend", text_or_null(result->backend));
        put(b, "status", json_string(outcome_name(result->run.outcome)));
        put(b, "success", json_boolean(result->run.outcome == OUTCOME_OK));
        put(b, "exit_code", exit_code_or_null(&result->run));
        put(b, "signal", signal_or_null(&result->run));
        put(b, "message", text_or_null(result->message));
        put(b, "hint", text_or_null(result->hint));
        put(b, "fallback", text_or_null(result->fallback));
}

static json_t *result_value(const struct result *result)
{
        struct builder b = begin();
        bool as_text;

        put_head(&b, result);
        as_text = put_streams(&b, &result->run);
        put(&b, "stdout_bytes", integer(result->run.out.bytes));
        put(&b, "stderr_bytes", integer(result->run.err.bytes));
        put_encoding(&b, as_text);
        put_usage(&b, &result->run.usage);
        put(&b, "compile", step_value(&result->compile, result->compiled));
        put(&b, "deps", step_value(&result->deps, result->has_deps));
        put(&b, "files", files_value(result));
        put(&b, "fuel_consumed",
            result->fuel.is_known ? integer(result->fuel.consumed) : json_null());
        if (result->fuel.is_used) /* the backend that counts it alone tells about it */
                put(&b, "fuel", fuel_value(&result->fuel));
        put(&b, "metrics", metrics_value(result));
        put(&b, "limits", limits_value(result));
        put(&b, "protections", protections_value(result));
        put(&b, "violations", violations_value(result));
        put(&b, "analysis", analysis_value(result));
        put(&b, "cases", cases_value(result));
        put(&b, "template", template_value(result));
        put(&b, "started_at", text_or_null(result->started_at));
        put(&b, "cost", json_null());
        return end(&b);
}

static int write_part(const char *part, size_t length, void *buffer)
{
        struct strbuf *text = buffer;

        strbuf_add(text, part, length);
        return text->failed ? -1 : 0;
}

static char *dump(json_t *taken, bool one_line)
{
        size_t flags = (one_line ? JSON_COMPACT : JSON_INDENT(2)) | JSON_REAL_PRECISION(15);
        AUTO_STRBUF struct strbuf text = { 0 };
        int rc;

        if (!taken)
                return NULL;
        rc = json_dump_callback(taken, write_part, &text, flags);
        json_decref(taken);
        return rc == 0 ? strbuf_take(&text) : NULL;
}

char *result_to_json(const struct result *result, bool one_line)
{
        return dump(result_value(result), one_line);
}

char *result_case_to_json(const struct result_case *one)
{
        return dump(case_value(one), true);
}
