/* The form of messages: JSON-RPC 2.0 as the protocol uses it. */
#include "mcp/mcp.h"

#include <string.h>

json_t *rpc_parse(const char *line, size_t length)
{
        return json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY,
                          NULL);
}

static bool is_id(const json_t *id)
{
        return json_is_string(id) || json_is_number(id);
}

/* A method that holds a NUL would be cut, and taken for another. */
const char *rpc_string(const json_t *object, const char *key)
{
        const json_t *value = json_object_get(object, key);
        const char *text = json_string_value(value);

        return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static const char *find_problem(const json_t *value, const struct message *message)
{
        const char *version = rpc_string(value, "jsonrpc");
        const json_t *params = json_object_get(value, "params");

        if (!json_is_object(value))
                return "a message is an object";
        if (!version || strcmp(version, "2.0") != 0)
                return "'jsonrpc' must be \"2.0\"";
        if (json_object_get(value, "id") && !message->id)
                return "'id' must be a string or a number";
        if (message->kind == MESSAGE_RESPONSE)
                return NULL;
        if (!message->method)
                return "'method' must be a string";
        return params && !json_is_object(params) ? "'params' must be an object" : NULL;
}

void rpc_read(json_t *value, struct message *ret_message)
{
        json_t *id = json_object_get(value, "id");

        *ret_message = (struct message){
                .kind = id ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION,
                .id = is_id(id) ? id : NULL,
                .method = rpc_string(value, "method"),
                .params = json_object_get(value, "params"),
        };
        if (!json_object_get(value, "method") &&
            (json_object_get(value, "result") || json_object_get(value, "error")))
                ret_message->kind = MESSAGE_RESPONSE;
        ret_message->problem = find_problem(value, ret_message);
        if (ret_message->problem)
                ret_message->kind = MESSAGE_BAD;
}

json_t *rpc_result(json_t *id, json_t *result)
{
        return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

json_t *rpc_error(json_t *id, int code, const char *text, json_t *data)
{
        json_t *error =
                json_pack("{s:i, s:o}", "code", code, "message", rpc_text(text, strlen(text)));

        if (data && json_object_set_new(error, "data", data) < 0) {
                json_decref(error);
                error = NULL;
        }
        return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id ? id : json_null(), "error",
                         error);
}

json_t *rpc_notification(const char *method, json_t *params)
{
        return json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params);
}

/* The length of the character that begins here, or 0 where none does. */
static size_t character(const char *data, size_t length)
{
        unsigned char first = (unsigned char)*data;
        size_t wanted = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

        return wanted <= length && str_is_utf8(data, wanted) ? wanted : 0;
}

json_t *rpc_text(const char *data, size_t length)
{
        AUTO_STRBUF struct strbuf clean = { 0 };

        if (str_is_utf8(data, length))
                return json_stringn_nocheck(data, length);
        for (size_t i = 0; i < length;) {
                size_t n = character(data + i, length - i);

                strbuf_add(&clean, n ? data + i : "\xef\xbf\xbd", n ? n : 3);
                i += n ? n : 1;
        }
        return clean.failed ? NULL : json_stringn_nocheck(clean.data, clean.length);
}
