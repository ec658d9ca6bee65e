/* Requests as the server makes them: policy, packages, contents of files. */
#include "mcp/session.h"
#include "cli/cli.h"
#include "base/fd.h"
#include "base/tree.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int rules_read(const struct server *server, const char *language, struct rules *ret_rules,
               struct error *err)
{
        sbx_error *failure = NULL;
        char *text = sbx_policy_show(server->policy, language, "json", &failure);
        json_t *policy = text ? json_loads(text, 0, NULL) : NULL;
        const json_t *limits = json_object_get(policy, "limits");

        sbx_string_free(text);
        if (!policy)
                return failure ? report_take(err, failure) : error_set_nomem(err);
        *ret_rules = (struct rules){
                .disk_bytes = (uint64_t)json_number_value(json_object_get(limits, "disk")),
                .caps = { 0, (uint64_t)json_number_value(json_object_get(limits, "stdout")),
                          (uint64_t)json_number_value(json_object_get(limits, "stderr")) },
                .timeout = json_number_value(json_object_get(limits, "timeout")),
                .blocks =
                        str_equal(rpc_string(json_object_get(policy, "analysis"), "mode"), "block"),
        };
        json_decref(policy);
        return 0;
}

int request_make(struct server *server, const char *language, sbx_request **ret_req,
                 struct error *err)
{
        sbx_request *req = sbx_request_new(language, NULL);
        sbx_error *failure = NULL;

        if (!req)
                return error_set_nomem(err);
        if (sbx_request_set_policy(req, server->policy, &failure) < 0 ||
            sbx_request_set_name(req, server->id, &failure) < 0 ||
            sbx_request_set_warnings(req, false, &failure) < 0) {
                sbx_request_free(req);
                return report_take(err, failure);
        }
        *ret_req = req;
        return 0;
}

int request_add_arguments(sbx_request *req, const json_t *words, struct error *err)
{
        sbx_error *failure = NULL;
        json_t *word;
        size_t index;

        json_array_foreach(words, index, word)
        {
                if (strlen(json_string_value(word)) != json_string_length(word))
                        return error_set(err, SBX_EINVAL, "an argument has a NUL in it");
                if (sbx_request_add_argument(req, json_string_value(word), &failure) < 0)
                        return report_take(err, failure);
        }
        return 0;
}

/* Names with versions, and nothing that an installer takes for an option, a path or an address. */
static bool is_package(const char *word)
{
        static const char others[] = "._-[],=<>!~*+@/^ ";
        bool begins = isalnum((unsigned char)word[0]) || word[0] == '@';

        for (const char *c = word; *c; c++)
                if (!isalnum((unsigned char)*c) && !strchr(others, *c))
                        return false;
        return begins && !strstr(word, "..") && !strstr(word, "//") && !strstr(word, " @");
}

int request_read_packages(const json_t *array, struct strlist *ret_packages, struct error *err)
{
        size_t index;
        json_t *word;

        json_array_foreach(array, index, word)
        {
                const char *text = json_string_value(word);
                char shown[80];

                if (strlen(text) != json_string_length(word) || !is_package(text))
                        return error_set(err, SBX_EINVAL,
                                         "'%s' is no package name with an optional version",
                                         str_printable(text, shown, sizeof(shown)));
                if (strlist_add(ret_packages, text) < 0)
                        return error_set_nomem(err);
        }
        return 0;
}

/* pip's list: a line each. */
static void list_for_pip(const struct strlist *packages, struct strbuf *out)
{
        for (size_t i = 0; i < packages->count; i++)
                strbuf_addf(out, "%s\n", packages->items[i]);
}

/* npm's: the version stands after an @ that is not the first letter. */
static void list_for_npm(const struct strlist *packages, struct strbuf *out)
{
        json_t *all = json_object();
        json_t *file =
                json_pack("{s:s, s:b, s:o}", "name", "session", "private", 1, "dependencies", all);
        char *text;

        for (size_t i = 0; i < packages->count; i++) {
                const char *name = packages->items[i], *at = strchr(name + 1, '@');
                size_t length = at ? (size_t)(at - name) : strlen(name);
                AUTO_FREE char *key = mem_strndup(name, length);

                if (!key ||
                    json_object_set_new(all, key, json_string(at && at[1] ? at + 1 : "*")) < 0)
                        out->failed = true;
        }
        text = json_dumps(file, JSON_INDENT(2));
        strbuf_adds(out, text ? text : "");
        out->failed |= !text;
        free(text);
        json_decref(file);
}

static const struct {
        const char *language, *file;
        void (*list)(const struct strlist *packages, struct strbuf *out);
} installers[] = {
        { "python", "requirements.txt", list_for_pip },
        { "javascript", "package.json", list_for_npm },
        { "typescript", "package.json", list_for_npm },
};

static int write_list(const char *folder, const char *name, const struct strbuf *text,
                      struct strbuf *path)
{
        AUTO_CLOSE int fd = -1;

        strbuf_addf(path, "%s/%s", folder, name);
        if (path->failed || text->failed)
                return -1;
        fd = open(path->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        return fd < 0 ? -1 : fd_write_all(fd, text->data, text->length);
}

int request_add_packages(struct server *server, sbx_request *req, const char *language,
                         const struct strlist *packages, char **ret_folder, struct error *err)
{
        AUTO_STRBUF struct strbuf text = { 0 }, path = { 0 };
        AUTO_FREE char *folder = NULL;
        sbx_error *failure = NULL;
        size_t i = 0;

        if (packages->count == 0)
                return 0;
        while (i < ARRAY_SIZE(installers) && !str_equal(installers[i].language, language))
                i++;
        if (i == ARRAY_SIZE(installers))
                return error_set(err, SBX_EINVAL,
                                 "packages can be installed for Python, JavaScript and TypeScript "
                                 "alone");
        folder = scratch_folder(server);
        installers[i].list(packages, &text);
        if (!folder || write_list(folder, installers[i].file, &text, &path) < 0)
                return error_set_errno(err, "write the list of packages");
        if (sbx_request_set_deps(req, path.data, &failure) < 0)
                return report_take(err, failure);
        *ret_folder = TAKE(folder);
        return 0;
}

static int base64_digit(char c)
{
        static const char digits[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *found = c ? strchr(digits, c) : NULL;

        return found ? (int)(found - digits) : -1;
}

static int decode(const char *text, size_t length, struct strbuf *out)
{
        unsigned bits = 0, count = 0;

        while (length > 0 && text[length - 1] == '=')
                length--;
        for (size_t i = 0; i < length; i++) {
                int digit = base64_digit(text[i]);
                char byte;

                if (digit < 0)
                        return -1;
                bits = bits << 6 | (unsigned)digit;
                count += 6;
                if (count < 8)
                        continue;
                count -= 8;
                byte = (char)(bits >> count & 255);
                strbuf_add(out, &byte, 1);
        }
        return count < 6 ? 0 : -1;
}

int request_content(const json_t *object, char **ret_data, size_t *ret_length, struct error *err)
{
        const json_t *content = json_object_get(object, "content");
        const char *text = json_string_value(content);
        AUTO_STRBUF struct strbuf data = { 0 };

        if (!str_equal(rpc_string(object, "encoding"), "base64"))
                strbuf_add(&data, text, json_string_length(content));
        else if (decode(text, json_string_length(content), &data) < 0)
                return error_set(err, SBX_EINVAL, "'content' is no base64");
        if (data.length > MCP_FILE_MAX)
                return error_set(err, SBX_ETOOBIG, "a file may have at most 8 MiB");
        *ret_length = data.length;
        *ret_data = strbuf_take(&data);
        return *ret_data ? 0 : error_set_nomem(err);
}

int request_file(const json_t *file, const char **ret_path, char **ret_data, size_t *ret_length,
                 struct error *err)
{
        *ret_path = rpc_string(file, "path");
        return *ret_path ? request_content(file, ret_data, ret_length, err)
                         : error_set(err, SBX_EINVAL, "a path has a NUL in it");
}
