/*
 * One language read from YAML, and the table of keys that reading it goes by. Shared by the set,
 * the reader and the build-time generator (tools/embed-languages.c); nobody else includes this.
 */
#ifndef LANGUAGES_LANGUAGES_LOAD_H
#define LANGUAGES_LANGUAGES_LOAD_H

#include "languages/languages.h"

enum {
        LANGUAGE_FILE_MAX = 256 << 10,  /* bytes of one language file */
        LANGUAGE_LIST_MAX = 64,         /* entries of one list */
        LANGUAGE_STRING_MAX = 64 << 10, /* bytes of one value */
        LANGUAGE_NAME_MAX = 32,         /* a name, an alias, an extension, a file name */
        LANGUAGE_PATH_MAX = 255,        /* a path below the directory of a project */
};

/* What stands in the file under a key, and so what the member of struct language is. */
enum language_kind {
        KIND_END,
        KIND_STRING,   /* const char * */
        KIND_LIST,     /* const char *const *, from a list of texts */
        KIND_ENV,      /* const char *const *, from a mapping to "K=V" */
        KIND_FLAG,     /* bool, from true or false */
        KIND_PROC,     /* bool, from pid (false) or full (true) */
        KIND_DURATION, /* uint64_t, milliseconds */
        KIND_SIZE,     /* uint64_t, bytes */
        KIND_COUNT,    /* uint64_t */
        KIND_PERCENT,  /* uint64_t, 1 to 100 */
        KIND_MAPPING,  /* no member: keys of its own */
};

struct language_key {
        const char *name;
        enum language_kind kind;
        bool required;
        size_t offset;      /* in struct language */
        const char *member; /* its name in C */
        /* Why a text cannot stand here, or NULL when it can. NULL: any text can. */
        const char *(*refuse)(const char *text);
        const struct language_key *keys; /* of a mapping */
};

/* The keys of a language file; ends with KIND_END. */
extern const struct language_key language_keys[];

/* What no single key can tell: a command that asks for what the language does not have. NULL when
 * all fits together. */
const char *language_contradiction(const struct language *language);

/* A language with the memory its members point to. */
struct language_loaded {
        struct language language;
        void **parts; /* owned */
        size_t part_count;
        size_t part_capacity;
};

/* Reads one file's text. `name` stands for the file in messages. Caller frees `*ret_loaded`. */
int language_load_yaml(const char *text, size_t length, const char *name,
                       struct language_loaded **ret_loaded, struct error *err);
void language_loaded_free(struct language_loaded *loaded);

#endif
