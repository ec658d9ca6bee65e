/*
 * The report of static analysis as SARIF 2.1.0, the form that code-scanning services read. Columns
 * are in bytes of UTF-8 in our report; SARIF counts UTF-16 code units, so they are counted again in
 * the line that is shown.
 */
#include "cli/check.h"
#include "base/mem.h"
#include "sandbox.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

static const char *sarif_level(const char *severity)
{
        int level = check_level(severity);

        return level >= 3 ? "error" : level == 2 ? "warning" : "note";
}

/* The number that services rank by. */
static const char *security_severity(const char *severity)
{
        static const char *const numbers[] = { "0.0", "3.0", "5.0", "8.0", "9.5" };
        int level = check_level(severity);

        return numbers[level < 0 ? 0 : level];
}

/* Code units of UTF-16 before the byte, and one. */
static json_int_t utf16_column(const char *line, json_int_t column)
{
        json_int_t units = 1;

        for (json_int_t i = 0; i < column - 1 && line[i]; i++) {
                unsigned char c = (unsigned char)line[i];

                units += (c & 0xc0) == 0x80 ? 0 : c >= 0xf0 ? 2 : 1;
        }
        return units;
}

/* A path as a relative or file: reference, other bytes than the plain ones as %XX. */
static json_t *uri_of(const char *path)
{
        AUTO_STRBUF struct strbuf uri = { 0 };

        strbuf_adds(&uri, path[0] == '/' ? "file://" : "");
        for (; *path; path++) {
                if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/",
                           *path))
                        strbuf_add(&uri, path, 1);
                else
                        strbuf_addf(&uri, "%%%02X", (unsigned char)*path);
        }
        return uri.failed ? NULL : json_string(uri.data ? uri.data : "");
}

static json_t *file_of(const struct check_report *check, const json_t *item)
{
        const char *file = text_of(item, "file");

        return uri_of(*file ? file : check->file ? check->file : "code");
}

static json_t *location_of(const struct check_report *check, const json_t *finding)
{
        const char *line = text_of(finding, "source");
        json_int_t column = json_integer_value(json_object_get(finding, "column"));
        json_int_t end = json_integer_value(json_object_get(finding, "end_column"));

        return json_pack("{s:{s:{s:o}, s:{s:I, s:I, s:I, s:{s:s}}}}", "physicalLocation",
                         "artifactLocation", "uri", file_of(check, finding), "region", "startLine",
                         json_integer_value(json_object_get(finding, "line")), "startColumn",
                         utf16_column(line, column), "endColumn",
                         utf16_column(line, end > column ? end : column + 1), "snippet", "text",
                         line);
}

/* The index of the rule of this finding among those already described, which it joins. */
static json_int_t rule_index(json_t *rules, const json_t *finding)
{
        const char *id = text_of(finding, "rule"), *severity = text_of(finding, "severity");
        size_t index;
        json_t *rule;

        json_array_foreach(rules, index, rule)
        {
                if (strcmp(text_of(rule, "id"), id) == 0)
                        return (json_int_t)index;
        }
        (void)json_array_append_new(
                rules, json_pack("{s:s, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s, s:[s]}}", "id", id,
                                 "shortDescription", "text", text_of(finding, "sentence"), "help",
                                 "text", text_of(finding, "recommendation"), "defaultConfiguration",
                                 "level", sarif_level(severity), "properties", "security-severity",
                                 security_severity(severity), "tags", "security"));
        return (json_int_t)json_array_size(rules) - 1;
}

static json_t *result_of(const struct check_report *check, const json_t *finding, json_t *rules)
{
        json_int_t index = rule_index(rules, finding);
        AUTO_STRBUF struct strbuf message = { 0 };

        strbuf_addf(&message, "%s: %s%s", text_of(finding, "sentence"), text_of(finding, "what"),
                    json_is_true(json_object_get(finding, "guess")) ? " (likely)" : "");
        if (message.failed)
                return NULL;
        return json_pack("{s:s, s:I, s:s, s:{s:s}, s:[o]}", "ruleId", text_of(finding, "rule"),
                         "ruleIndex", index, "level", sarif_level(text_of(finding, "severity")),
                         "message", "text", message.data, "locations", location_of(check, finding));
}

/* An error of syntax is no finding, but something that the tool met. Its line is not in the report,
 * so that its column cannot be counted anew and is told in words. */
static json_t *syntax_of(const struct check_report *check, const json_t *error)
{
        AUTO_STRBUF struct strbuf message = { 0 };

        strbuf_addf(&message, "syntax: %s (byte %lld of the line)", text_of(error, "message"),
                    (long long)json_integer_value(json_object_get(error, "column")));
        if (message.failed)
                return NULL;
        return json_pack("{s:s, s:{s:s}, s:[{s:{s:{s:o}, s:{s:I}}}]}", "level", "warning",
                         "message", "text", message.data, "locations", "physicalLocation",
                         "artifactLocation", "uri", file_of(check, error), "region", "startLine",
                         json_integer_value(json_object_get(error, "line")));
}

/* What the tool could not do or read. */
static json_t *notifications_of(const struct check_report *check)
{
        const char *reason = text_of(check->report, "reason");
        json_t *notifications = json_array(), *error;
        size_t index;

        if (*reason)
                (void)json_array_append_new(notifications,
                                            json_pack("{s:s, s:{s:s+}}", "level", "error",
                                                      "message", "text", "not analysed: ", reason));
        json_array_foreach(json_object_get(check->report, "syntax_errors"), index, error)
        {
                (void)json_array_append_new(notifications, syntax_of(check, error));
        }
        return notifications;
}

char *check_sarif(const struct check_report *check)
{
        json_t *rules = json_array(), *results = json_array(), *log;
        bool is_done = !*text_of(check->report, "reason");
        size_t index;
        json_t *finding;
        char *text, *copy;

        json_array_foreach(json_object_get(check->report, "findings"), index, finding)
        {
                (void)json_array_append_new(results, result_of(check, finding, rules));
        }
        log = json_pack(
                "{s:s, s:s, s:[{s:{s:{s:s, s:s, s:s, s:o}}, s:[{s:b, s:o}], s:s, s:o}]}", "$schema",
                "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                "sarif-schema-2.1.0.json",
                "version", "2.1.0", "runs", "tool", "driver", "name", "sandbox-run", "version",
                sbx_version(), "semanticVersion", sbx_version(), "rules", rules, "invocations",
                "executionSuccessful", (int)is_done, "toolExecutionNotifications",
                notifications_of(check), "columnKind", "utf16CodeUnits", "results", results);
        text = log ? json_dumps(log, JSON_INDENT(2)) : NULL;
        copy = text ? mem_strdup(text) : NULL;
        free(text); /* jansson's own allocation */
        json_decref(log);
        return copy;
}
