/*
 * forbidden_patterns: compared with the tokens of the source, so that neither spaces nor line ends
 * nor comments hide one, and text in strings and comments is none. "text:" before a pattern asks
 * for the source as it is, strings and comments included.
 *
 * All tokens are written one after another, with a mark between two that would else become one
 * word; the pattern is written the same way. A pattern that begins or ends with a letter does so
 * where a token does.
 */
#include "analysis/analysis.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

static const char text_prefix[] = "text:";
static const char between = '\1';

struct tokens {
        struct arena *arena;
        char *text;
        uint32_t *bytes; /* of each character, where it stands in the source */
        uint8_t *starts; /* of each character, whether a token begins with it */
        size_t length, capacity;
};

static bool is_word(char c)
{
        return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static void grow(struct tokens *tokens, size_t more)
{
        size_t capacity = tokens->capacity ? tokens->capacity : 4096;
        char *text;
        uint32_t *bytes;
        uint8_t *starts;

        if (tokens->length + more + 2 <= tokens->capacity)
                return;
        while (capacity < tokens->length + more + 2)
                capacity *= 2;
        text = arena_alloc(tokens->arena, capacity);
        bytes = arena_alloc(tokens->arena, capacity * sizeof(*bytes));
        starts = arena_alloc(tokens->arena, capacity);
        if (tokens->length) {
                memcpy(text, tokens->text, tokens->length);
                memcpy(bytes, tokens->bytes, tokens->length * sizeof(*bytes));
                memcpy(starts, tokens->starts, tokens->length);
        }
        tokens->text = text;
        tokens->bytes = bytes;
        tokens->starts = starts;
        tokens->capacity = capacity;
}

static void add(struct tokens *tokens, const char *text, size_t length, uint32_t byte)
{
        if (length == 0)
                return;
        grow(tokens, length);
        if (tokens->length && is_word(tokens->text[tokens->length - 1]) && is_word(text[0])) {
                tokens->text[tokens->length] = between;
                tokens->bytes[tokens->length++] = byte;
        }
        for (size_t i = 0; i < length; i++) {
                tokens->text[tokens->length] = text[i];
                tokens->bytes[tokens->length] = byte + (uint32_t)i;
                tokens->starts[tokens->length++] = i == 0;
        }
}

static void collect(struct analysis *analysis, const struct unit *unit, struct tokens *tokens)
{
        TSTreeCursor *cursor = &analysis->cursor;

        if (analysis->has_cursor)
                ts_tree_cursor_reset(cursor, ts_tree_root_node(unit->tree));
        else
                *cursor = ts_tree_cursor_new(ts_tree_root_node(unit->tree));
        analysis->has_cursor = true;
        for (;;) {
                TSNode node = ts_tree_cursor_current_node(cursor);
                enum role role = unit_role(unit, node);
                bool is_skipped = role == ROLE_COMMENT || role == ROLE_STRING;
                size_t length;

                arena_step(&analysis->arena);
                if (!is_skipped && ts_tree_cursor_goto_first_child(cursor))
                        continue;
                if (!is_skipped) {
                        const char *text = unit_text(unit, node, &length);

                        add(tokens, text, length, ts_node_start_byte(node));
                } else if (role == ROLE_STRING) {
                        add(tokens, "\2", 1, ts_node_start_byte(node)); /* some string */
                }
                while (!ts_tree_cursor_goto_next_sibling(cursor))
                        if (!ts_tree_cursor_goto_parent(cursor))
                                return;
        }
}

/* The pattern as the tokens are written: spaces count only between two words. */
static const char *normal_pattern(struct analysis *analysis, const char *pattern)
{
        char *out = arena_alloc(&analysis->arena, strlen(pattern) + 1);
        size_t used = 0;
        bool spaced = false;

        for (; *pattern; pattern++) {
                if (isspace((unsigned char)*pattern)) {
                        spaced = true;
                        continue;
                }
                if (spaced && used && is_word(out[used - 1]) && is_word(*pattern))
                        out[used++] = between;
                spaced = false;
                out[used++] = *pattern;
        }
        return out;
}

static struct place place_of_byte(const struct analysis *analysis, uint32_t byte, size_t length)
{
        size_t low = 0, high = analysis->line_count;
        uint32_t column;

        while (high - low > 1) {
                size_t middle = low + (high - low) / 2;

                if (analysis->lines[middle] <= byte)
                        low = middle;
                else
                        high = middle;
        }
        column = byte - analysis->lines[low];
        return (struct place){
                .start = { (uint32_t)low, column },
                .end = { (uint32_t)low, column + (uint32_t)length },
                .byte = byte,
        };
}

static void match_tokens(struct analysis *analysis, const struct tokens *tokens,
                         const struct watch_item *watched)
{
        const char *pattern = normal_pattern(analysis, watched->text);
        size_t length = strlen(pattern);

        for (size_t at = 0; length && at + length <= tokens->length; at++) {
                const char *found = memmem(tokens->text + at, tokens->length - at, pattern, length);
                size_t end;

                if (!found)
                        return;
                at = (size_t)(found - tokens->text);
                end = at + length;
                if (is_word(pattern[0]) && !tokens->starts[at])
                        continue;
                if (is_word(pattern[length - 1]) && end < tokens->length &&
                    is_word(tokens->text[end]) && !tokens->starts[end])
                        continue;
                report_finding(analysis, watched->rule, LIST_PATTERNS, watched->text,
                               place_of_byte(analysis, tokens->bytes[at], length), false);
        }
}

static void match_text(struct analysis *analysis, const struct watch_item *watched)
{
        const char *pattern = watched->text + strlen(text_prefix);
        size_t length = strlen(pattern), at = 0;

        while (length && at + length <= analysis->length) {
                const char *found =
                        memmem(analysis->source + at, analysis->length - at, pattern, length);

                if (!found)
                        return;
                at = (size_t)(found - analysis->source);
                report_finding(analysis, watched->rule, LIST_PATTERNS, watched->text,
                               place_of_byte(analysis, (uint32_t)at, length), false);
                at += length;
        }
}

void tokens_match(struct analysis *analysis, const struct unit *unit)
{
        const struct watch *watch = &analysis->watches[LIST_PATTERNS];
        struct tokens tokens = { .arena = &analysis->arena };

        if (!watch->others)
                return;
        collect(analysis, unit, &tokens);
        for (const struct watch_item *pattern = watch->others; pattern; pattern = pattern->next)
                if (str_has_prefix(pattern->text, text_prefix))
                        match_text(analysis, pattern);
                else
                        match_tokens(analysis, &tokens, pattern);
}

/* Paths in the tokens of a macro: a::b::c. */
void tokens_paths(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        uint32_t count = ts_node_child_count(node);
        struct value value = { 0 };
        bool joining = false;

        if (analysis->learning || count > 4096)
                return;
        for (uint32_t i = 0; i < count; i++) {
                TSNode child = ts_node_child(node, i);
                size_t length;
                const char *text = unit_text(unit, child, &length);

                if (unit_role(unit, child) == ROLE_IDENTIFIER) {
                        value = joining && value.kind == VALUE_NAME
                                        ? value_member(analysis, unit, value, text, length)
                                        : value_identifier(analysis, unit, child);
                        if (value.kind == VALUE_NAME) {
                                value.guess = true;
                                match_reference(analysis, unit, child, value);
                        }
                        joining = false;
                } else {
                        joining = (length == 2 && memcmp(text, "::", 2) == 0) ||
                                  (length == 1 && text[0] == '.');
                }
        }
}
