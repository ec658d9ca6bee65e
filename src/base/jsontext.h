/*
 * JSON written straight into a string: for lines that are made in the path of a run or in an event
 * handler, where a tree of values would cost more than the line. Order is the caller's.
 *
 * Texts come from guests. Besides what JSON itself demands, everything that a terminal, a log
 * reader or a person could take for something else is escaped: control characters of both sets,
 * line separators, marks that turn the direction of writing. Bytes that are no UTF-8 are written
 * as the text \xNN.
 */
#ifndef BASE_JSONTEXT_H
#define BASE_JSONTEXT_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* A quoted string; NULL is null. */
void jsontext_string(struct strbuf *out, const char *text);
void jsontext_bytes(struct strbuf *out, const char *data, size_t length);
/* The key of a field, with a comma before it where one is due; a value follows. */
void jsontext_key(struct strbuf *out, const char *key);
void jsontext_put_string(struct strbuf *out, const char *key, const char *text);
void jsontext_put_integer(struct strbuf *out, const char *key, int64_t value);
void jsontext_put_size(struct strbuf *out, const char *key, uint64_t value);
/* To the microsecond, without trailing zeros. */
void jsontext_put_seconds(struct strbuf *out, const char *key, double seconds);
void jsontext_put_bool(struct strbuf *out, const char *key, bool value);
void jsontext_put_null(struct strbuf *out, const char *key);

#endif
