/* One analysis from beginning to end. */
#include "analysis/scope.h"
#include "base/mem.h"

#include <string.h>

static void find_lines(struct analysis *analysis)
{
        size_t capacity = 0;

        ARENA_GROW(&analysis->arena, analysis->lines, 0, capacity);
        analysis->lines[analysis->line_count++] = 0;
        for (uint32_t i = 0; i < analysis->length; i++) {
                if (analysis->source[i] != '\n')
                        continue;
                ARENA_GROW(&analysis->arena, analysis->lines, analysis->line_count, capacity);
                analysis->lines[analysis->line_count++] = i + 1;
        }
}

static void analyse(struct analysis *analysis, const struct analysis_rules *rules)
{
        struct unit unit;

        analysis->scope = arena_alloc(&analysis->arena, sizeof(*analysis->scope));
        analysis->memories = arena_alloc(&analysis->arena, MEMORIES * sizeof(*analysis->memories));
        match_prepare(analysis, rules);
        if (analysis->grammar == &grammar_java) {
                size_t length = analysis->length;

                analysis->source = text_translated(analysis, analysis->source, &length);
                analysis->length = (uint32_t)length;
        }
        if (analysis->grammar == &grammar_c || analysis->grammar == &grammar_cpp) {
                analysis->source = text_spliced(analysis, analysis->source, analysis->length);
                analysis->source = lexis_mended(analysis, analysis->source, analysis->length,
                                                analysis->grammar == &grammar_cpp);
        }
        find_lines(analysis);
        query_prepare(analysis);
        unit_parse(analysis, analysis->grammar, analysis->source, analysis->length, &unit);
        analysis->learning = true;
        walk_unit(analysis, &unit);
        analysis->learning = false;
        walk_unit(analysis, &unit);
        tokens_match(analysis, &unit);
        query_run(analysis, &unit);
}

static void analysis_done(struct analysis *analysis)
{
        json_decref(analysis->imports.items);
        json_decref(analysis->calls.items);
        json_decref(analysis->commands.items);
        json_decref(analysis->errors);
        if (analysis->has_cursor)
                ts_tree_cursor_delete(&analysis->cursor);
        for (size_t i = 0; i < analysis->tree_count; i++)
                ts_tree_delete(analysis->trees[i]);
        if (analysis->query_cursor)
                ts_query_cursor_delete(analysis->query_cursor);
        if (analysis->query)
                ts_query_delete(analysis->query);
        ts_parser_delete(analysis->parser);
        arena_done(&analysis->arena);
}

json_t *analysis_run(const char *language, const char *source, size_t length,
                     const struct analysis_rules *rules, struct error *err)
{
        const struct grammar *grammar = grammar_find(language);
        /* On the heap: what is on the stack is not certain after a jump back. */
        struct analysis *analysis;
        json_t *report = NULL;

        if (!grammar)
                return analysis_skipped("there is no grammar for the language");
        if (length > SOURCE_MAX)
                return analysis_skipped("too large");
        analysis = mem_alloc(sizeof(*analysis));
        if (!analysis) {
                (void)error_set_nomem(err);
                return NULL;
        }
        analysis->err = err;
        analysis->grammar = grammar;
        analysis->arena.steps = STEPS_MAX;
        analysis->source = source;
        analysis->length = (uint32_t)length;
        analysis->parser = ts_parser_new();
        analysis->imports.items = json_array();
        analysis->calls.items = json_array();
        analysis->commands.items = json_array();
        analysis->errors = json_array();
        err->code = 0;
        if (setjmp(analysis->arena.giving_up) == 0)
                analyse(analysis, rules);
        else if (err->code == 0)
                analysis->skipped = true;
        if (analysis->skipped)
                report = analysis_skipped(analysis->arena.reason);
        else if (err->code == 0)
                report = report_whole(analysis);
        if (!report && err->code == 0)
                (void)error_set_nomem(err);
        if (!rules->is_last) {
                analysis_done(analysis);
                mem_free(analysis);
        }
        return report;
}
