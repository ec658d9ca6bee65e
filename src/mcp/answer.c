/* What a tool gives back: content for a model, a structure for a program. */
#include "mcp/mcp.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void answer_add(struct answer *answer, json_t *item)
{
        if (!answer->content)
                answer->content = json_array();
        (void)json_array_append_new(answer->content, item); /* out of memory: it is missing */
}

static void add_text(struct answer *answer, const char *format, va_list arguments)
{
        char *text = NULL;
        int length = vasprintf(&text, format, arguments);

        if (length >= 0)
                answer_add(answer, json_pack("{s:s, s:o}", "type", "text", "text",
                                             rpc_text(text, (size_t)length)));
        free(text);
}

void answer_text(struct answer *answer, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        add_text(answer, format, arguments);
        va_end(arguments);
}

int answer_refuse(struct answer *answer, const char *format, ...)
{
        va_list arguments;

        answer->is_error = true;
        va_start(arguments, format);
        add_text(answer, format, arguments);
        va_end(arguments);
        return 0;
}

int answer_refuse_error(struct answer *answer, sbx_error *err)
{
        const char *hint = sbx_error_hint(err);

        (void)answer_refuse(answer, "Not run: %s.%s%s%s",
                            err ? sbx_error_message(err) : "out of memory", hint ? " Remedy: " : "",
                            hint ? hint : "", hint ? "." : "");
        sbx_error_free(err);
        return 0;
}

int answer_value(struct answer *answer, json_t *value)
{
        char *text = json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

        answer->structured = value;
        if (!text)
                return -1;
        answer_text(answer, "%s", text);
        free(text);
        return 0;
}
