/* The words of a shell command, as far as they are constant. */
#ifndef ANALYSIS_SHELL_H
#define ANALYSIS_SHELL_H

#include "analysis/analysis.h"

enum { SHELL_WORDS_MAX = 256 };

struct shell_words {
        struct value values[SHELL_WORDS_MAX]; /* VALUE_TEXT or VALUE_UNKNOWN */
        TSNode nodes[SHELL_WORDS_MAX];
        size_t count;
};

/* shell_words.c */
void shell_words_of(struct analysis *analysis, const struct unit *unit, TSNode command,
                    struct shell_words *ret_words);
/* Whether the word is this text. */
bool shell_is(struct value word, const char *text);
/* The last part of a path. */
struct value shell_base_name(struct analysis *analysis, struct value word);
/* Whether the word names a shell. */
bool shell_is_shell(struct analysis *analysis, struct value word);
/* The words from the index on, put together with spaces; VALUE_UNKNOWN where one is unknown. */
struct value shell_joined(struct analysis *analysis, const struct shell_words *words, size_t from);

#endif
