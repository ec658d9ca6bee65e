#include "mcp/reader.h"

#include <string.h>

enum { KEPT_CAPACITY = 1 << 20 }; /* memory of a large message is given back */

static void finish(struct reader *reader)
{
        reader->line.length = 0;
        if (reader->line.capacity > KEPT_CAPACITY)
                strbuf_done(&reader->line);
}

static void take(struct reader *reader, const char *data, size_t length,
                 const struct reader_listener *listener)
{
        if (reader->passing)
                return;
        if (length <= reader->max - reader->line.length) {
                strbuf_add(&reader->line, data, length);
                return;
        }
        reader->passing = true;
        finish(reader);
        listener->too_long(listener->context);
}

static void end_line(struct reader *reader, const struct reader_listener *listener)
{
        bool whole = !reader->passing && !reader->line.failed;

        reader->passing = false;
        if (whole && reader->line.length > 0)
                listener->line(listener->context, reader->line.data, reader->line.length);
        finish(reader);
}

int reader_feed(struct reader *reader, const char *data, size_t length,
                const struct reader_listener *listener)
{
        while (length > 0) {
                const char *newline = memchr(data, '\n', length);
                size_t part = newline ? (size_t)(newline - data) : length;

                take(reader, data, part, listener);
                if (reader->line.failed)
                        return -1;
                if (!newline)
                        return 0;
                end_line(reader, listener);
                data += part + 1;
                length -= part + 1;
        }
        return 0;
}

void reader_done(struct reader *reader)
{
        strbuf_done(&reader->line);
}
