/*
 * What a compiler or interpreter said is wrong, found in its output by the patterns of the language
 * file. A pattern is matched from the beginning of a line:
 *
 *         {line}            digits: the line in the code
 *         {text}            anything: the sentence; up to what follows it, or to the line's end
 *         {text}...{/text}  likewise, with what must stand in it
 *         {#}               digits
 *         {*}               anything
 *
 * All else stands for itself. The first pattern of a list that fits a line wins over later ones.
 */
#ifndef LANGUAGES_LANGUAGES_ERRORS_H
#define LANGUAGES_LANGUAGES_ERRORS_H

#include "languages/languages.h"

enum { LANGUAGE_SENTENCE_MAX = 512, LANGUAGE_LINE_MAX = 128 };

struct language_error {
        bool is_syntax;
        char sentence[LANGUAGE_SENTENCE_MAX]; /* without line breaks */
        char line[LANGUAGE_LINE_MAX]; /* "12", "12 of tests" with a template; empty: not told */
};

/* Finds a syntax error in `output`, or, when `compiling`, any error of the compiler's. */
bool language_find_error(const struct language *language, const char *output, bool compiling,
                         struct language_error *ret_error);

/* Whether a runtime that has ended with `exit_code` (128 + a signal) has told, in the last of its
 * output, that it got no more memory. */
bool language_is_out_of_memory(const struct language *language, const char *output, int exit_code);

/* Why a pattern cannot be one, or NULL; `needs` is the placeholder it must hold. */
const char *language_refuse_pattern(const char *pattern, const char *needs);

#endif
