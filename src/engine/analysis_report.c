/* The report of sandbox-analyze: checked as foreign text, put together, judged by the policy. */
#include "base/jsontext.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/analysis.h"
#include "engine/passage.h"

#include <string.h>

static const char *const levels[] = { "none", "low", "medium", "high", "critical" };
enum { LEVEL_HIGH = 3 };

static int level_of(const json_t *text)
{
        const char *name = json_string_value(text);

        for (size_t i = 0; name && i < ARRAY_SIZE(levels); i++)
                if (strcmp(name, levels[i]) == 0)
                        return (int)i;
        return -1;
}

static const char *mode_name(const struct passage *passage)
{
        return passage->policy.analysis_mode == ANALYSIS_BLOCK  ? "block"
               : passage->policy.analysis_mode == ANALYSIS_WARN ? "warn"
                                                                : "off";
}

struct result_analysis analysis_skipped(const struct passage *passage, const char *reason,
                                        struct strbuf *ret_report)
{
        static const char *const lists[] = { "syntax_errors", "imports", "calls", "commands" };
        bool trusted = str_equal(reason, "trusted");
        struct result_analysis analysed = { .state = trusted ? "trusted" : "skipped" };

        strbuf_adds(ret_report, "{");
        jsontext_put_string(ret_report, "mode", mode_name(passage));
        jsontext_put_string(ret_report, "state", analysed.state);
        jsontext_put_string(ret_report, "reason", reason);
        jsontext_put_bool(ret_report, "trusted", trusted);
        jsontext_put_string(ret_report, "language", passage->language->name);
        strbuf_adds(ret_report, ",\"risk\":null,\"reasons\":[],\"findings\":[],\"dropped\":0");
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
                jsontext_key(ret_report, lists[i]);
                strbuf_adds(ret_report, "[]");
        }
        strbuf_adds(ret_report, "}");
        return analysed;
}

json_t *analysis_skipped_report(const struct passage *passage, const char *reason)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        (void)analysis_skipped(passage, reason, &text);
        return text.failed ? NULL : json_loadb(text.data, text.length, 0, NULL);
}

/* Keys of each kind of entry, and their types. */
struct form {
        const char *key;
        json_type type;
};

static const struct form finding_form[] = {
        { "rule", JSON_STRING },        { "severity", JSON_STRING },
        { "kind", JSON_STRING },        { "what", JSON_STRING },
        { "line", JSON_INTEGER },       { "column", JSON_INTEGER },
        { "end_column", JSON_INTEGER }, { "source", JSON_STRING },
        { "sentence", JSON_STRING },    { "recommendation", JSON_STRING },
        { "guess", JSON_TRUE },         { "policy", JSON_TRUE },
        { "own", JSON_TRUE },           { NULL, JSON_NULL },
};
static const struct form error_form[] = {
        { "line", JSON_INTEGER },
        { "column", JSON_INTEGER },
        { "message", JSON_STRING },
        { NULL, JSON_NULL },
};
static const struct form fact_form[] = {
        { "name", JSON_STRING },
        { "line", JSON_INTEGER },
        { "guess", JSON_TRUE },
        { NULL, JSON_NULL },
};

static bool has_type(const json_t *value, json_type type)
{
        return type == JSON_TRUE ? json_is_boolean(value) : value && json_typeof(value) == type;
}

/* Appends copies of the entries, with the file's name first; false where one is of another form. */
static bool append_entries(json_t *to, const json_t *from, const struct form *form,
                           const char *file)
{
        size_t index;
        json_t *entry;

        if (!json_is_array(from))
                return false;
        json_array_foreach((json_t *)from, index, entry)
        {
                json_t *copy = json_pack("{s:s?}", "file", file);

                for (const struct form *key = form; copy && key->key; key++) {
                        json_t *value = json_object_get(entry, key->key);

                        if (!has_type(value, key->type) ||
                            json_object_set(copy, key->key, value) < 0) {
                                json_decref(copy);
                                return false;
                        }
                }
                if (json_array_append_new(to, copy) < 0)
                        return false;
        }
        return true;
}

static bool append_reasons(json_t *to, const json_t *from)
{
        size_t index, other;
        json_t *reason, *known;

        if (!json_is_array(from))
                return false;
        json_array_foreach((json_t *)from, index, reason)
        {
                bool is_there = false;

                if (!json_is_string(reason))
                        return false;
                json_array_foreach(to, other, known)
                {
                        is_there |= json_equal(known, reason);
                }
                if (!is_there && json_array_append(to, reason) < 0)
                        return false;
        }
        return true;
}

/* Adds the report of one file; false where it is of another form. */
static bool add_report(json_t *whole, const json_t *part)
{
        static const struct {
                const char *key;
                const struct form *form;
        } arrays[] = {
                { "findings", finding_form }, { "syntax_errors", error_form },
                { "imports", fact_form },     { "calls", fact_form },
                { "commands", fact_form },
        };
        const char *file = json_string_value(json_object_get(part, "file"));
        int level = level_of(json_object_get(part, "risk"));
        const json_t *dropped = json_object_get(part, "dropped");

        if (str_equal(json_string_value(json_object_get(part, "state")), "skipped")) {
                const char *reason = json_string_value(json_object_get(part, "reason"));

                /* No risk is known, unless other files of the project show one. */
                if (level_of(json_object_get(whole, "risk")) == 0)
                        (void)json_object_set_new(whole, "risk", json_null());
                return reason && json_object_set_new(whole, "state", json_string("skipped")) == 0 &&
                       json_object_set_new(whole, "reason", json_string(reason)) == 0;
        }
        if (level < 0 || !json_is_integer(dropped))
                return false;
        if (level > level_of(json_object_get(whole, "risk")))
                (void)json_object_set_new(whole, "risk", json_string(levels[level]));
        (void)json_object_set_new(
                whole, "dropped",
                json_integer(json_integer_value(json_object_get(whole, "dropped")) +
                             json_integer_value(dropped)));
        for (size_t i = 0; i < ARRAY_SIZE(arrays); i++)
                if (!append_entries(json_object_get(whole, arrays[i].key),
                                    json_object_get(part, arrays[i].key), arrays[i].form, file))
                        return false;
        return append_reasons(json_object_get(whole, "reasons"), json_object_get(part, "reasons"));
}

/* The line of the code where the program was made from a template; false: it is not the code's. */
static bool code_line(const struct expansion *expansion, json_int_t line, json_int_t *ret_line,
                      json_int_t *ret_indent)
{
        size_t code = expansion_code_line(expansion);
        struct template_range range = expansion_origin(expansion, line > 0 ? (size_t)line : 1);

        *ret_line = (json_int_t)range.line + line - (json_int_t)range.first;
        *ret_indent = (json_int_t)range.indent;
        return code > 0 && range.source == expansion_origin(expansion, code).source;
}

/* Turns the lines of each entry back to those of the code; what is the template's own says so. */
static void turn_back(const struct expansion *expansion, json_t *entries)
{
        static const char *const columns[] = { "column", "end_column" };
        size_t index;
        json_t *entry;

        json_array_foreach(entries, index, entry)
        {
                json_int_t line = json_integer_value(json_object_get(entry, "line")), indent;

                if (!code_line(expansion, line, &line, &indent)) {
                        (void)json_object_set_new(entry, "file", json_string("template"));
                        continue;
                }
                (void)json_object_set_new(entry, "line", json_integer(line));
                for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
                        json_int_t column = json_integer_value(json_object_get(entry, columns[i]));

                        if (column > indent)
                                (void)json_object_set_new(entry, columns[i],
                                                          json_integer(column - indent));
                }
        }
}

static void turn_all_back(const struct passage *passage, json_t *report)
{
        static const char *const keys[] = { "findings", "syntax_errors", "imports", "calls",
                                            "commands" };

        for (size_t i = 0; passage->templating.filled && i < ARRAY_SIZE(keys); i++)
                turn_back(&passage->templating.filled->expansion, json_object_get(report, keys[i]));
}

/* A rule that the policy names weighs as what its other lists forbid. */
static void mark_named(const struct passage *passage, json_t *report)
{
        const struct strlist *named;
        size_t index;
        json_t *finding;

        json_array_foreach(json_object_get(report, "findings"), index, finding)
        {
                const char *id = json_string_value(json_object_get(finding, "rule"));
                bool is_named = false;

                for (unsigned list = 0; (named = analysis_list(passage, RULE_RULES, list)); list++)
                        for (size_t i = 0; i < named->count; i++)
                                is_named |= str_equal(named->items[i], id);
                if (!is_named)
                        continue;
                (void)json_object_set_new(finding, "policy", json_true());
                if (level_of(json_object_get(finding, "severity")) < LEVEL_HIGH)
                        (void)json_object_set_new(finding, "severity",
                                                  json_string(levels[LEVEL_HIGH]));
                if (level_of(json_object_get(report, "risk")) < LEVEL_HIGH)
                        (void)json_object_set_new(report, "risk", json_string(levels[LEVEL_HIGH]));
        }
}

static json_t *merge(const struct passage *passage, const json_t *parts)
{
        json_t *whole = analysis_skipped_report(passage, "");
        size_t index;
        json_t *part;

        if (!whole || json_object_set_new(whole, "state", json_string("done")) < 0 ||
            json_object_set_new(whole, "reason", json_null()) < 0 ||
            json_object_set_new(whole, "risk", json_string("none")) < 0) {
                json_decref(whole);
                return NULL;
        }
        json_array_foreach((json_t *)parts, index, part)
        {
                if (add_report(whole, part))
                        continue;
                json_decref(whole);
                return analysis_skipped_report(passage, "its report is not of the right form");
        }
        mark_named(passage, whole);
        turn_all_back(passage, whole);
        return whole;
}

json_t *analysis_read_report(const struct passage *passage, const char *text, size_t length,
                             struct error *err)
{
        json_t *root = json_loadb(text, length, 0, NULL), *report = NULL;
        const char *wrong = json_string_value(json_object_get(root, "error"));
        const json_t *parts = json_object_get(root, "files");

        if (wrong) {
                (void)error_set(err, SBX_EINVAL, "rules of static analysis: %s", wrong);
        } else {
                report = json_is_array(parts)
                                 ? merge(passage, parts)
                                 : analysis_skipped_report(passage,
                                                           "its report is not of the right form");
                if (!report)
                        (void)error_set_nomem(err);
        }
        json_decref(root);
        return report;
}

struct result_analysis analysis_in_short(const json_t *report)
{
        static const char *const states[] = { "done", "skipped", "trusted" };
        const char *state = json_string_value(json_object_get(report, "state"));
        const json_t *dropped = json_object_get(report, "dropped");
        int level = level_of(json_object_get(report, "risk"));
        struct result_analysis analysed = {
                .risk = level < 0 ? NULL : levels[level],
                .findings = json_array_size(json_object_get(report, "findings")) +
                            (uint64_t)json_integer_value(dropped),
        };

        for (size_t i = 0; i < ARRAY_SIZE(states); i++)
                if (str_equal(state, states[i]))
                        analysed.state = states[i];
        return analysed;
}

/* Whether the policy itself lists something for the language. */
static bool policy_lists(const struct passage *passage)
{
        const struct strlist *list;

        for (int rule = 0; rule < POLICY_RULE_LISTS; rule++)
                for (unsigned i = 0; (list = analysis_list(passage, (enum policy_rule)rule, i));
                     i++)
                        if (list->count > 0)
                                return true;
        return false;
}

const json_t *analysis_blocking(const struct passage *passage, const json_t *report)
{
        bool lists = policy_lists(passage);
        size_t index;
        json_t *finding;

        json_array_foreach(json_object_get(report, "findings"), index, finding)
        {
                /* A rule of the caller's own folders counts as what the policy says. */
                bool is_own = json_is_true(json_object_get(finding, "own"));

                if (json_is_true(json_object_get(finding, "policy")))
                        return finding;
                if (level_of(json_object_get(finding, "severity")) >= LEVEL_HIGH &&
                    (!lists || is_own))
                        return finding;
        }
        return NULL;
}
