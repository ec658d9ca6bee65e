/*
 * Lines out of a stream of bytes, each at most `max` long. A longer one is told once and passed
 * over to its end, so that one bad message never costs the connection. Bytes after the last newline
 * are no line.
 */
#ifndef MCP_READER_H
#define MCP_READER_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct reader {
        size_t max;
        struct strbuf line; /* what came of the line so far */
        bool passing;       /* over the rest of one that is too long */
};

struct reader_listener {
        void (*line)(void *context, const char *line, size_t length); /* without its newline */
        void (*too_long)(void *context);
        void *context;
};

/* 0, or -1 when out of memory. */
int reader_feed(struct reader *reader, const char *data, size_t length,
                const struct reader_listener *listener);
void reader_done(struct reader *reader);

#endif
