/* Text that the grammar does not read further: the body of a macro of C, and the like. */
#include "analysis/scope.h"

#include <ctype.h>
#include <string.h>

/* Whether a word is a member of something, or part of a name that is put together. */
static bool is_part(const char *text, size_t length, size_t start, size_t end)
{
        while (start > 0 && isspace((unsigned char)text[start - 1]))
                start--;
        while (end < length && isspace((unsigned char)text[end]))
                end++;
        return (start > 0 && (text[start - 1] == '.' || text[start - 1] == '#')) ||
               (start > 1 && text[start - 2] == '-' && text[start - 1] == '>') ||
               (end + 1 < length && text[end] == '#' && text[end + 1] == '#');
}

static void match_word(struct analysis *analysis, const struct unit *unit, TSNode node,
                       const char *word, size_t length)
{
        struct value values[ALTERNATIVES_MAX];
        unsigned count = scope_alternatives(analysis, unit, word, length, UINT32_MAX, values);

        for (unsigned i = 0; i < count; i++) {
                values[i].guess = true;
                if (values[i].kind == VALUE_NAME)
                        match_reference(analysis, unit, node, values[i]);
        }
}

int words_index(const struct unit *unit, TSNode names, const char *name, size_t length)
{
        uint32_t count = node_count(names);

        for (uint32_t i = 0; i < count && i < 10; i++) {
                size_t own;
                const char *text = unit_text(unit, node_child(names, i), &own);

                if (own == length && memcmp(text, name, length) == 0)
                        return (int)i;
        }
        return -1;
}

/* 1'0 + system(x) + 1'0 of C: a literal in the middle, or, since C23, two numbers. */
static bool is_doubtful(const struct unit *unit, const char *text, size_t at)
{
        return unit->grammar == &grammar_c && text[at] == '\'' && at > 0 &&
               lexis_is_letter(text[at - 1]);
}

void words_match(struct analysis *analysis, const struct unit *unit, TSNode node, const char *text,
                 size_t length, TSNode except)
{
        struct lexeme lexeme;

        if (analysis->learning)
                return;
        for (size_t at = 0; at < length; at = lexeme.end) {
                arena_step(&analysis->arena);
                lexeme = lexis_next(text, length, at, unit->grammar == &grammar_cpp);
                if (lexeme.kind == LEXEME_LITERAL && is_doubtful(unit, text, at))
                        words_match(analysis, unit, node, text + at + 1, lexeme.end - at - 1,
                                    except);
                if (lexeme.kind == LEXEME_WORD && lexeme.end - at < NAME_SHOWN_MAX &&
                    !is_part(text, length, at, lexeme.end) &&
                    words_index(unit, except, text + at, lexeme.end - at) < 0)
                        match_word(analysis, unit, node, text + at, lexeme.end - at);
        }
}
