/* What a run gave, as content for a model and as a structure for a program. */
#include "mcp/mcp.h"

#include <string.h>

/* Of the library's result, what a client can use. */
static const char *const fields[] = {
        "id",
        "language",
        "status",
        "success",
        "exit_code",
        "signal",
        "message",
        "stdout",
        "stderr",
        "encoding",
        "stdout_truncated",
        "stderr_truncated",
        "execution_time",
        "cpu_time",
        "memory_used",
        "files",
        "violations",
        "compile",
        "deps",
        "limits",
        "hint",
};

json_t *outcome_fields(const sbx_result *result, const char *session_id)
{
        char *text = sbx_result_format(result, "jsonline", false, NULL);
        json_t *whole = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
        json_t *chosen = json_object();

        sbx_string_free(text);
        for (size_t i = 0; whole && i < ARRAY_SIZE(fields); i++) {
                json_t *value = json_object_get(whole, fields[i]);

                (void)json_object_set(chosen, fields[i], value ? value : json_null());
        }
        (void)json_object_set_new(chosen, "session_id",
                                  session_id ? json_string(session_id) : json_null());
        json_decref(whole);
        return chosen;
}

/* The beginning and the end of a long text; the structure has all of it. */
static void add_stream(struct strbuf *text, const struct outcome_stream *stream)
{
        size_t half = MCP_TEXT_MAX / 2, tail;

        if (stream->length <= MCP_TEXT_MAX) {
                strbuf_add(text, stream->data, stream->length);
        } else {
                tail = stream->length - half;
                while (tail < stream->length && (stream->data[tail] & 0xc0) == 0x80)
                        tail++;
                half = str_utf8_complete(stream->data, half);
                strbuf_add(text, stream->data, half);
                strbuf_addf(text, "\n[... %zu bytes left out here ...]\n", tail - half);
                strbuf_add(text, stream->data + tail, stream->length - tail);
        }
        if (stream->truncated)
                strbuf_adds(text, "\n[the output was cut here: it passed its limit]");
        if (text->length > 0 && text->data[text->length - 1] != '\n')
                strbuf_adds(text, "\n");
}

static const char *failure_output(const json_t *result, const char *step)
{
        return json_string_value(json_object_get(json_object_get(result, step), "stderr"));
}

/* What failed before the program ran has said why. */
static void add_step(struct strbuf *text, const json_t *result, const char *step)
{
        const char *said = failure_output(result, step);

        if (said && *said && !json_is_true(json_object_get(result, "success")))
                strbuf_addf(text, "%s%.16000s\n", text->length ? "\n" : "", said);
}

static void add_status(struct strbuf *text, const json_t *result)
{
        const char *message = json_string_value(json_object_get(result, "message"));

        if (json_is_true(json_object_get(result, "success")))
                return;
        strbuf_addf(text, "%s[%s] %s\n", text->length ? "\n" : "",
                    json_string_value(json_object_get(result, "status")), message ? message : "");
}

int outcome_tell(const struct server *server, struct answer *answer, json_t *result,
                 const struct outcome_stream streams[3])
{
        AUTO_STRBUF struct strbuf text = { 0 };
        bool in_session = json_is_string(json_object_get(result, "session_id"));
        AUTO_FREE char *lesson =
                teach(server, result, streams[2].data, streams[2].length, in_session);

        answer->is_error = !json_is_true(json_object_get(result, "success"));
        answer->structured = result;
        (void)json_object_set_new(result, "explanation",
                                  lesson ? json_string(lesson) : json_null());
        if (streams[1].length > 0)
                add_stream(&text, &streams[1]);
        if (streams[2].length > 0) {
                strbuf_adds(&text, text.length ? "\nstderr:\n" : "stderr:\n");
                add_stream(&text, &streams[2]);
        }
        add_step(&text, result, "compile");
        add_step(&text, result, "deps");
        add_status(&text, result);
        if (text.failed)
                return -1;
        answer_add(answer, json_pack("{s:s, s:o}", "type", "text", "text",
                                     text.length ? rpc_text(text.data, text.length)
                                                 : json_string("(no output)")));
        if (lesson)
                answer_text(answer, "%s", lesson);
        return 0;
}
