/* `sandbox check`: the forms of its report. */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>

/* A report of sbx_check() and what it is about. */
struct check_report {
        const json_t *report; /* borrowed */
        const char *file;     /* as given; NULL: from an option or standard input */
};

/* check_text.c: for a person, with the source line and a caret under the place. */
void check_text(const struct check_report *check, bool color, struct strbuf *out);
/* check_sarif.c: SARIF 2.1.0; NULL when out of memory. */
char *check_sarif(const struct check_report *check);

/* 0 for "none" to 4 for "critical"; -1 for something else. */
int check_level(const char *name);

#endif
