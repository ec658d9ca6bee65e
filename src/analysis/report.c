/* What was found, as JSON. */
#include "analysis/analysis.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kinds of findings, as the report names them; the last is a query's. */
static const char *const kind_names[RULE_LISTS + 1] = { "import", "function", "command", "pattern",
                                                        "code" };

/* How many blanks, of any kind, a text begins with. */
static size_t count_blanks(const char *text, size_t length)
{
        size_t n = 0;

        while (n < length && strchr(" \t\r\n", text[n]) && text[n])
                n++;
        return n;
}

/* Bytes that are no UTF-8, and control characters, become U+FFFD: a report can be printed. Source
 * of several lines becomes one. */
json_t *report_string(const char *text, size_t length, size_t max)
{
        static const char replacement[] = "\xef\xbf\xbd";
        AUTO_STRBUF struct strbuf out = { 0 };
        size_t i = 0;

        length = length < max ? length : max;
        while (i < length) {
                unsigned char first = (unsigned char)text[i];
                size_t count = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
                bool is_good = count <= length - i && str_is_utf8(text + i, count) &&
                               (first >= 0x20 || first == '\t') && first != 0x7f &&
                               !(first == 0xc2 && (unsigned char)text[i + 1] < 0xa0);

                if (first == '\n' || first == '\r') {
                        strbuf_add(&out, " ", 1);
                        i += count_blanks(text + i, length - i);
                        continue;
                }
                if (!is_good && count > 1 && length - i < count && length == max)
                        break; /* cut in the middle of a character */
                strbuf_add(&out, is_good ? text + i : replacement, is_good ? count : 3);
                i += is_good ? count : 1;
        }
        return out.failed ? NULL : json_stringn(out.data ? out.data : "", out.length);
}

static json_t *line_of(const struct analysis *analysis, uint32_t row)
{
        uint32_t start, end;

        if (row >= analysis->line_count)
                return json_string("");
        start = analysis->lines[row];
        end = row + 1 < analysis->line_count ? analysis->lines[row + 1] : analysis->length;
        while (end > start &&
               (analysis->source[end - 1] == '\n' || analysis->source[end - 1] == '\r'))
                end--;
        return report_string(analysis->source + start, end - start, LINE_SHOWN_MAX);
}

void report_finding(struct analysis *analysis, const struct rule *rule, enum rule_list list,
                    const char *what, struct place place, bool guess)
{
        char key[256];
        int length = snprintf(key, sizeof(key), "%u %.200s", place.byte, rule->id);
        void **slot;

        if (analysis->learning)
                return;
        slot = names_put(&analysis->arena, &analysis->found, key, (size_t)length);
        if (*slot)
                return;
        *slot = analysis;
        /* What can stop the code has room left by what cannot. */
        if (analysis->finding_count >= FINDINGS_MAX ||
            (analysis->finding_count >= LIGHT_FINDINGS_MAX && rule->severity < SEVERITY_HIGH &&
             !match_is_named(analysis, rule))) {
                analysis->dropped++;
                return;
        }
        ARENA_GROW(&analysis->arena, analysis->findings, analysis->finding_count,
                   analysis->finding_capacity);
        analysis->findings[analysis->finding_count++] = (struct finding){
                .rule = rule,
                .list = list,
                .what = arena_strndup(&analysis->arena, what, strlen(what)),
                .place = place,
                .guess = guess,
                .policy = match_is_policy(rule),
                .own = !match_is_policy(rule) && !match_is_built_in(rule),
        };
}

void report_fact(struct analysis *analysis, struct fact_list *list, const char *name,
                 struct place place, bool guess)
{
        void **slot;

        if (analysis->learning || list->seen.count >= FACTS_MAX)
                return;
        slot = names_put(&analysis->arena, &list->seen, name, strlen(name));
        if (*slot)
                return;
        *slot = list;
        (void)json_array_append_new(
                list->items, json_pack("{s:o, s:I, s:b}", "name",
                                       report_string(name, strlen(name), NAME_SHOWN_MAX), "line",
                                       (json_int_t)place.start.row + 1, "guess", (int)guess));
}

void report_error(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        TSPoint start = ts_node_start_point(node);
        char text[80] = "does not fit here";
        size_t length;

        if (unit->outer || ++analysis->error_count > ERRORS_MAX)
                return;
        if (ts_node_is_missing(node)) {
                (void)snprintf(text, sizeof(text), "missing '%.40s'", ts_node_type(node));
        } else {
                const char *source = unit_text(unit, node, &length);
                size_t shown = length < 24 ? length : 24;
                size_t line = strcspn(source, "\n");

                shown = shown < line ? shown : line;
                (void)snprintf(text, sizeof(text), "'%.*s' does not fit here", (int)shown, source);
        }
        (void)json_array_append_new(analysis->errors,
                                    json_pack("{s:I, s:I, s:o}", "line", (json_int_t)start.row + 1,
                                              "column", (json_int_t)start.column + 1, "message",
                                              report_string(text, strlen(text), sizeof(text))));
}

static int compare(const void *a, const void *b)
{
        const struct finding *left = a, *right = b;

        if (left->place.byte != right->place.byte)
                return left->place.byte < right->place.byte ? -1 : 1;
        if (left->rule->severity != right->rule->severity)
                return left->rule->severity > right->rule->severity ? -1 : 1;
        return strcmp(left->rule->id, right->rule->id);
}

static json_t *finding_value(const struct analysis *analysis, const struct finding *finding)
{
        const struct place *place = &finding->place;
        uint32_t end =
                place->end.row == place->start.row ? place->end.column : place->start.column + 1;

        return json_pack(
                "{s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:o, s:s, s:s, s:b, s:b, s:b}", "rule",
                finding->rule->id, "severity", severity_names[finding->rule->severity], "kind",
                kind_names[finding->list], "what",
                report_string(finding->what, strlen(finding->what), NAME_SHOWN_MAX), "line",
                (json_int_t)place->start.row + 1, "column", (json_int_t)place->start.column + 1,
                "end_column", (json_int_t)end + 1, "source", line_of(analysis, place->start.row),
                "sentence", finding->rule->sentence, "recommendation",
                finding->rule->recommendation, "guess", (int)finding->guess, "policy",
                (int)finding->policy, "own", (int)finding->own);
}

json_t *analysis_skipped(const char *reason)
{
        return json_pack("{s:s, s:s}", "state", "skipped", "reason", reason);
}

json_t *report_whole(struct analysis *analysis)
{
        json_t *findings = json_array(), *reasons = json_array();
        enum severity risk = SEVERITY_NONE;
        struct names said = { 0 };

        if (analysis->finding_count > 1)
                qsort(analysis->findings, analysis->finding_count, sizeof(*analysis->findings),
                      compare);
        for (size_t i = 0; i < analysis->finding_count; i++) {
                const struct finding *finding = &analysis->findings[i];
                void **slot;

                risk = finding->rule->severity > risk ? finding->rule->severity : risk;
                (void)json_array_append_new(findings, finding_value(analysis, finding));
                slot = names_put(&analysis->arena, &said, finding->rule->id,
                                 strlen(finding->rule->id));
                if (!*slot)
                        (void)json_array_append_new(reasons, json_string(finding->rule->sentence));
                *slot = analysis;
        }
        return json_pack("{s:s, s:n, s:s, s:s, s:o, s:o, s:I, s:O, s:O, s:O, s:O}", "state", "done",
                         "reason", "language", analysis->grammar->name, "risk",
                         severity_names[risk], "reasons", reasons, "findings", findings, "dropped",
                         (json_int_t)analysis->dropped, "imports", analysis->imports.items, "calls",
                         analysis->calls.items, "commands", analysis->commands.items,
                         "syntax_errors", analysis->errors);
}
