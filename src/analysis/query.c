/*
 * Rules that are tree-sitter queries. The library finds the nodes; what stands in a query's
 * predicates is ours to judge:
 *
 *   (#set! rule "id")                  which rule a match is a finding of
 *   (#eq? @a "text"), (#eq? @a @b)     the source text; not-eq? is the opposite
 *   (#any-of? @a "x" "y")              one of the texts; not-any-of? is the opposite
 *   (#match? @a "regex")               an extended regular expression; not-match? is the opposite
 *   (#resolves? @a "os.system" "x.*")  what the expression means, aliases resolved
 *
 * What is built in is of a plain shape, and is compared without the library (plain.h). To read a
 * query by it costs more than to parse a small source, so that a paragraph of a file may say
 * "; if: word word": it is read only where one of the words stands in the source. "; if at the
 * top:" asks for one in its first two lines. Of several such lines each must hold.
 */
#include "analysis/analysis.h"
#include "analysis/plain.h"
#include "base/str.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

enum { MATCH_LIMIT = 256, MATCHED_TEXT_MAX = 4096, MATCHES_MAX = 100000 };

struct query {
        struct analysis *analysis;
        const struct unit *unit;
        const TSQuery *query;      /* or NULL: it is plain */
        const struct plain *plain; /* or NULL */
        const struct rule **rules; /* which rule each pattern belongs to */
        uint32_t budget;           /* matches that are still looked at */
        const char *name;
};

static const char *string_of(const struct query *query, uint32_t id)
{
        uint32_t length;

        return query->plain ? query->plain->strings[id]
                            : ts_query_string_value_for_id(query->query, id, &length);
}

static const TSQueryPredicateStep *steps_of(const struct query *query, uint32_t pattern,
                                            uint32_t *ret_count)
{
        if (!query->plain)
                return ts_query_predicates_for_pattern(query->query, pattern, ret_count);
        *ret_count = query->plain->patterns[pattern].step_count;
        return query->plain->patterns[pattern].steps;
}

static bool captured(const TSQueryMatch *match, uint32_t id, TSNode *ret_node)
{
        for (uint16_t i = 0; i < match->capture_count; i++)
                if (match->captures[i].index == id) {
                        *ret_node = match->captures[i].node;
                        return true;
                }
        return false;
}

static const char *text_of(const struct query *query, TSNode node)
{
        size_t length;
        const char *text = unit_text(query->unit, node, &length);

        return arena_strndup(&query->analysis->arena, text,
                             length < MATCHED_TEXT_MAX ? length : MATCHED_TEXT_MAX);
}

/* A text or the text of what was captured. */
static const char *operand(const struct query *query, const TSQueryMatch *match,
                           const TSQueryPredicateStep *step)
{
        TSNode node;

        if (step->type == TSQueryPredicateStepTypeString)
                return string_of(query, step->value_id);
        return captured(match, step->value_id, &node) ? text_of(query, node) : "";
}

static bool is_any(const struct query *query, const TSQueryMatch *match, const char *text,
                   const TSQueryPredicateStep *steps, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                if (strcmp(text, operand(query, match, &steps[i])) == 0)
                        return true;
        return false;
}

static bool matches_regex(const struct query *query, const char *text, const char *pattern)
{
        regex_t regex;
        bool found;

        if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
                return false; /* told when the query was read */
        found = regexec(&regex, text, 0, NULL, 0) == 0;
        regfree(&regex);
        return found;
}

static bool resolves(const struct query *query, TSNode node, const TSQueryPredicateStep *steps,
                     uint32_t count)
{
        struct value value = value_of(query->analysis, query->unit, node);

        for (uint32_t i = 0; i < count && value.kind == VALUE_NAME; i++)
                if (match_glob(string_of(query, steps[i].value_id), value.text))
                        return true;
        return false;
}

/* One predicate of `count` steps, the first of which is its name. */
static bool holds(const struct query *query, const TSQueryMatch *match,
                  const TSQueryPredicateStep *steps, uint32_t count)
{
        const char *name = string_of(query, steps[0].value_id);
        bool is_not = strncmp(name, "not-", 4) == 0, result;
        TSNode node;

        name += is_not ? 4 : 0;
        if (strcmp(name, "set!") == 0 || count < 3 ||
            steps[1].type != TSQueryPredicateStepTypeCapture ||
            !captured(match, steps[1].value_id, &node))
                return true;
        if (strcmp(name, "match?") == 0)
                result = matches_regex(query, text_of(query, node),
                                       operand(query, match, &steps[2]));
        else if (strcmp(name, "resolves?") == 0)
                result = resolves(query, node, steps + 2, count - 2);
        else
                result = is_any(query, match, text_of(query, node), steps + 2, count - 2);
        return result != is_not;
}

/* The steps of the predicate at `*at`, which is moved past it. */
static uint32_t next_predicate(const TSQueryPredicateStep *steps, uint32_t count, uint32_t *at)
{
        uint32_t start = *at;

        while (*at < count && steps[*at].type != TSQueryPredicateStepTypeDone)
                (*at)++;
        return (*at)++ - start;
}

static bool all_hold(const struct query *query, const TSQueryMatch *match)
{
        uint32_t count, at = 0;
        const TSQueryPredicateStep *steps = steps_of(query, match->pattern_index, &count);

        while (at < count) {
                uint32_t start = at, length = next_predicate(steps, count, &at);

                if (length && !holds(query, match, steps + start, length))
                        return false;
        }
        return true;
}

static _Noreturn void wrong(const struct query *query, uint32_t byte, const char *text,
                            const char *why)
{
        unsigned line = 1, column = 1;

        for (uint32_t i = 0; i < byte && text[i]; i++) {
                line += text[i] == '\n';
                column = text[i] == '\n' ? 1 : column + 1;
        }
        (void)error_set(query->analysis->err, SBX_EINVAL, "%s.scm:%u:%u: %s", query->name, line,
                        column, why);
        arena_give_up(&query->analysis->arena, "a rule is wrong");
}

static const char *check_predicate(const struct query *query, const TSQueryPredicateStep *steps,
                                   uint32_t count, const struct rule **rule)
{
        static const char *const known[] = { "eq?", "any-of?", "match?", "resolves?" };
        const char *name = string_of(query, steps[0].value_id);
        regex_t regex;

        if (strcmp(name, "set!") == 0) {
                if (count != 3 || strcmp(string_of(query, steps[1].value_id), "rule") != 0)
                        return "only 'rule' can be set";
                *rule = match_rule(query->analysis, string_of(query, steps[2].value_id));
                return *rule ? NULL : "no rule has this id";
        }
        name += strncmp(name, "not-", 4) == 0 ? 4 : 0;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
                if (strcmp(name, known[i]) != 0)
                        continue;
                if (count < 3 || steps[1].type != TSQueryPredicateStepTypeCapture)
                        return "a predicate needs a capture and a text";
                if (strcmp(name, "match?") != 0)
                        return NULL;
                if (steps[2].type != TSQueryPredicateStepTypeString ||
                    regcomp(&regex, string_of(query, steps[2].value_id),
                            REG_EXTENDED | REG_NOSUB) != 0)
                        return "not a regular expression";
                regfree(&regex);
                return NULL;
        }
        return "unknown predicate";
}

/* Which rule each pattern belongs to; what is wrong with one ends the analysis. */
static const struct rule **rules_of(const struct query *query, const char *text)
{
        uint32_t patterns =
                query->plain ? (uint32_t)query->plain->count : ts_query_pattern_count(query->query);
        const struct rule **rules =
                arena_alloc(&query->analysis->arena, (patterns + 1) * sizeof(struct rule *));

        for (uint32_t pattern = 0; pattern < patterns; pattern++) {
                uint32_t byte = query->plain
                                        ? query->plain->patterns[pattern].byte
                                        : ts_query_start_byte_for_pattern(query->query, pattern);
                uint32_t count, at = 0;
                const TSQueryPredicateStep *steps = steps_of(query, pattern, &count);

                while (at < count) {
                        uint32_t start = at, length = next_predicate(steps, count, &at);
                        const char *why = length ? check_predicate(query, steps + start, length,
                                                                   &rules[pattern])
                                                 : NULL;

                        if (why)
                                wrong(query, byte, text, why);
                }
                if (!rules[pattern])
                        wrong(query, byte, text, "the pattern does not say (#set! rule \"id\")");
        }
        return rules;
}

static const char *error_of(TSQueryError error)
{
        static const char *const texts[] = {
                [TSQueryErrorSyntax] = "the query is not of the right form",
                [TSQueryErrorNodeType] = "the language has no such kind of node",
                [TSQueryErrorField] = "the language has no such field",
                [TSQueryErrorCapture] = "there is no such capture",
                [TSQueryErrorStructure] = "nothing can look like this",
        };

        return error < sizeof(texts) / sizeof(texts[0]) && texts[error]
                       ? texts[error]
                       : "the query cannot be used";
}

/* A match that the library or plain_match() found, which becomes a finding where all holds. */
static void take_match(void *context, const TSQueryMatch *match)
{
        struct query *query = context;
        struct analysis *analysis = query->analysis;
        const char *what;
        size_t length;
        TSNode node;

        arena_step(&analysis->arena);
        if (query->budget == 0 || match->capture_count == 0 || !all_hold(query, match))
                return;
        query->budget--;
        node = match->captures[0].node;
        what = unit_text(query->unit, node, &length);
        what = arena_strndup(&analysis->arena, what,
                             length < NAME_SHOWN_MAX ? length : NAME_SHOWN_MAX);
        report_finding(analysis, query->rules[match->pattern_index], RULE_LISTS, what,
                       unit_place(query->unit, node), false);
}

static void run_by_library(struct query *query, const char *text)
{
        struct analysis *analysis = query->analysis;
        const struct unit *unit = query->unit;
        TSQueryError error = TSQueryErrorNone;
        uint32_t offset = 0, budget = MATCHES_MAX;
        TSQueryMatch match;

        analysis->query = ts_query_new(unit->grammar->language(), text, (uint32_t)strlen(text),
                                       &offset, &error);
        query->query = analysis->query;
        if (!query->query)
                wrong(query, offset, text, error_of(error));
        query->rules = rules_of(query, text);
        analysis->query_cursor = ts_query_cursor_new();
        ts_query_cursor_set_match_limit(analysis->query_cursor, MATCH_LIMIT);
        ts_query_cursor_exec(analysis->query_cursor, query->query, ts_tree_root_node(unit->tree));
        while (budget-- && ts_query_cursor_next_match(analysis->query_cursor, &match))
                take_match(query, &match);
        ts_query_cursor_delete(analysis->query_cursor);
        analysis->query_cursor = NULL;
        ts_query_delete(analysis->query);
        analysis->query = NULL;
}

static void run_plain(struct query *query, const char *text)
{
        const struct plain *plain = query->plain;
        const struct unit *unit = query->unit;

        query->rules = rules_of(query, text);
        for (size_t i = 0; i < unit->root_count; i++)
                for (size_t pattern = 0; pattern < plain->count; pattern++)
                        plain_match(&query->analysis->arena, plain, pattern, unit->roots[i],
                                    take_match, query);
}

/* How much of the source a condition asks about. */
static size_t whole(const struct analysis *analysis)
{
        return analysis->length;
}

static size_t top(const struct analysis *analysis)
{
        enum { TOP_LINES = 2 };

        return analysis->line_count > TOP_LINES ? analysis->lines[TOP_LINES] : analysis->length;
}

static const struct condition {
        const char *mark;
        size_t (*length)(const struct analysis *analysis);
} conditions[] = {
        { "; if: ", whole },
        { "; if at the top: ", top },
};

/* Whether one of the words of the line stands in the first `length` bytes of the source. */
static bool has_word(const struct analysis *analysis, size_t length, const char *words)
{
        for (;;) {
                size_t word;

                words += strspn(words, " \t");
                word = strcspn(words, " \t\n");
                if (word == 0)
                        return false;
                if (memmem(analysis->source, length, words, word))
                        return true;
                words += word;
        }
}

/* Whether all conditions of the paragraph hold. */
static bool is_needed(const struct analysis *analysis, const char *start, const char *end)
{
        for (const char *line = start; line < end; line += strcspn(line, "\n") + 1)
                for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
                        if (str_has_prefix(line, conditions[i].mark) &&
                            !has_word(analysis, conditions[i].length(analysis),
                                      line + strlen(conditions[i].mark)))
                                return false;
        return true;
}

/* The text with the paragraphs blank that are not needed, so that places stay; NULL where nothing
 * is left. */
static const char *needed_part(struct analysis *analysis, const char *text)
{
        char *part = arena_strndup(&analysis->arena, text, strlen(text));
        bool is_empty = true;

        for (char *start = part; *start;) {
                char *end = strstr(start, "\n\n");

                end = end ? end + 2 : start + strlen(start);
                if (is_needed(analysis, start, end))
                        is_empty &= memchr(start, '(', (size_t)(end - start)) == NULL;
                else
                        for (char *p = start; p < end; p++)
                                *p = *p == '\n' ? '\n' : ' ';
                start = end;
        }
        return is_empty ? NULL : part;
}

/* The kinds of nodes at which plain patterns begin are noted while the tree is gone through. */
void query_prepare(struct analysis *analysis)
{
        const TSLanguage *language = analysis->grammar->language();

        for (size_t i = 0; i < analysis->query_count; i++) {
                struct query_text *query = &analysis->queries[i];

                query->text = needed_part(analysis, query->text);
                /* Those of others are the library's to read: it tells what cannot be. */
                if (!query->text || !query->is_built_in)
                        continue;
                query->plain = plain_read(&analysis->arena, language, query->text);
                if (query->plain && !analysis->is_root)
                        analysis->is_root = arena_alloc(&analysis->arena,
                                                        ts_language_symbol_count(language) + 1);
                for (size_t at = 0; query->plain && at < query->plain->count; at++)
                        analysis->is_root[query->plain->patterns[at].root->symbol] = true;
        }
}

void query_run(struct analysis *analysis, const struct unit *unit)
{
        for (size_t i = 0; i < analysis->query_count; i++) {
                const struct query_text *text = &analysis->queries[i];
                struct query query = { .analysis = analysis,
                                       .unit = unit,
                                       .plain = text->plain,
                                       .budget = MATCHES_MAX,
                                       .name = text->name };

                if (text->plain)
                        run_plain(&query, text->text);
                else if (text->text)
                        run_by_library(&query, text->text);
        }
}
