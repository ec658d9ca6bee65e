/*
 * The request: what was asked, as untrusted data. Checked for size and form when set; nothing here
 * decides what is allowed.
 */
#ifndef REQUEST_REQUEST_H
#define REQUEST_REQUEST_H

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
        struct strlist arguments;
        size_t argument_bytes; /* of all arguments and their pointers, held against the maximum */
        char *stdin_data;      /* owned, or NULL: empty */
        size_t stdin_length;
        int stdin_fd;      /* borrowed from the caller, or -1 */
        int output_fds[3]; /* [1], [2]: borrowed pass-through descriptors, or -1 */
        bool output_kill;
};

void request_init(struct request *req);
void request_done(struct request *req);
int request_set_language(struct request *req, const char *language, struct error *err);
int request_set_code(struct request *req, const void *code, size_t length, struct error *err);
/* Takes a copy of the descriptor. */
int request_set_code_fd(struct request *req, int fd, struct error *err);
int request_set_file_name(struct request *req, const char *name, struct error *err);
int request_set_name(struct request *req, const char *name, struct error *err);
int request_add_argument(struct request *req, const char *argument, struct error *err);
int request_set_stdin(struct request *req, const void *data, size_t length, struct error *err);

#endif
