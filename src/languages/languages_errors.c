#include "languages/languages_errors.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line, not terminated. */
struct span {
        const char *start, *end;
};

/* The output is the guest's: a line made to fit in very many ways must not keep us busy. */
enum { STEPS_MAX = 1000000, LINE_BYTES = 2048 };

struct match {
        struct span text;
        const char *line;    /* its digits, or NULL */
        unsigned steps_left; /* for one pattern and the whole output */
};

enum token {
        TOKEN_LINE,
        TOKEN_DIGITS,
        TOKEN_ANYTHING,
        TOKEN_TEXT,
        TOKEN_TEXT_END,
        TOKEN_LITERAL,
};

static const char *const token_names[] = {
        [TOKEN_LINE] = "{line}", [TOKEN_DIGITS] = "{#}",       [TOKEN_ANYTHING] = "{*}",
        [TOKEN_TEXT] = "{text}", [TOKEN_TEXT_END] = "{/text}",
};

static enum token token_at(const char *pattern, size_t *ret_length)
{
        for (unsigned token = 0; token < ARRAY_SIZE(token_names); token++)
                if (str_has_prefix(pattern, token_names[token])) {
                        *ret_length = strlen(token_names[token]);
                        return (enum token)token;
                }
        *ret_length = 1;
        return TOKEN_LITERAL;
}

static bool match_here(const char *pattern, struct span rest, struct match *match);

/* Anything, as little as the rest of the pattern allows; all of the line where nothing is left. */
static bool match_anything(const char *pattern, struct span rest, struct match *match, bool is_text)
{
        const char *start = rest.start;

        if (*pattern == '\0' || str_equal(pattern, token_names[TOKEN_TEXT_END]))
                rest.start = rest.end;
        for (; rest.start <= rest.end; rest.start++)
                if (match_here(pattern, rest, match)) {
                        if (is_text)
                                match->text = (struct span){ start, rest.start };
                        return true;
                }
        return false;
}

static bool match_digits(const char *pattern, struct span rest, struct match *match, bool is_line)
{
        const char *start = rest.start;

        while (rest.start < rest.end && isdigit((unsigned char)*rest.start))
                rest.start++;
        if (rest.start == start || !match_here(pattern, rest, match))
                return false;
        if (is_line)
                match->line = start;
        return true;
}

static bool match_here(const char *pattern, struct span rest, struct match *match)
{
        size_t length;
        enum token token;

        if (match->steps_left == 0)
                return false;
        match->steps_left--;
        if (*pattern == '\0')
                return true;
        token = token_at(pattern, &length);
        switch (token) {
        case TOKEN_LINE:
        case TOKEN_DIGITS:
                return match_digits(pattern + length, rest, match, token == TOKEN_LINE);
        case TOKEN_TEXT:
                if (!strstr(pattern, token_names[TOKEN_TEXT_END]))
                        return match_anything(pattern + length, rest, match, true);
                if (!match_here(pattern + length, rest, match))
                        return false;
                match->text.start = rest.start;
                return true;
        case TOKEN_TEXT_END:
                if (!match_here(pattern + length, rest, match))
                        return false;
                match->text.end = rest.start;
                return true;
        case TOKEN_ANYTHING:
                return match_anything(pattern + length, rest, match, false);
        default:
                rest.start++;
                return rest.start <= rest.end && rest.start[-1] == *pattern &&
                       match_here(pattern + 1, rest, match);
        }
}

/* The line at `at`; it is not longer than what a person reads. */
static struct span line_at(const char *at)
{
        size_t length = strcspn(at, "\n");

        return (struct span){ at, at + (length < LINE_BYTES ? length : LINE_BYTES) };
}

static bool match_any(const char *const *patterns, const char *at, struct match *match)
{
        for (; *patterns; patterns++)
                if (match_here(*patterns, line_at(at), match))
                        return true;
        return false;
}

static const char *next_line(const char *at)
{
        at += strcspn(at, "\n");
        return *at ? at + 1 : NULL;
}

/* The number that the nearest line before tells, or else the nearest one after. `search` has the
 * steps that are left for all such lines of an output, which is the program's to choose. */
static const char *find_line(const struct language *language, const char *output, const char *found,
                             struct match *search)
{
        const char *line = NULL;

        for (const char *at = output; at && search->steps_left > 0; at = next_line(at)) {
                if (at >= found && line)
                        break;
                if (at != found && match_any(language->error_lines, at, search))
                        line = search->line;
        }
        return line;
}

static void take_sentence(struct span text, struct language_error *error)
{
        size_t used = 0;

        while (text.start < text.end && strchr(" \t:", *text.start))
                text.start++;
        while (text.end > text.start && strchr(" \t\r.", text.end[-1]))
                text.end--;
        for (; text.start < text.end && used + 1 < sizeof(error->sentence); text.start++)
                error->sentence[used++] = iscntrl((unsigned char)*text.start) ? ' ' : *text.start;
        error->sentence[used] = '\0';
        while (used > 0 && !str_is_utf8(error->sentence, used)) /* cut within a character */
                error->sentence[--used] = '\0';
}

/* The length of "template NAME" where the output's line begins with that and the number follows, as
 * in "template wrap:5:2: ..."; else 0. */
static size_t template_before(const char *output, const char *line)
{
        static const char word[] = "template ";
        size_t at = (size_t)(line - output), length;

        while (at > 0 && output[at - 1] != '\n')
                at--;
        if (!str_has_prefix(output + at, word))
                return 0;
        length = strlen(word) + strspn(output + at + strlen(word), "abcdefghijklmnopqrstuvwxyz"
                                                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                                   "0123456789._-");
        return output + at + length + 1 == line && line[-1] == ':' ? length : 0;
}

/* The number, and where a template was used what it counts in. */
static void take_line(const char *output, const char *line, struct language_error *error)
{
        size_t length = strspn(line, "0123456789"), name = template_before(output, line);

        if (name > 0 && length + name + strlen(" of ") < sizeof(error->line)) {
                (void)snprintf(error->line, sizeof(error->line), "%.*s of %.*s", (int)length, line,
                               (int)name, line - 1 - name);
                return;
        }
        if (str_has_prefix(line + length, " of "))
                length = strcspn(line, ",)\n");
        (void)snprintf(error->line, sizeof(error->line), "%.*s",
                       (int)(length < sizeof(error->line) ? length : 0), line);
}

static bool find_in(const struct language *language, const char *const *patterns,
                    const char *output, bool needs_line, struct language_error *error)
{
        for (; *patterns; patterns++) {
                struct match match = { .steps_left = STEPS_MAX }, search = match;

                for (const char *at = output; at && match.steps_left > 0; at = next_line(at)) {
                        match.line = NULL;
                        if (!match_here(*patterns, line_at(at), &match))
                                continue;
                        if (!match.line && language->error_lines[0])
                                match.line = find_line(language, output, at, &search);
                        if (!match.line && needs_line)
                                continue;
                        take_sentence(match.text, error);
                        if (match.line)
                                take_line(output, match.line, error);
                        else
                                error->line[0] = '\0';
                        if (error->sentence[0])
                                return true;
                }
        }
        return false;
}

bool language_find_error(const struct language *language, const char *output, bool compiling,
                         struct language_error *ret_error)
{
        struct language_error error = { .is_syntax = true };

        /* A syntax error without a place may be about data that the program has read. */
        if (!find_in(language, language->syntax_errors, output, true, &error)) {
                error.is_syntax = false;
                if (!compiling ||
                    !find_in(language, language->compile_errors, output, false, &error))
                        return false;
        }
        *ret_error = error;
        return true;
}

bool language_is_out_of_memory(const struct language *language, const char *output, int exit_code)
{
        struct match match = { .steps_left = STEPS_MAX };
        bool is_its_end = false;

        for (const char *const *code = language->memory_exits; *code; code++)
                is_its_end |= strtol(*code, NULL, 10) == exit_code;
        for (const char *at = output; is_its_end && at; at = next_line(at))
                if (match_any(language->memory_errors, at, &match))
                        return true;
        return false;
}

const char *language_refuse_pattern(const char *pattern, const char *needs)
{
        const char *brace = pattern;

        if (!strstr(pattern, needs))
                return str_equal(needs, token_names[TOKEN_TEXT]) ? "must hold {text}"
                                                                 : "must hold {line}";
        for (; (brace = strchr(brace, '{')); brace++) {
                size_t length = strspn(brace + 1, "abcdefghijklmnopqrstuvwxyz/");

                if (length > 0 && brace[1 + length] == '}' &&
                    token_at(brace, &length) == TOKEN_LITERAL)
                        return "holds a word in braces that is no part of a pattern";
        }
        return NULL;
}
