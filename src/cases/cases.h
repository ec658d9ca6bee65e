/*
 * Cases: one program, run once per case with input, arguments and an expected output, and a verdict
 * each. Here is the reader of the file and the comparison; src/engine/cases.c runs them.
 *
 * The file is foreign: every size has a maximum, and what it names is a file only in words, which
 * the caller opens and hands in as bytes. docs/CASES.md has the keys.
 */
#ifndef CASES_CASES_H
#define CASES_CASES_H

#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

enum {
        CASES_MAX = 4096,
        CASES_FILE_MAX = 64 << 20,  /* bytes of the cases file */
        CASES_PART_MAX = 64 << 20,  /* bytes of one input or expected output */
        CASES_DATA_MAX = 256 << 20, /* of all of them together */
        CASES_NAME_MAX = 128,
        CASES_ARGUMENTS_MAX = 1024,
        CASES_PATH_MAX = 4095,
};

enum compare_mode { COMPARE_TRIMMED, COMPARE_EXACT, COMPARE_TOKENS, COMPARE_FLOAT, COMPARE_COUNT };
const char *compare_mode_name(enum compare_mode mode);

/* One limit as the file writes it; the policy knows what it means. */
struct case_limit {
        char *name;          /* owned: "timeout" */
        char *value;         /* owned: "2s" */
        size_t line, column; /* 0 where they are not known */
};

struct case_limits {
        struct case_limit *items; /* owned */
        size_t count, capacity;
};

/* Bytes of a case: given in the file, or in another file that it names. */
struct case_part {
        char *data; /* owned, or NULL: not given, or not yet handed in */
        size_t length;
        char *path; /* owned, or NULL: the file that has it, as written */
};

struct test_case {
        char *name; /* owned, or NULL */
        struct case_part stdin_part;
        struct case_part expected; /* nothing given: every output is right */
        struct strlist arguments;
        enum compare_mode mode;
        double tolerance;
        int exit_code; /* that is right; 0 unless the file says otherwise */
        struct case_limits limits;
};

struct cases {
        char name[256];          /* of the file, printable */
        struct test_case *items; /* owned */
        size_t count, capacity;
        size_t data_bytes; /* of all parts, held against the maximum */
};

/* Reads the file's text. Caller frees `*ret_cases`. */
int cases_load(const char *text, size_t length, const char *name, struct cases **ret_cases,
               struct error *err);
void cases_free(struct cases *cases);
/* Hands in the bytes of a part that is in a file of its own. */
int cases_set_part(struct cases *cases, struct case_part *part, const void *data, size_t length,
                   struct error *err);

/* ---- comparing ---- */

enum { DIFFERENCE_TEXT_MAX = 160 };

/* The first place at which two outputs differ. */
struct difference {
        size_t line;                        /* of the output, from 1 */
        char expected[DIFFERENCE_TEXT_MAX]; /* the line or word there, printable and cut; */
        char got[DIFFERENCE_TEXT_MAX];      /* empty where there is none */
        bool expected_ended, got_ended;     /* there was nothing more */
};

/* Whether the output is right; else where it is not. */
bool compare_output(enum compare_mode mode, double tolerance, const char *expected,
                    size_t expected_length, const char *got, size_t got_length,
                    struct difference *ret_difference);
/* A decimal number as the mode `float` reads it. */
bool compare_read_number(const char *word, size_t length, double *ret_value);

#endif
