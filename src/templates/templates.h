/*
 * Templates: a program with placeholders, into which code and values are put, and the way back from
 * lines of the program that came out to lines of what was put in.
 *
 * A template is a YAML file (templates/, embedded at build time; more by text at run time), or, for
 * the quick case, a program file itself with {{name}} in it. docs/TEMPLATES.md has the keys. Takes
 * bytes, knows no paths and no languages but by name.
 */
#ifndef TEMPLATES_TEMPLATES_H
#define TEMPLATES_TEMPLATES_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum {
        TEMPLATE_FILE_MAX = 1 << 20,     /* bytes of a template file */
        TEMPLATE_NAME_MAX = 64,          /* of a template or placeholder */
        TEMPLATE_PLACEHOLDERS_MAX = 64,  /* in one template */
        TEMPLATE_VALUE_MAX = 32 << 20,   /* bytes of one value */
        TEMPLATE_JSON_MAX = 4 << 20,     /* bytes of a value that is JSON: read, it takes more */
        TEMPLATE_PROGRAM_MAX = 32 << 20, /* bytes of what comes out */
};

/* How a value is put in. */
enum template_kind {
        TEMPLATE_CODE,        /* as it is */
        TEMPLATE_STRING,      /* as a string literal of the language */
        TEMPLATE_JSON,        /* must be JSON; as JSON, on one line, in ASCII */
        TEMPLATE_JSON_STRING, /* must be JSON; as a string literal that holds it */
        TEMPLATE_NAME,        /* must be a name, or names joined by dots */
        TEMPLATE_NUMBER,      /* must be a number */
        TEMPLATE_KIND_COUNT
};
const char *template_kind_name(enum template_kind kind);

struct template_placeholder {
        char *name; /* owned */
        enum template_kind kind;
        char *standard; /* owned: taken where no value is given; or NULL: one must be given */
        size_t standard_length;
        char *description; /* owned, or NULL */
};

struct template
{
        char *name;        /* owned: "unittest" */
        char *language;    /* owned, or NULL: told by `file_name` or by the code */
        char *file_name;   /* owned, or NULL: of a program file */
        char *description; /* owned, or NULL */
        char *program;     /* owned, NUL-terminated after `length` */
        size_t length;
        struct template_placeholder *placeholders; /* owned */
        size_t count, capacity;
};

/* Reads a template's text. `name` is the file's: where it ends in ".yaml" or ".yml" the text has
 * keys, else it is the program. Caller frees `*ret_template`. */
int template_load(const char *text, size_t length, const char *name, struct template **ret_template,
                  struct error *err);
void template_free(struct template *template);
/* Its index, or -1. */
int template_find(const struct template *template, const char *name, size_t length);

/* What is built in. Ends with an entry without name. */
struct template_builtin {
        const char *name;
        const char *language;
        const char *text; /* the file's */
};
extern const struct template_builtin templates_builtin[];
/* "assert, call, timing, unittest", for messages. Caller frees; NULL when out of memory. */
char *templates_list(void);
/* All of them as a JSON array: name, language, description, placeholders. Caller frees. */
char *templates_json(struct error *err);

/* ---- what a request says ---- */

struct template_value {
        char *name; /* owned */
        char *data; /* owned, NUL-terminated after `length` */
        size_t length;
};

/* A template by name or by text, and the values for it. Zeroed: none. */
struct template_use {
        char *name;                /* owned: of a built-in one; or NULL */
        struct template *template; /* owned: read from text; or NULL */
        struct template_value *values;
        size_t count, capacity;
};

void template_use_done(struct template_use *use);
int template_use_name(struct template_use *use, const char *name, struct error *err);
int template_use_text(struct template_use *use, const char *text, size_t length, const char *name,
                      struct error *err);
int template_use_set(struct template_use *use, const char *name, const void *data, size_t length,
                     struct error *err);
static inline bool template_use_is_given(const struct template_use *use)
{
        return use->name || use->template;
}

/* ---- expanding ---- */

/* Lines of the program that came out, from `first` on, until the next range begins. */
struct template_range {
        size_t first;  /* from 1 */
        int source;    /* a placeholder's index, or -1: the template itself */
        size_t line;   /* of the source, where `first` is; from 1 */
        size_t indent; /* columns that were put in front */
};

struct expansion {
        const struct template *template; /* borrowed; must outlive the expansion */
        struct strbuf text;              /* the program */
        struct template_range *ranges;   /* owned, by `first` */
        size_t count, capacity;
        size_t lines;
};

/* Puts code and values in. `language` is the canonical name: it decides how strings are quoted.
 * Values that are missing or unknown are errors that name them. */
int template_expand(const struct template *template, const struct template_use *use,
                    const char *code, size_t code_length, const char *language,
                    struct expansion *ret_expansion, struct error *err);
void expansion_done(struct expansion *expansion);
/* The first line of the program that is the code's, or 0. */
size_t expansion_code_line(const struct expansion *expansion);
/* Where a line of the program comes from. */
struct template_range expansion_origin(const struct expansion *expansion, size_t line);

/* template_quote.c: adds a value in the way of its kind. SBX_EINVAL with the reason. */
int template_quote(enum template_kind kind, const char *language, const char *data, size_t length,
                   struct strbuf *out, struct error *err);

/* ---- the way back ---- */

/*
 * Rewrites places in the program's words, line by line: where the program's file stands with a line
 * number after it, the number becomes that of the code; a line of another value or of the template
 * is said to be one.
 */
struct line_mapper {
        const struct expansion *expansion; /* borrowed */
        const char *file;                  /* borrowed: "main.py" */
        const char *const *syntax_errors; /* borrowed: after these, a bare "on line N" is one too */
        struct strbuf held;               /* the beginning of a line */
        bool in_long_line; /* its beginning was too long to hold, and has been passed on */
        bool in_excerpt;   /* after a place: lines of code with their number in front may follow */
};

enum { MAPPER_LINE_MAX = 16 << 10 };

void mapper_init(struct line_mapper *mapper, const struct expansion *expansion, const char *file,
                 const char *const *syntax_errors);
void mapper_done(struct line_mapper *mapper);
/* Adds to `out` what can be said by now: whole lines. */
void mapper_feed(struct line_mapper *mapper, const char *data, size_t length, struct strbuf *out);
/* Adds what was held back. */
void mapper_end(struct line_mapper *mapper, struct strbuf *out);

#endif
