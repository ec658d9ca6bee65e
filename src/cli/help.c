/* The help lines made from an option table, and the guess at what a misspelt word meant. */
#include "cli/options.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 28, HELP_WIDTH = 80, NAME_MAX_LENGTH = 32 };

/* Adds `text` from column `at` on, broken between words. */
static void add_wrapped(struct strbuf *out, const char *text, size_t at)
{
        while (*text) {
                size_t word = strcspn(text, " ");

                if (at > HELP_COLUMN && at + 1 + word > HELP_WIDTH) {
                        strbuf_addf(out, "\n%*s", HELP_COLUMN, "");
                        at = HELP_COLUMN;
                } else if (at > HELP_COLUMN) {
                        strbuf_adds(out, " ");
                        at++;
                }
                strbuf_add(out, text, word);
                at += word;
                text += word;
                text += strspn(text, " ");
        }
        strbuf_adds(out, "\n");
}

static void add_option(struct strbuf *out, const struct option *option)
{
        char left[96];
        int length;

        length = snprintf(left, sizeof(left), "  %c%c%s --%s%s%s", option->letter ? '-' : ' ',
                          option->letter ? option->letter : ' ', option->letter ? "," : " ",
                          option->name, option->argument ? " " : "",
                          option->argument ? option->argument : "");
        strbuf_adds(out, left);
        if (length >= HELP_COLUMN - 1)
                strbuf_addf(out, "\n%*s", HELP_COLUMN, "");
        else
                strbuf_addf(out, "%*s", HELP_COLUMN - length, "");
        add_wrapped(out, option->help, HELP_COLUMN);
}

void options_help(const struct option *table, struct strbuf *out)
{
        for (; table->help; table++) {
                if (table->name)
                        add_option(out, table);
                else
                        strbuf_addf(out, "\n%s:\n", table->help);
        }
}

static size_t smallest(size_t a, size_t b, size_t c)
{
        size_t least = a < b ? a : b;

        return least < c ? least : c;
}

/* Levenshtein's distance, over one row; words longer than any of our names are far from all. */
static size_t distance(const char *a, const char *b)
{
        size_t row[NAME_MAX_LENGTH + 1];
        size_t a_length = strlen(a), b_length = strlen(b);

        if (a_length > NAME_MAX_LENGTH || b_length > NAME_MAX_LENGTH)
                return SIZE_MAX;
        for (size_t j = 0; j <= b_length; j++)
                row[j] = j;
        for (size_t i = 1; i <= a_length; i++) {
                size_t diagonal = row[0];

                row[0] = i;
                for (size_t j = 1; j <= b_length; j++) {
                        size_t above = row[j];

                        row[j] = smallest(above + 1, row[j - 1] + 1,
                                          diagonal + (a[i - 1] != b[j - 1]));
                        diagonal = above;
                }
        }
        return row[b_length];
}

const char *nearest_name(const char *word, const char *(*next)(const void *list, size_t index),
                         const void *list)
{
        const char *best = NULL, *name;
        size_t length = strlen(word), best_distance = length / 3 + 1;

        if (length < 2)
                return NULL;
        for (size_t i = 0; (name = next(list, i)) != NULL; i++) {
                /* The beginning of a name counts as near: people shorten. */
                size_t far = length >= 3 && str_has_prefix(name, word) ? 1 : distance(word, name);

                if (far > 1 && name[0] != word[0])
                        continue; /* too far to be a slip */
                if (far <= best_distance && (!best || far < best_distance)) {
                        best = name;
                        best_distance = far;
                }
        }
        return best;
}
