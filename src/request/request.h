/*
 * The request: what was asked, as untrusted data. Checked for size and form when set; nothing here
 * decides what is allowed.
 */
#ifndef REQUEST_REQUEST_H
#define REQUEST_REQUEST_H

#include "base/bundle.h"
#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

enum {
        REQUEST_CODE_MAX = 32 << 20,    /* bytes of code */
        REQUEST_CODE_PEEK = 4096,       /* of a file, to find the language */
        REQUEST_STDIN_MAX = 1 << 30,    /* bytes of standard input held in memory */
        REQUEST_STRING_MAX = 128 << 10, /* one argument or variable: the kernel's own maximum */
        REQUEST_STRINGS_MAX = 1 << 20,  /* all arguments and variables together */
        REQUEST_NAME_MAX = 128,         /* the caller's identifier, a language's name */
        REQUEST_PATTERNS_MAX = 64,      /* of files to collect */
};

/* A file of further rules for static analysis, read by the caller. */
struct request_rules {
        char *name;     /* owned: without its ending, for messages about queries */
        char *file;     /* owned: for messages about the file */
        char *language; /* owned: the folder it is in */
        char *yaml;     /* owned */
        char *queries;  /* owned, or NULL */
};

struct request_rule_list {
        struct request_rules *items; /* owned */
        size_t count, capacity;
};

struct request {
        char *language;  /* owned, or NULL */
        char *file_name; /* owned, or NULL */
        char *name;      /* owned, or NULL */
        char *code;      /* owned, NUL-terminated after code_length */
        size_t code_length;
        int code_fd;      /* owned: a regular file with all of the code, or -1; `code` then holds
                           * its first bytes, for finding the language */
        size_t code_size; /* of the whole code */
        /* A project: its files, one of which is the entry. With it there is no `code`. */
        struct bundle sources;
        char *folder; /* owned: the name of the folder that all of them come from, or NULL */
        char *entry;  /* owned: relative path among the sources, or NULL: by convention */
        struct bundle inputs; /* what the program finds in its workspace */
        struct strlist collect_patterns;
        int collect_fd;   /* owned: the directory that matching files are copied to, or -1 */
        bool collect_all; /* all that is there, folders and links as they are */
        struct strlist arguments;
        size_t argument_bytes; /* of all arguments and their pointers, held against the maximum */
        char *stdin_data;      /* owned, or NULL: empty */
        size_t stdin_length;
        int stdin_fd;      /* borrowed from the caller, or -1 */
        int output_fds[3]; /* [1], [2]: borrowed pass-through descriptors, or -1 */
        int turn_fd;       /* borrowed: tells of turns (base/turn.h), or -1 */
        char *workspace;   /* owned: a folder that the caller itself chose, or NULL */
        bool output_kill;
        char *deps;                /* owned: path of the file that lists dependencies, or NULL */
        struct strlist registries; /* "host[:port]" that dependencies may come from instead */
        bool no_cache;             /* compile anew, and keep nothing */
        bool trusted;              /* static analysis is left out, and that is told */
        bool no_warnings;          /* nobody looks at what the mode warn finds */
        struct request_rule_list rules; /* for static analysis */
        bool no_record;                 /* leave no trace of the run */
        bool no_warm; /* start the language itself: a fresh process, addresses of its own */
};

void request_init(struct request *req);
void request_done(struct request *req);
int request_set_language(struct request *req, const char *language, struct error *err);
int request_set_code(struct request *req, const void *code, size_t length, struct error *err);
/* Takes a copy of the descriptor. */
int request_set_code_fd(struct request *req, int fd, struct error *err);
/* A file of the project, or of those that the program finds in its workspace. */
int request_add_file(struct bundle *files, const char *path, const void *data, size_t length,
                     struct error *err);
/* The same from a descriptor: a regular file, or a directory with all that lies below it. */
int request_add_file_fd(struct bundle *files, const char *path, int fd, struct error *err);
/* Remembers what the folder of a project is called. */
int request_name_folder(struct request *req, int fd, struct error *err);
int request_set_entry(struct request *req, const char *path, struct error *err);
/* Files of the workspace whose path matches are copied out after the run. */
int request_add_collect(struct request *req, const char *pattern, struct error *err);
int request_set_collect_fd(struct request *req, int fd, struct error *err);
/* request_deps.c */
int request_set_deps(struct request *req, const char *path, struct error *err);
int request_add_registry(struct request *req, const char *place, struct error *err);
/* Takes the texts of `rules`, also when it fails. */
int request_rules_add(struct request_rule_list *list, const struct request_rules *rules,
                      struct error *err);
void request_rules_done(struct request_rule_list *list);
int request_set_file_name(struct request *req, const char *name, struct error *err);
int request_set_name(struct request *req, const char *name, struct error *err);
int request_add_argument(struct request *req, const char *argument, struct error *err);
int request_set_stdin(struct request *req, const void *data, size_t length, struct error *err);

#endif
