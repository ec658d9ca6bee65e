/*
 * strbuf: a growing string. An allocation failure is remembered (`failed`) and everything after it
 * does nothing, so that a builder checks once, at the end. `data` is always NUL-terminated.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf {
        char *data; /* owned; NULL while empty */
        size_t length;
        size_t capacity;
        bool failed;
};

#define AUTO_STRBUF __attribute__((cleanup(strbuf_done)))

void strbuf_add(struct strbuf *buf, const void *data, size_t length);
void strbuf_adds(struct strbuf *buf, const char *text);
void strbuf_addf(struct strbuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Gives the string to the caller (never NULL unless out of memory) and empties the buffer. */
char *strbuf_take(struct strbuf *buf);
void strbuf_done(struct strbuf *buf);

bool str_equal(const char *a, const char *b); /* NULL equals only NULL */
bool str_has_prefix(const char *text, const char *prefix);
bool str_has_suffix(const char *text, const char *suffix);
/* Whether the bytes are valid UTF-8 (no surrogates, nothing overlong). NUL bytes are valid. */
bool str_is_utf8(const void *data, size_t length);
/* The length of what remains of `data` when a sequence cut at its end is left off. */
size_t str_utf8_complete(const void *data, size_t length);
/* Replaces control bytes so that a foreign name can stand in a message; writes at most `size`. */
const char *str_printable(const char *text, char *buffer, size_t size);
/* base64 of the bytes; caller frees; NULL when out of memory. */
char *str_base64(const void *data, size_t length);

#endif
