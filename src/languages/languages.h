/*
 * How each language is named, found, compiled and run: data, one YAML file per language.
 *
 * The files of languages/ are turned into constant tables at build time (tools/embed-languages.c
 * uses the same reader), so that a run parses nothing. A folder given at run time adds to them or
 * replaces them by name. The schema is in docs/LANGUAGES.md.
 *
 * In commands, {tool} is the interpreter or compiler that was found, {file} the code's path inside
 * the sandbox, {output} the compiled program's, and {args} the program's arguments (appended when
 * absent). enum language_placeholder has them all.
 */
#ifndef LANGUAGES_LANGUAGES_H
#define LANGUAGES_LANGUAGES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is replaced in commands, and, where it makes sense, in values of `env` and in `paths`. */
/* clang-format off */
#define LANGUAGE_PLACEHOLDERS(X)                                                                   \
        X(TOOL, "tool")                 /* the interpreter or compiler that was found */           \
        X(ROOT, "root")                 /* the directory above the `bin` that holds it */          \
        X(RUNTIME, "runtime")           /* what runs the tool, where `find` names such a thing */  \
        X(RUNTIME_ROOT, "runtime_root") /* the directory above its `bin` */                        \
        X(FILE, "file")                 /* the code's file */                                      \
        X(OUTPUT, "output")             /* what was, or is to be, compiled */                      \
        X(ARGS, "args")                 /* the program's arguments; a word of its own */           \
        X(WORKSPACE, "workspace")       /* where the program starts */                             \
        X(PREPARED, "prepared")         /* the directory that `prepare` fills */                   \
        X(DEPS, "deps")                 /* the directory that holds installed dependencies */      \
        X(DIR, "dir")                   /* the directory of the code */                            \
        X(ENTRY, "entry")               /* project: the file to start with */                      \
        X(SOURCES, "sources")           /* project: its files of the language; a word of its own */\
        X(CODE, "code")                 /* where code stands that the program does not own */      \
        X(MODULE, "module")             /* project: the name of the module to start with */        \
        X(MEMORY_MIB, "memory_mib")     /* the memory limit of the step */                         \
        X(HEAP_MIB, "heap_mib")         /* the part of it that `heap` gives to the program */      \
        X(LAUNCHER, "launcher")         /* park: the text of its launcher */
/* clang-format on */

enum language_placeholder {
#define X(id, name) PLACEHOLDER_##id,
        LANGUAGE_PLACEHOLDERS(X)
#undef X
                PLACEHOLDER_COUNT
};

/* Which one `text` is, braces included; PLACEHOLDER_COUNT when none. */
enum language_placeholder language_placeholder(const char *text, size_t length);

/* 0: not given, so that whatever stands below decides. */
struct language_limits {
        uint64_t timeout_ms;
        uint64_t cpu_time_ms;
        uint64_t memory_bytes;
        uint64_t processes;
        uint64_t disk_bytes;
        uint64_t open_files;
};

/* How an interpreter is parked: see docs/WARM.md. */
struct language_park {
        const char *const *command; /* empty: it cannot be parked */
        const char *launcher;       /* a program in the language, or NULL */
        bool forks;                 /* the launcher forks, so that it knows that it was copied */
        bool poses;                 /* it asks who it is when it starts, and never again */
        bool no_args;               /* a run with arguments is executed */
        const char *const *preload; /* modules that the launcher loads before it parks */
        const char *const *env;     /* "K=V" for the parked interpreter alone */
        const char *const *keeps;   /* variables that it reads when it starts */
        const char *const *sets;    /* variables that it would read, which the launcher sets */
        const char *const *cold;    /* beginnings of those with which it must be executed */
        bool is_passing;            /* of one run alone: known by its text, not by its place */
};

/* All lists are NULL-terminated; an absent list is an empty one, never NULL. */
struct language_compile {
        const char *const *command; /* empty: there is no such step */
        /* Name of what is made: a file, or a directory when it ends with '/'. NULL in `prepare`. */
        const char *output;
        const char *const *paths;      /* visible in this step, beside `paths` of the language */
        const char *const *env;        /* "K=V", over `env` of the language */
        struct language_limits limits; /* over those of the policy */
        /* Paths whose change makes a compiled program stale, beside the visible ones themselves. */
        const char *const *watch;
        struct language_park park; /* how the compiler itself is kept warm */
};

/* Projects whose files know one another as parts of a package, and how one of them is started. */
struct language_modules {
        const char *package;    /* a folder with a file of this name is a package; NULL: none is */
        const char *start;      /* the file that a package is started with */
        const char *const *run; /* the command, with {module} */
        const char *const *env; /* "K=V", over `env` of the language */
};

/* A directory of sources instead of a single file. */
struct language_project {
        const char *const
                *markers; /* relative paths: a directory with one of them is of this kind */
        const char *const *entries; /* relative paths of the file to start with, best first */
        const char *const *over;    /* languages of whose projects this one's are a special kind */
        struct language_compile compile;
        const char *const *run; /* empty: as for a single file */
        struct language_modules modules;
};

/* What a program needs beside its language: see docs/DEPENDENCIES.md. */
struct language_deps {
        const char *const *files; /* names of the file that lists them; empty: cannot have any */
        const char *const *locks; /* names of files that are taken along where they lie beside it */
        const char *const *variables; /* prefixes of the caller's variables that steer the tool */
        const char *const *watch;     /* paths of the tool's settings */
        /* Asks the tool, outside of any sandbox, which registry it is set to; its answer:
         * docs/DEPENDENCIES.md. */
        const char *const *registry;
        struct language_compile install; /* contained; what it leaves in {deps} is kept */
        const char *const *compile;      /* instead of the language's command; empty: as that */
        const char *const *mounts;       /* "K=V": folder K of {deps} is seen at V as well */
        const char *const *env;          /* "K=V" for compiler and program, over the language's */
};

struct language {
        const char *name;  /* canonical: "python" */
        const char *title; /* "Python" */
        const char *const *aliases;
        const char *const *extensions; /* with the dot */
        const char *const *shebangs;   /* base names of interpreters in "#!" lines */
        const char *magic; /* first bytes of a file of this kind, or NULL ("\x7f" "ELF") */
        const char *const
                *candidates;        /* absolute paths of the tool, best first; empty: needs none */
        const char *const *runtime; /* likewise: what runs the tool, where that is a script */
        const char *const *version_arguments; /* to make the tool print its version */
        const char *minimum_version;          /* or NULL */
        const char *install;                  /* the remedy where it is missing */
        const char *const *paths; /* mounted read-only where they exist: directories or files */
        const char *file;         /* name of the code's file: "main.py" */
        bool executable;          /* the code's file is the program: mode 0755 */
        bool full_proc;           /* needs the system-wide files of /proc (masked), not only pids */
        struct language_limits limits; /* defaults that suit it, below every policy */
        uint64_t heap_percent;         /* of the memory limit: {heap_mib}; 0: none */
        struct language_compile compile;
        struct language_compile prepare; /* once per toolchain: fills the directory {prepared} */
        const char *prepare_when;        /* only for code that holds these words, or NULL: always */
        struct language_project project;
        struct language_deps deps;
        const char *const *run; /* command */
        const char *const *env; /* "K=V" */
        /* Patterns of the lines in which the tool tells what is wrong: see languages_errors.h. */
        const char *const *syntax_errors;
        const char *const *compile_errors;
        const char *const *error_lines;
        /* Of the lines in which a runtime tells that it got no more memory, and the exit codes, or
         * 128 + signals, with which it then ends. */
        const char *const *memory_errors;
        const char *const *memory_exits;
        const char *warm; /* "none", "fork" or "once" */
        struct language_park park;
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
        char path[4096];    /* real path, no symbolic links; empty where the language needs none */
        char runtime[4096]; /* real path of what runs it, or empty */
        char version[64];   /* "3.11.2", or empty where it cannot be told */
};
/* Finds the first candidate that exists, is a regular executable file and new enough. SBX_ELANGUAGE
 * with the remedy where there is none. The version is remembered in `cache_dir` (NULL: not), by
 * path, device, inode, size and time of change, so that the tool is asked once. */
int language_find(const struct language *language, const char *cache_dir,
                  struct language_tool *ret_tool, struct error *err);

#endif
