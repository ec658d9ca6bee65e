/*
 * Options of the command line: one table per sub-command is the source of the parser and of the
 * help.
 *
 * The parser knows no meanings: it gives back what was used, in order, and the words around it.
 * Names are exact (no abbreviations, so that a new option never changes what an old script means).
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct option;
/* Gives the value to what the command builds, such as a request. */
typedef int (*option_apply)(const struct option *option, const char *value, void *target,
                            struct error *err);

/* A table ends with an entry without help. An entry without a name is a heading. */
struct option {
        const char *name;     /* long name without the dashes, or NULL for a heading */
        char letter;          /* short name, or 0 */
        const char *argument; /* what the value is called in the help; NULL: takes none */
        bool repeatable;
        bool allow_empty;   /* an empty value means something */
        const char *help;   /* one sentence, without a full stop */
        option_apply apply; /* or NULL: the command asks for it by name */
        const char *key;    /* the policy value it sets; for `apply` */
};

#define OPTION_HELP                                                                                \
        {                                                                                          \
                "help", 'h', NULL, false, false, "show this help and exit", NULL, NULL             \
        }
#define OPTION_END                                                                                 \
        {                                                                                          \
                NULL, 0, NULL, false, false, NULL, NULL, NULL                                      \
        }
#define OPTION_HEADING(text)                                                                       \
        {                                                                                          \
                NULL, 0, NULL, false, false, text, NULL, NULL                                      \
        }

/* One use of an option. Everything is borrowed from the table and from argv. */
struct option_use {
        const struct option *option;
        const char *value; /* NULL where it takes none */
};

struct options {
        struct option_use *uses; /* owned, in the order given */
        size_t use_count;
        size_t use_capacity;
        const char **words; /* owned list of borrowed words that are no options, before "--" */
        size_t word_count;
        size_t word_capacity;
        char **rest; /* borrowed: what follows "--", as it stands in argv */
        size_t rest_count;
        bool rest_given; /* a "--" was there */
};

#define AUTO_OPTIONS __attribute__((cleanup(options_done)))

/* Reads argv[0] to argv[argc - 1]. Stops at --help, so that help is had with anything before it. */
int options_parse(struct options *options, const struct option *table, int argc, char **argv,
                  struct error *err);
void options_done(struct options *options);
bool options_given(const struct options *options, const char *name);
const char *options_value(const struct options *options, const char *name); /* NULL: not given */
/* Calls the `apply` of every use that has one, in order. */
int options_apply(const struct options *options, void *target, struct error *err);
/* Gives an error of the user's that has no remedy the help of the option that it names, or says
 * where help is had. */
void options_hint(const struct option *table, const char *command, struct error *err);
/* The aligned lines of the help. */
void options_help(const struct option *table, struct strbuf *out);

/* The candidate nearest to a misspelt word, or NULL where none is near. `next` gives the candidates
 * by index, and NULL after the last. */
const char *nearest_name(const char *word, const char *(*next)(const void *list, size_t index),
                         const void *list);

#endif
