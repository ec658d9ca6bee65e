#include "mcp/media.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define URI_PREFIX "sandbox://session/"

char *media_uri(const char *session_id, const char *path)
{
        AUTO_STRBUF struct strbuf uri = { 0 };

        strbuf_addf(&uri, URI_PREFIX "%s/", session_id);
        for (const char *c = path; *c; c++) {
                if (isalnum((unsigned char)*c) || strchr("-_.~/", *c))
                        strbuf_add(&uri, c, 1);
                else
                        strbuf_addf(&uri, "%%%02X", (unsigned char)*c);
        }
        return strbuf_take(&uri);
}

static int hex(char c)
{
        return !isxdigit((unsigned char)c) ? -1
               : isdigit((unsigned char)c) ? c - '0'
                                           : tolower((unsigned char)c) - 'a' + 10;
}

static char *unescape(const char *text)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        for (; *text; text++) {
                int high = *text == '%' ? hex(text[1]) : -1, low = high >= 0 ? hex(text[2]) : -1;
                char byte = low >= 0 ? (char)(high << 4 | low) : *text;

                if (!byte)
                        return NULL;
                strbuf_add(&out, &byte, 1);
                text += low >= 0 ? 2 : 0;
        }
        return strbuf_take(&out);
}

bool media_parse_uri(const char *uri, char **ret_id, char **ret_path)
{
        const char *rest = uri + strlen(URI_PREFIX), *slash;

        if (!str_has_prefix(uri, URI_PREFIX))
                return false;
        slash = strchr(rest, '/');
        if (!slash || slash == rest || slash - rest > MCP_ID_MAX || !slash[1])
                return false;
        *ret_id = mem_strndup(rest, (size_t)(slash - rest));
        *ret_path = unescape(slash + 1);
        if (*ret_id && *ret_path && workspace_is_path(*ret_path))
                return true;
        mem_free(*ret_id);
        mem_free(*ret_path);
        *ret_id = *ret_path = NULL;
        return false;
}

/* Whether it was one. */
static bool add_image(struct answer *answer, int folder, const char *path)
{
        AUTO_FREE char *data = NULL, *coded = NULL;
        const char *type = NULL;
        size_t length = 0;
        uint64_t size = 0;

        if (!workspace_image_type(path, NULL, 0) ||
            workspace_read(folder, path, MCP_IMAGE_BYTES, &data, &length, &size, NULL) < 0 ||
            size > MCP_IMAGE_BYTES)
                return false;
        type = workspace_image_type(path, data, length);
        coded = type ? str_base64(data, length) : NULL;
        if (!coded)
                return false;
        answer_add(answer,
                   json_pack("{s:s, s:s, s:s}", "type", "image", "data", coded, "mimeType", type));
        return true;
}

void media_add_images(struct answer *answer, int folder)
{
        AUTO_WORKSPACE_LIST struct workspace_list list = { 0 };
        int images = 0;

        if (workspace_list(folder, &list, NULL) < 0)
                return;
        for (size_t i = 0; i < list.count && images < MCP_IMAGES_MAX; i++)
                images += add_image(answer, folder, list.files[i].path);
}

static const struct workspace_file *find(const struct workspace_list *list, const char *path)
{
        size_t low = 0, high = list->count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = strcmp(list->files[middle].path, path);

                if (order == 0)
                        return &list->files[middle];
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return NULL;
}

static bool differs(const struct workspace_file *a, const struct workspace_file *b)
{
        return a->size != b->size || a->changed_ns != b->changed_ns || a->inode != b->inode;
}

static json_t *link_to(const struct session *session, const struct workspace_file *file)
{
        AUTO_FREE char *uri = media_uri(session->id, file->path);
        const char *type = workspace_type(file->path);
        json_t *item = uri ? json_pack("{s:s, s:s, s:s, s:I}", "type", "resource_link", "uri", uri,
                                       "name", file->path, "size", (json_int_t)file->size)
                           : NULL;

        if (item && type)
                (void)json_object_set_new(item, "mimeType", json_string(type));
        return item;
}

struct changes {
        json_t *created, *modified, *deleted; /* arrays, owned by the result */
        int images, links;
};

static void add_change(struct call *call, const struct session *session,
                       const struct workspace_file *file, const struct workspace_file *old,
                       struct answer *answer, struct changes *changes)
{
        (void)json_array_append_new(old ? changes->modified : changes->created,
                                    json_string(file->path));
        if (changes->images < MCP_IMAGES_MAX && add_image(answer, session->folder, file->path))
                changes->images++;
        else if (call->version >= MCP_2025_06_18 && changes->links++ < MCP_LINKS_MAX)
                answer_add(answer, link_to(session, file));
}

void media_add_changes(struct call *call, const struct session *session,
                       const struct workspace_list *before, struct answer *answer, json_t *result)
{
        AUTO_WORKSPACE_LIST struct workspace_list after = { 0 };
        struct changes changes = { .created = json_array(),
                                   .modified = json_array(),
                                   .deleted = json_array() };

        (void)json_object_set_new(result, "files",
                                  json_pack("{s:o, s:o, s:o}", "created", changes.created,
                                            "modified", changes.modified, "deleted",
                                            changes.deleted));
        if (workspace_list(session->folder, &after, NULL) < 0)
                return;
        for (size_t i = 0; i < after.count; i++) {
                const struct workspace_file *old = find(before, after.files[i].path);

                /* What a list has no room for may have been there before, or be there still. */
                if (old ? differs(old, &after.files[i]) : !before->truncated)
                        add_change(call, session, &after.files[i], old, answer, &changes);
        }
        for (size_t i = 0; i < before->count && !after.truncated; i++)
                if (!find(&after, before->files[i].path))
                        (void)json_array_append_new(changes.deleted,
                                                    json_string(before->files[i].path));
}
