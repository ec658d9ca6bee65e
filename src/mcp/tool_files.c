/* write_file, read_file, list_files: within the workspace of a session. */
#include "mcp/media.h"

#include <string.h>

/* The session is taken; NULL where there is none, and the answer says so. */
static struct session *take(struct call *call, const json_t *arguments, struct answer *answer)
{
        const char *id = rpc_string(arguments, "session_id");

        return session_take(call, id ? id : "", answer);
}

static const char *path_of(const json_t *arguments)
{
        const char *path = rpc_string(arguments, "path");

        return path ? path : ""; /* with a NUL in it it is no path */
}

static int write_within(const struct session *session, const json_t *arguments, size_t *ret_length,
                        struct error *err)
{
        AUTO_FREE char *data = NULL;
        int r = request_content(arguments, &data, ret_length, err);

        return r < 0 ? r : session_write(session, path_of(arguments), data, *ret_length, err);
}

int tool_write_file(struct call *call, const json_t *arguments, struct answer *answer)
{
        struct session *session = take(call, arguments, answer);
        struct error error = { 0 };
        AUTO_FREE char *uri = NULL;
        size_t length = 0;
        int r;

        if (!session)
                return 0;
        r = write_within(session, arguments, &length, &error);
        uri = r == 0 ? media_uri(session->id, path_of(arguments)) : NULL;
        session_give(call->server, session);
        if (r < 0)
                return answer_refuse(answer, "Not written: %s.", error.message);
        return answer_value(answer, json_pack("{s:s, s:I, s:s}", "path", path_of(arguments), "size",
                                              (json_int_t)length, "uri", uri));
}

int tool_read_file(struct call *call, const json_t *arguments, struct answer *answer)
{
        struct session *session = take(call, arguments, answer);
        const json_t *wanted = json_object_get(arguments, "max_bytes");
        AUTO_FREE char *data = NULL, *coded = NULL;
        struct error error = { 0 };
        size_t length = 0, whole;
        uint64_t size = 0;
        bool is_text;
        int r;

        if (!session)
                return 0;
        r = workspace_read(session->folder, path_of(arguments),
                           wanted ? (size_t)json_number_value(wanted) : MCP_READ_DEFAULT, &data,
                           &length, &size, &error);
        session_give(call->server, session);
        if (r < 0)
                return answer_refuse(answer, "Not read: %s. list_files has what there is.",
                                     error.message);
        /* A text that was cut within a character is still a text. */
        whole = length < size ? str_utf8_complete(data, length) : length;
        is_text = str_is_utf8(data, whole) && !memchr(data, '\0', whole);
        length = is_text ? whole : length;
        coded = is_text ? NULL : str_base64(data, length);
        answer->structured = json_pack(
                "{s:s, s:I, s:o, s:s, s:b}", "path", path_of(arguments), "size", (json_int_t)size,
                "content", is_text ? json_stringn(data, length) : json_string(coded), "encoding",
                is_text ? "utf-8" : "base64", "truncated", length < size);
        answer_add(answer, json_pack("{s:s, s:o}", "type", "text", "text",
                                     is_text ? json_stringn(data, length) : json_string(coded)));
        return answer->structured ? 0 : -1;
}

int tool_list_files(struct call *call, const json_t *arguments, struct answer *answer)
{
        struct session *session = take(call, arguments, answer);
        AUTO_WORKSPACE_LIST struct workspace_list list = { 0 };
        json_t *files = json_array();
        struct error error = { 0 };
        int r;

        if (!session) {
                json_decref(files);
                return 0;
        }
        r = workspace_list(session->folder, &list, &error);
        for (size_t i = 0; r == 0 && i < list.count; i++) {
                AUTO_FREE char *uri = media_uri(session->id, list.files[i].path);

                (void)json_array_append_new(
                        files, json_pack("{s:s, s:I, s:s}", "path", list.files[i].path, "size",
                                         (json_int_t)list.files[i].size, "uri", uri ? uri : ""));
        }
        session_give(call->server, session);
        if (r < 0) {
                json_decref(files);
                return answer_refuse(answer, "Not listed: %s.", error.message);
        }
        return answer_value(answer,
                            json_pack("{s:o, s:b}", "files", files, "truncated", list.truncated));
}
