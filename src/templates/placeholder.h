/* How a placeholder is written: {{name}}, with blanks inside allowed. Private to the module. */
#ifndef TEMPLATES_PLACEHOLDER_H
#define TEMPLATES_PLACEHOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* One place in the program's text. */
struct placeholder_mark {
        size_t start, end; /* of all of it, braces included */
        const char *name;  /* borrowed from the text */
        size_t name_length;
        bool is_escape; /* "{{{{", which stands for "{{" */
};

/* The first at or after `from`; false where there is none. What only looks like one, such as an
 * empty pair of braces, is text. */
bool placeholder_next(const char *text, size_t length, size_t from,
                      struct placeholder_mark *ret_mark);
bool placeholder_is_name(const char *name);

#endif
