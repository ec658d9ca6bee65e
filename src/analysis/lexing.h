/*
 * The way from character to character, for the generated lexers: included before anything else
 * when a grammar is compiled, and by core.c. A lexer calls its library through pointers for each
 * character, once to go on and once to ask for the end; here both stand in its loop.
 */
#ifndef ANALYSIS_LEXING_H
#define ANALYSIS_LEXING_H

#include <lexer.h>
#include <stdbool.h>
#include <tree_sitter/parser.h>

/* Goes on by one character of one byte that has another of one byte after it. False where more is
 * to be done than that. We give the source as one piece, and never ask for parts of it alone, so
 * what the library does further is needed at the ends, and for other letters. */
static inline bool lexing_step(TSLexer *data, bool skip)
{
        Lexer *lexer = (Lexer *)data;
        uint32_t next = lexer->current_position.bytes + 1 - lexer->chunk_start;
        unsigned char c;

        /* Without a piece its size is 0. */
        if (__builtin_expect(lexer->lookahead_size != 1 || next >= lexer->chunk_size, 0))
                return false;
        c = (unsigned char)lexer->chunk[next];
        if (__builtin_expect(c >= 0x80, 0))
                return false;
        lexer->current_position.bytes++;
        if (__builtin_expect(data->lookahead == '\n', 0)) {
                lexer->current_position.extent.row++;
                lexer->current_position.extent.column = 0;
        } else {
                lexer->current_position.extent.column++;
        }
        if (skip)
                lexer->token_start_position = lexer->current_position;
        data->lookahead = c;
        return true;
}

/* As the library has it, but for the step. */
#undef START_LEXER
#define START_LEXER()                                                                              \
        bool result = false, skip = false, eof __attribute__((unused)) = false;                    \
        int32_t lookahead;                                                                         \
                                                                                                   \
        goto start;                                                                                \
        next_state:                                                                                \
        if (!lexing_step(lexer, skip))                                                             \
                lexer->advance(lexer, skip);                                                       \
        start:                                                                                     \
        skip = false;                                                                              \
        lookahead = lexer->lookahead;

/* The states that follow characters are a list of pairs. It is looked through once for each
 * character of one byte: then the table knows, 0 being for what is not known yet. */
enum { LEXING_TABLE = 128, LEXING_NOTHING = UINT16_MAX };

static inline uint16_t lexing_find(const uint16_t *pairs, size_t count, int32_t lookahead)
{
        for (size_t i = 0; i < count; i += 2)
                if (pairs[i] == lookahead)
                        return (uint16_t)(pairs[i + 1] + 1);
        return LEXING_NOTHING;
}

static inline uint16_t lexing_follow(uint16_t *table, const uint16_t *pairs, size_t count,
                                     int32_t lookahead)
{
        if ((uint32_t)lookahead >= LEXING_TABLE)
                return lexing_find(pairs, count, lookahead);
        if (!table[lookahead])
                table[lookahead] = lexing_find(pairs, count, lookahead);
        return table[lookahead];
}

#undef ADVANCE_MAP
#define ADVANCE_MAP(...)                                                                           \
        {                                                                                          \
                static const uint16_t pairs[] = { __VA_ARGS__ };                                   \
                static uint16_t table[LEXING_TABLE];                                               \
                uint16_t follows =                                                                 \
                        lexing_follow(table, pairs, sizeof(pairs) / sizeof(pairs[0]), lookahead);  \
                                                                                                   \
                if (follows != LEXING_NOTHING) {                                                   \
                        state = (TSStateId)(follows - 1);                                          \
                        goto next_state;                                                           \
                }                                                                                  \
        }

/* Letters of all writings are some hundred ranges, and the characters of one byte ask for them
 * most: what was found for each of those is kept where it is asked; 0 is for what is not known yet.
 */
static inline bool lexing_contains(uint8_t *table, TSCharacterRange *ranges, uint32_t count,
                                   int32_t lookahead)
{
        enum { IS_OUT = 1, IS_IN };

        if ((uint32_t)lookahead >= LEXING_TABLE)
                return set_contains(ranges, count, lookahead);
        if (!table[lookahead])
                table[lookahead] = set_contains(ranges, count, lookahead) ? IS_IN : IS_OUT;
        return table[lookahead] == IS_IN;
}

#define set_contains(ranges, count, lookahead)                                                     \
        __extension__({                                                                            \
                static uint8_t table[LEXING_TABLE];                                                \
                                                                                                   \
                lexing_contains(table, ranges, count, lookahead);                                  \
        })

/* A token ends here, as far as is known: there are no parts at whose ends it could end earlier. */
static inline void lexing_mark_end(TSLexer *data)
{
        Lexer *lexer = (Lexer *)data;

        lexer->token_end_position = lexer->current_position;
}

#undef ACCEPT_TOKEN
#define ACCEPT_TOKEN(symbol)                                                                       \
        result = true;                                                                             \
        lexer->result_symbol = (symbol);                                                           \
        lexing_mark_end(lexer);

/* A generated lexer says `eof = lexer->eof(lexer);` for each character. At the end there is none,
 * so only then the library is asked. */
#define eof(lexer) lookahead == 0 && (lexer)->eof(lexer)

#endif
