/*
 * How each language is named, found, compiled and run: data, one YAML file per language.
 *
 * The files of languages/ are turned into constant tables at build time (tools/embed-languages.c
 * uses the same reader), so that a run parses nothing. A folder given at run time adds to them or
 * replaces them by name. The schema is in docs/LANGUAGES.md.
 *
 * In commands, {tool} is the interpreter or compiler that was found, {file} the code's path inside
 * the sandbox, {output} the compiled program's, and {args} the program's arguments (appended when
 * absent).
 */
#ifndef LANGUAGES_LANGUAGES_H
#define LANGUAGES_LANGUAGES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All lists are NULL-terminated; an absent list is an empty one, never NULL. */
struct language_compile {
        const char *const *command; /* empty: the language is not compiled */
        const char *output;         /* file name of the compiled program */
        const char *const *paths;   /* visible to the compiler, beside `paths` of the language */
        uint64_t timeout_ms;        /* 0: as the policy says */
        uint64_t memory_bytes;      /* 0: as the policy says */
        uint64_t processes;
        uint64_t disk_bytes;
};

struct language {
        const char *name;  /* canonical: "python" */
        const char *title; /* "Python" */
        const char *const *aliases;
        const char *const *extensions; /* with the dot */
        const char *const *shebangs;   /* base names of interpreters in "#!" lines */
        const char *magic; /* first bytes of a file of this kind, or NULL ("\x7f" "ELF") */
        const char *const
                *candidates; /* absolute paths of the tool, best first; empty: needs none */
        const char *const *version_arguments; /* to make the tool print its version */
        const char *minimum_version;          /* or NULL */
        const char *install;                  /* the remedy where it is missing */
        const char *const *paths; /* mounted read-only where they exist: directories or files */
        const char *file;         /* name of the code's file: "main.py" */
        bool executable;          /* the code's file is the program: mode 0755 */
        bool full_proc;           /* needs the system-wide files of /proc (masked), not only pids */
        struct language_compile compile;
        const char *const *run;           /* command */
        const char *const *env;           /* "K=V" */
        const char *const *syntax_errors; /* what a message about a syntax error begins with */
        const char *warm;                 /* "none", "fork" or "once" */
        const char *hello;   /* a program that prints "hello" and a newline; NULL without a tool */
        const char *failing; /* a program that ends with a non-zero exit code; NULL likewise */
};

/* The tables made at build time; NULL-terminated. */
extern const struct language *const languages_builtin[];

/* A set: the built-in languages and those of a folder. */
struct languages;
struct languages *languages_new(void); /* NULL when out of memory */
void languages_free(struct languages *set);
/* Adds one file's text; a language of the same name is replaced. Errors carry "name:line:column".
 */
int languages_add_yaml(struct languages *set, const char *text, size_t length, const char *name,
                       struct error *err);
size_t languages_count(const struct languages *set);
const struct language *languages_at(const struct languages *set, size_t index); /* sorted by name */
/* By name or alias, without regard to case; NULL when unknown. */
const struct language *languages_by_name(const struct languages *set, const char *name);
/* By the code: the magic first, then file name's extension, then the "#!" line; NULL when none
 * fits. */
const struct language *languages_detect(const struct languages *set, const char *file_name,
                                        const char *code, size_t length);
/* Names of all, for messages: "binary, c, python, shell". Caller frees; NULL when out of memory. */
char *languages_list(const struct languages *set);

/* languages_find.c: the tool on this machine. */
struct language_tool {
        char path[4096];  /* real path, no symbolic links; empty where the language needs none */
        char version[64]; /* "3.11.2", or empty where it cannot be told */
};
/* Finds the first candidate that exists, is a regular executable file and new enough. SBX_ELANGUAGE
 * with the remedy where there is none. The version is remembered in `cache_dir` (NULL: not), by
 * path, device, inode, size and time of change, so that the tool is asked once. */
int language_find(const struct language *language, const char *cache_dir,
                  struct language_tool *ret_tool, struct error *err);

#endif
