/* The files of sessions as resources. */
#include "mcp/media.h"
#include "base/fd.h"

#include <string.h>

json_t *resources_templates(void)
{
        return json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "resourceTemplates", "uriTemplate",
                         "sandbox://session/{session_id}/{+path}", "name", "session-file", "title",
                         "A file of a session", "description",
                         "A file in the workspace of a session, as list_files names it");
}

static void add_file(json_t *list, const char *session_id, const struct workspace_file *file)
{
        AUTO_FREE char *uri = media_uri(session_id, file->path);
        const char *type = workspace_type(file->path);
        json_t *item = uri ? json_pack("{s:s, s:s, s:I}", "uri", uri, "name", file->path, "size",
                                       (json_int_t)file->size)
                           : NULL;

        if (item && type)
                (void)json_object_set_new(item, "mimeType", json_string(type));
        (void)json_array_append_new(list, item); /* out of memory: it is missing */
}

static void name_sessions(struct server *server, struct strlist *names)
{
        (void)pthread_mutex_lock(&server->lock);
        for (const struct session *one = server->sessions; one; one = one->next)
                (void)strlist_add(names, one->id); /* out of memory: it is missing */
        (void)pthread_mutex_unlock(&server->lock);
}

/* No session is taken for it: one that is busy is not waited for. */
int resources_list(struct call *call, json_t **ret_result)
{
        struct strlist names = { 0 };
        json_t *list = json_array();

        name_sessions(call->server, &names);
        for (size_t i = 0; i < names.count; i++) {
                AUTO_CLOSE int folder = session_folder(call->server, names.items[i]);
                AUTO_WORKSPACE_LIST struct workspace_list files = { 0 };

                if (folder >= 0 && workspace_list(folder, &files, NULL) == 0)
                        for (size_t j = 0; j < files.count; j++)
                                add_file(list, names.items[i], &files.files[j]);
        }
        strlist_done(&names);
        *ret_result = json_pack("{s:o}", "resources", list);
        return *ret_result ? 0 : -1;
}

static int no_resource(struct call *call, const char *why)
{
        return call_fail(call,
                         call->version < MCP_2026_07_28 ? RPC_NO_RESOURCE : RPC_INVALID_PARAMS,
                         "no such resource: %s", why);
}

static json_t *contents_of(const char *uri, const char *path, const char *data, size_t length)
{
        const char *type = workspace_type(path);
        bool is_text = str_is_utf8(data, length) && !memchr(data, '\0', length);
        AUTO_FREE char *coded = is_text ? NULL : str_base64(data, length);
        json_t *contents = json_pack("{s:s, s:o}", "uri", uri, is_text ? "text" : "blob",
                                     is_text ? json_stringn(data, length) : json_string(coded));

        if (contents)
                (void)json_object_set_new(contents, "mimeType",
                                          json_string(type      ? type
                                                      : is_text ? "text/plain"
                                                                : "application/octet-stream"));
        return contents;
}

int resources_read(struct call *call, json_t **ret_result)
{
        const char *uri = rpc_string(call->params, "uri");
        AUTO_FREE char *id = NULL, *path = NULL, *data = NULL;
        AUTO_CLOSE int folder = -1;
        struct error error = { 0 };
        size_t length = 0;
        uint64_t size = 0;
        int r;

        if (!uri)
                return call_fail(call, RPC_INVALID_PARAMS, "'uri' must be a string");
        if (!media_parse_uri(uri, &id, &path))
                return no_resource(call, "the address is none of a session's file");
        folder = session_folder(call->server, id);
        if (folder < 0)
                return no_resource(call, "there is no such session");
        r = workspace_read(folder, path, MCP_FILE_MAX, &data, &length, &size, &error);
        if (r < 0)
                return no_resource(call, error.message);
        if (size > MCP_FILE_MAX)
                return call_fail(call, RPC_INVALID_PARAMS, "the file is larger than 8 MiB");
        *ret_result = json_pack("{s:[o]}", "contents", contents_of(uri, path, data, length));
        return *ret_result ? 0 : -1;
}
