/*
 * Comparing an output with the expected one. Both are bytes and may be of any size; nothing is
 * copied but the short excerpts of a difference.
 */
#include "cases/cases.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_BYTES_MAX = 128, EXCERPT_BYTES_MAX = 100 };

static const char *const mode_names[COMPARE_COUNT] = {
        [COMPARE_TRIMMED] = "trimmed",
        [COMPARE_EXACT] = "exact",
        [COMPARE_TOKENS] = "tokens",
        [COMPARE_FLOAT] = "float",
};

const char *compare_mode_name(enum compare_mode mode)
{
        return mode_names[mode];
}

/* A part of one of the two. */
struct piece {
        const char *data;
        size_t length;
};

/* A text while it is read, piece by piece. */
struct cursor {
        struct piece rest;
        size_t line; /* of what was taken last */
        size_t next_line;
};

static bool is_blank(char c)
{
        return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool is_equal(struct piece a, struct piece b)
{
        return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* ---- differences ---- */

/* A short, printable beginning, cut between characters. */
static void show(struct piece piece, char text[DIFFERENCE_TEXT_MAX])
{
        size_t length = piece.length < EXCERPT_BYTES_MAX ? piece.length : EXCERPT_BYTES_MAX;
        size_t whole = str_utf8_complete(piece.data, length), used = 0;
        char copy[EXCERPT_BYTES_MAX + 1] = "";

        if (whole)
                memcpy(copy, piece.data, whole);
        text[0] = '\0';
        for (size_t at = 0; at < whole; at += strlen(copy + at) + 1) { /* NUL bytes are between */
                if (at > 0 && used + 16 < DIFFERENCE_TEXT_MAX)
                        used += (size_t)snprintf(text + used, 5, "\\x00");
                (void)str_printable(copy + at, text + used, DIFFERENCE_TEXT_MAX - 8 - used);
                used = str_utf8_complete(text, strlen(text)); /* its room may end in a character */
                text[used] = '\0';
                if (used + 16 >= DIFFERENCE_TEXT_MAX)
                        break;
        }
        if (piece.length > whole || used + 16 >= DIFFERENCE_TEXT_MAX)
                (void)snprintf(text + used, 4, "...");
}

static bool differ(struct difference *difference, size_t line, const struct piece *expected,
                   const struct piece *got)
{
        *difference =
                (struct difference){ .line = line, .expected_ended = !expected, .got_ended = !got };
        if (expected)
                show(*expected, difference->expected);
        if (got)
                show(*got, difference->got);
        return false;
}

/* ---- lines ---- */

/* The next line without its end; false after the last. */
static bool next_line(struct cursor *cursor, struct piece *ret_line)
{
        const char *newline;

        if (cursor->rest.length == 0)
                return false;
        newline = memchr(cursor->rest.data, '\n', cursor->rest.length);
        ret_line->data = cursor->rest.data;
        ret_line->length = newline ? (size_t)(newline - cursor->rest.data) : cursor->rest.length;
        cursor->rest.data += ret_line->length + (newline != NULL);
        cursor->rest.length -= ret_line->length + (newline != NULL);
        cursor->line = cursor->next_line++;
        return true;
}

static struct piece trim_end(struct piece line)
{
        while (line.length > 0 && is_blank(line.data[line.length - 1]))
                line.length--;
        return line;
}

/* All of it without blanks and empty lines at its end. */
static struct piece trim_text(struct piece text)
{
        while (text.length > 0 &&
               (is_blank(text.data[text.length - 1]) || text.data[text.length - 1] == '\n'))
                text.length--;
        return text;
}

static bool compare_lines(struct piece expected, struct piece got, bool trimmed,
                          struct difference *difference)
{
        struct cursor a = { .rest = expected, .next_line = 1 }, b = { .rest = got, .next_line = 1 };

        for (;;) {
                struct piece x, y;
                bool has_x = next_line(&a, &x), has_y = next_line(&b, &y);

                if (!has_x && !has_y)
                        return true;
                if (has_x && trimmed)
                        x = trim_end(x);
                if (has_y && trimmed)
                        y = trim_end(y);
                if (!has_x || !has_y || !is_equal(x, y))
                        return differ(difference, has_y ? b.line : b.next_line, has_x ? &x : NULL,
                                      has_y ? &y : NULL);
        }
}

/* ---- words ---- */

static bool next_word(struct cursor *cursor, struct piece *ret_word)
{
        struct piece *rest = &cursor->rest;
        size_t length = 0;

        while (rest->length > 0 && (is_blank(*rest->data) || *rest->data == '\n')) {
                cursor->next_line += *rest->data == '\n';
                rest->data++;
                rest->length--;
        }
        while (length < rest->length && !is_blank(rest->data[length]) && rest->data[length] != '\n')
                length++;
        *ret_word = (struct piece){ rest->data, length };
        rest->data += length;
        rest->length -= length;
        cursor->line = cursor->next_line;
        return length > 0;
}

/* 10 to the n, by squaring; infinite beyond what a double holds. */
static double power_of_ten(long n)
{
        double power = 1, base = 10;

        for (n = n > 1000 || n < 0 ? 1000 : n; n > 0; n >>= 1, base *= base)
                if (n & 1)
                        power *= base;
        return power;
}

/* A decimal number, "inf" or "nan" with a sign or without; nothing else that strtod() takes. The
 * decimal point is a point whatever the caller's locale says, so the digits are read here. */
bool compare_read_number(const char *word, size_t length, double *ret_value)
{
        static const char *const names[] = { "inf", "infinity", "nan" };
        char text[NUMBER_BYTES_MAX + 1];
        double value = 0, scale = 1;
        size_t i = 0, digits = 0;
        bool negative;
        long exponent = 0;

        if (length == 0 || length > NUMBER_BYTES_MAX)
                return false;
        memcpy(text, word, length);
        text[length] = '\0';
        negative = text[0] == '-';
        i = text[0] == '-' || text[0] == '+';
        for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
                if (strcasecmp(text + i, names[n]) != 0)
                        continue;
                *ret_value = n < 2 ? (negative ? -INFINITY : INFINITY) : NAN;
                return true;
        }
        for (; text[i] >= '0' && text[i] <= '9'; i++, digits++)
                value = value * 10 + (text[i] - '0');
        if (text[i] == '.')
                for (i++; text[i] >= '0' && text[i] <= '9'; i++, digits++) {
                        value = value * 10 + (text[i] - '0');
                        scale *= 10;
                }
        if (digits == 0)
                return false;
        if (text[i] == 'e' || text[i] == 'E') {
                char *end;

                if (!strchr("+-0123456789", text[i + 1]) || !text[i + 1])
                        return false;
                exponent = strtol(text + i + 1, &end, 10);
                i = (size_t)(end - text);
                if (text[i - 1] < '0' || text[i - 1] > '9')
                        return false;
        }
        if (text[i] != '\0' || i != length)
                return false;
        value = exponent < 0 ? value / scale / power_of_ten(-exponent)
                             : value / scale * power_of_ten(exponent);
        *ret_value = negative ? -value : value;
        return true;
}

/* Equal within the tolerance, absolute or relative to the expected number. */
static bool is_near(struct piece expected, struct piece got, double tolerance)
{
        double x, y;

        if (!compare_read_number(expected.data, expected.length, &x) ||
            !compare_read_number(got.data, got.length, &y))
                return false;
        if (isnan(x) || isnan(y))
                return isnan(x) && isnan(y);
        if (isinf(x) || isinf(y))
                return x == y;
        return fabs(x - y) <= tolerance || fabs(x - y) <= tolerance * fabs(x);
}

static bool compare_words(struct piece expected, struct piece got, const double *tolerance,
                          struct difference *difference)
{
        struct cursor a = { .rest = expected, .next_line = 1 }, b = { .rest = got, .next_line = 1 };

        for (;;) {
                struct piece x, y;
                bool has_x = next_word(&a, &x), has_y = next_word(&b, &y);

                if (!has_x && !has_y)
                        return true;
                if (has_x && has_y && (is_equal(x, y) || (tolerance && is_near(x, y, *tolerance))))
                        continue;
                return differ(difference, b.line, has_x ? &x : NULL, has_y ? &y : NULL);
        }
}

bool compare_output(enum compare_mode mode, double tolerance, const char *expected,
                    size_t expected_length, const char *got, size_t got_length,
                    struct difference *ret_difference)
{
        static const struct piece with = { "a newline at the end", 20 },
                                  without = { "no newline at the end", 21 };
        struct piece x = { expected, expected_length }, y = { got, got_length };

        switch (mode) {
        case COMPARE_TOKENS:
                return compare_words(x, y, NULL, ret_difference);
        case COMPARE_FLOAT:
                return compare_words(x, y, &tolerance, ret_difference);
        case COMPARE_TRIMMED:
                return compare_lines(trim_text(x), trim_text(y), true, ret_difference);
        default:
                if (is_equal(x, y))
                        return true;
                if (!compare_lines(x, y, false, ret_difference))
                        return false;
                /* Every line is the same: one of them lacks the last newline. */
                *ret_difference = (struct difference){ .line = 1 };
                for (size_t i = 0; i < got_length; i++)
                        ret_difference->line += got[i] == '\n' && i + 1 < got_length;
                show(expected_length > got_length ? with : without, ret_difference->expected);
                show(expected_length > got_length ? without : with, ret_difference->got);
                return false;
        }
}
