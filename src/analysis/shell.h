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

enum { WRAPPED_MAX = 16 }; /* commands that run commands, within each other */

/* A program that runs the program that its words name. */
struct shell_wrapper {
        const char *name;
        const char *with_value; /* options that take the next word, with a space around each */
        unsigned plain;         /* words before the command */
        bool assignments;       /* K=V may come before */
};

/* shell_learn.c: by its name, or NULL. */
const struct shell_wrapper *shell_find_wrapper(struct value name);
/* The index of the word that the wrapper runs, or the count. */
size_t shell_skip_wrapper(const struct unit *unit, const struct shell_wrapper *wrapper,
                          const struct shell_words *words, size_t at);
/* The name of the function around a command that runs the words that the function was called with,
 * as run() { "$@"; } does; or a null node. */
TSNode shell_function_of_words(const struct unit *unit, TSNode word);
/* Under which a function is known that runs its words. */
const char *shell_wrapper_key(struct analysis *analysis, const char *name, size_t length);
void shell_learn_wrapper(struct analysis *analysis, const struct unit *unit,
                         const struct shell_words *words);
/* set -- rm x: what "$@" is from here on. */
void shell_learn_words(struct analysis *analysis, const struct unit *unit, TSNode node,
                       const struct shell_words *words);
/* alias x=y */
void shell_learn_aliases(struct analysis *analysis, const struct shell_words *words);
/* The words that the shell makes of one: {rm,-rf,/}; unknown where it makes none. */
struct value shell_braces(struct analysis *analysis, const struct unit *unit, TSNode node,
                          struct value name);
/* Whether a file that matches is run: /bin/r? */
bool shell_is_pattern(const struct unit *unit, TSNode node, struct value name);

#endif
