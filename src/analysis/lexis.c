/* Where literals, numbers and comments of C and C++ end: for text that no grammar reads, and for
 * what the grammars read otherwise than a compiler does. */
#include "analysis/scope.h"

#include <ctype.h>
#include <string.h>

bool lexis_is_letter(char c)
{
        return isalnum((unsigned char)c) || c == '_';
}

size_t lexis_splice(const char *text, size_t length)
{
        size_t at = 1;

        if (length == 0 || text[0] != '\\')
                return 0;
        while (at < length && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
                at++;
        return at < length && text[at] == '\n' ? at + 1 : 0;
}

/* The end of a quoted text, or of its line where it is not closed; of the line for no quote. */
static size_t quoted_end(const char *text, size_t length, size_t at, char quote)
{
        while (at < length && text[at] != '\n') {
                size_t splice = lexis_splice(text + at, length - at);

                if (quote && text[at] == quote)
                        return at + 1;
                at += splice ? splice : text[at] == '\\' && quote ? 2 : 1;
        }
        return at < length ? at : length;
}

/* The end of R"x(...)x" whose quote is here; here where it is none. */
static size_t raw_end(const char *text, size_t length, size_t at)
{
        enum { DELIMITER_MAX = 16 };
        char closing[DELIMITER_MAX + 2] = ")";
        size_t size = 0, rest;
        const char *close;

        while (size <= DELIMITER_MAX && at + 1 + size < length &&
               !strchr("( )\\\"\t\v\f\n", text[at + 1 + size]))
                size++;
        rest = at + 1 + size;
        if (size > DELIMITER_MAX || rest >= length || text[rest] != '(')
                return at;
        memcpy(closing + 1, text + at + 1, size);
        for (close = text + rest; close; close++) {
                size_t end;

                close = memmem(close, length - (size_t)(close - text), closing, size + 1);
                if (!close)
                        break;
                end = (size_t)(close - text) + size + 1;
                if (end < length && text[end] == '"')
                        return end + 1;
        }
        return length;
}

static bool is_raw_prefix(const char *word, size_t length)
{
        static const char *const prefixes[] = { "R", "LR", "uR", "UR", "u8R" };

        for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
                if (strlen(prefixes[i]) == length && memcmp(word, prefixes[i], length) == 0)
                        return true;
        return false;
}

/* 0x1F, 1e5, and 1'000'000 of C++ */
static size_t number_end(const char *text, size_t length, size_t at, bool is_cpp)
{
        while (at < length &&
               (lexis_is_letter(text[at]) ||
                (is_cpp && text[at] == '\'' && at + 1 < length && lexis_is_letter(text[at + 1]))))
                at++;
        return at;
}

struct lexeme lexis_next(const char *text, size_t length, size_t at, bool is_cpp)
{
        char first = text[at], second = at + 1 < length ? text[at + 1] : '\0';
        size_t end = at + 1;

        if (first == '"' || first == '\'')
                return (struct lexeme){ LEXEME_LITERAL, quoted_end(text, length, end, first) };
        if (first == '/' && second == '/')
                return (struct lexeme){ LEXEME_COMMENT, quoted_end(text, length, end, '\0') };
        if (first == '/' && second == '*') {
                const char *close = memmem(text + end + 1, length - end - 1, "*/", 2);

                return (struct lexeme){ LEXEME_COMMENT,
                                        close ? (size_t)(close - text) + 2 : length };
        }
        if (isdigit((unsigned char)first))
                return (struct lexeme){ LEXEME_NUMBER, number_end(text, length, end, is_cpp) };
        if (!lexis_is_letter(first))
                return (struct lexeme){ LEXEME_OTHER, end };
        while (end < length && lexis_is_letter(text[end]))
                end++;
        if (end < length && text[end] == '"' && is_raw_prefix(text + at, end - at)) {
                size_t raw = raw_end(text, length, end);

                if (raw > end)
                        return (struct lexeme){ LEXEME_RAW, raw };
        }
        return (struct lexeme){ LEXEME_WORD, end };
}

/* Source that is changed in some places, and not copied where it is not. */
struct change {
        struct arena *arena;
        const char *text;
        size_t length;
        char *out;
};

static void put(struct change *change, size_t at, char c)
{
        if (!change->out) {
                change->out = arena_alloc(change->arena, change->length + 1);
                memcpy(change->out, change->text, change->length);
        }
        change->out[at] = c;
}

static void blank(struct change *change, size_t at, size_t end)
{
        for (; at < end; at++)
                if (change->text[at] != '\n')
                        put(change, at, ' ');
}

/* No comment begins in a literal. */
static void hide_comments(struct change *change, size_t at, size_t end)
{
        for (; at + 1 < end; at++)
                if (change->text[at] == '/' && change->text[at + 1] == '*')
                        put(change, at + 1, '?');
}

/* A raw literal becomes an ordinary one; an empty one where it has several lines. */
static void plain_literal(struct change *change, size_t at, size_t end)
{
        const char *quote = memchr(change->text + at, '"', end - at);
        size_t start = (size_t)(quote - change->text) + 1;

        if (memchr(quote, '\n', end - start)) {
                blank(change, at, end);
                put(change, at, '"');
                put(change, at + 1, '"');
                return;
        }
        blank(change, at, start - 1);
        for (size_t i = start; i + 1 < end; i++)
                if (change->text[i] == '"' || change->text[i] == '\\')
                        put(change, i, '?');
        hide_comments(change, start, end);
}

/* What stands behind a comment of a directive belongs to it as well, unless the line ends there.
 * A line comment must not end in "/": the grammars take that and the line's end together. */
static void mend_comment(struct change *change, size_t at, size_t end)
{
        size_t next = end;

        if (change->text[at + 1] == '/') {
                if (end > at + 2 && change->text[end - 1] == '/')
                        put(change, end - 1, ' ');
                return;
        }
        while (next < change->length && (change->text[next] == ' ' || change->text[next] == '\t' ||
                                         change->text[next] == '\r'))
                next++;
        if (next < change->length && change->text[next] != '\n')
                blank(change, at, end);
}

/* Whether a literal reaches to its line's end without a quote that closes it. */
static bool is_open(const char *text, size_t at, size_t end)
{
        return end - at < 2 || text[end - 1] != text[at] || text[end - 2] == '\\';
}

/* Whether <...> may follow: of #include, or of __has_include() in a condition. */
static bool is_before_header(const char *word, size_t length)
{
        return memmem(word, length, "include", strlen("include")) ||
               memmem(word, length, "embed", strlen("embed"));
}

/* The end of <...>, or here where it is not closed. */
static size_t header_end(const char *text, size_t length, size_t at)
{
        size_t end = at;

        while (end < length && text[end] != '>' && text[end] != '\n')
                end++;
        return end < length && text[end] == '>' ? end + 1 : at + 1;
}

const char *lexis_mended(struct analysis *analysis, const char *text, size_t length, bool is_cpp)
{
        struct change change = { &analysis->arena, text, length, NULL };
        bool is_start = true, is_directive = false, is_header = false;
        struct lexeme lexeme;

        for (size_t at = 0; at < length; at = lexeme.end) {
                size_t splice = lexis_splice(text + at, length - at);

                lexeme = splice ? (struct lexeme){ LEXEME_COMMENT, at + splice }
                                : lexis_next(text, length, at, is_cpp);
                if (splice || text[at] == ' ' || text[at] == '\t')
                        continue;
                if (text[at] == '\n') {
                        is_start = true;
                        is_directive = is_header = false;
                        continue;
                }
                if (lexeme.kind == LEXEME_COMMENT) {
                        if (is_directive)
                                mend_comment(&change, at, lexeme.end);
                        continue;
                }
                is_directive |= is_start && text[at] == '#';
                is_start = false;
                if (is_directive && lexeme.kind == LEXEME_WORD) {
                        is_header = is_before_header(text + at, lexeme.end - at);
                } else if (is_header && text[at] == '<') {
                        lexeme.end = header_end(text, length, at);
                        hide_comments(&change, at, lexeme.end);
                }
                if (lexeme.kind == LEXEME_RAW && (is_directive || !is_cpp))
                        plain_literal(&change, at, lexeme.end);
                else if (lexeme.kind == LEXEME_LITERAL &&
                         (is_directive || is_open(text, at, lexeme.end)))
                        hide_comments(&change, at, lexeme.end);
        }
        return change.out ? change.out : text;
}
