/* Messages of a client of the MCP server: lines out of bytes that come in pieces, and their form.
 */
#include "mcp/mcp.h"
#include "mcp/reader.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINE_MAX_HERE = 512 };

static void take_line(void *context, const char *line, size_t length)
{
        size_t *lines = context;
        json_t *value = length <= LINE_MAX_HERE ? rpc_parse(line, length) : NULL;
        struct message message;
        json_t *answer;

        if (length > LINE_MAX_HERE || memchr(line, '\n', length))
                __builtin_trap();
        ++*lines;
        if (!value)
                return;
        rpc_read(value, &message);
        if ((message.kind == MESSAGE_BAD) != (message.problem != NULL) ||
            (message.kind == MESSAGE_REQUEST && (!message.id || !message.method)) ||
            (message.params && message.kind == MESSAGE_REQUEST && !json_is_object(message.params)))
                __builtin_trap();
        answer = rpc_error(json_incref(message.id), RPC_INVALID_REQUEST,
                           message.method ? message.method : "none", NULL);
        json_decref(answer);
        json_decref(value);
}

static void pass_line(void *context)
{
        ++*(size_t *)context;
}

static size_t feed(const char *data, size_t size, size_t piece)
{
        struct reader reader = { .max = LINE_MAX_HERE };
        size_t lines = 0;
        const struct reader_listener listener = { take_line, pass_line, &lines };

        for (size_t at = 0; at < size; at += piece)
                (void)reader_feed(&reader, data + at, size - at < piece ? size - at : piece,
                                  &listener);
        reader_done(&reader);
        return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        json_t *text = rpc_text((const char *)data, size);

        json_decref(text);
        /* How the bytes are cut into pieces must not matter. */
        if (size > 0 && feed((const char *)data, size, size) != feed((const char *)data, size, 7))
                __builtin_trap();
        return 0;
}
