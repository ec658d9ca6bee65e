/* What sandbox-analyze is asked: the source, and the rules in force. */
#include "analysis/order.h"
#include "base/fd.h"
#include "base/mem.h"
#include "engine/analysis.h"
#include "engine/passage.h"

#include <string.h>
#include <unistd.h>

/* The bytes of a file at an offset, whole; 0, or -1 with errno. */
static int read_at(int fd, char *to, size_t length, uint64_t offset)
{
        size_t done = 0;

        while (done < length) {
                ssize_t n = pread(fd, to + done, length - done, (off_t)(offset + done));

                if (n < 0)
                        return -1;
                if (n == 0)
                        break; /* it has become shorter: the rest is NUL bytes */
                done += (size_t)n;
        }
        return 0;
}

static int add_file(struct analysis_source *source, const char *name, size_t length)
{
        json_t *file = json_pack("{s:s?, s:I, s:I}", "name", name, "offset",
                                 (json_int_t)source->length, "length", (json_int_t)length);

        source->length += length + 1;
        return file ? json_array_append_new(source->files, file) : -1;
}

static int read_project(const struct passage *passage, struct analysis_source *source,
                        struct error *err)
{
        const struct bundle *bundle = &passage->code->sources;
        uint64_t total = 0;

        for (size_t i = 0; i < passage->sources.count; i++) {
                const struct bundle_file *file = bundle_find(bundle, passage->sources.items[i]);

                total += file ? file->length + 1 : 0;
        }
        if (total >= ANALYZE_SOURCE_MAX)
                return 1;
        source->data = mem_alloc(total + 1);
        if (!source->data)
                return error_set_nomem(err);
        for (size_t i = 0; i < passage->sources.count; i++) {
                const struct bundle_file *file = bundle_find(bundle, passage->sources.items[i]);
                char *to = source->data + source->length;

                if (!file)
                        continue;
                if (read_at(bundle->fd, to, file->length, file->offset) < 0)
                        return error_set_errno(err, "read '%s' of the project", file->path);
                if (add_file(source, file->path, file->length) < 0)
                        return error_set_nomem(err);
        }
        return 0;
}

int analysis_read_source(const struct passage *passage, struct analysis_source *ret_source,
                         struct error *err)
{
        const struct request *code = passage->code;

        *ret_source = (struct analysis_source){ .files = json_array() };
        if (!ret_source->files)
                return error_set_nomem(err);
        if (passage->is_project)
                return read_project(passage, ret_source, err);
        if (code->code_size >= ANALYZE_SOURCE_MAX)
                return 1;
        ret_source->data = mem_alloc(code->code_size + 1);
        if (!ret_source->data)
                return error_set_nomem(err);
        if (code->code_fd < 0 && code->code_size > 0)
                memcpy(ret_source->data, code->code, code->code_size);
        else if (code->code_fd >= 0 &&
                 read_at(code->code_fd, ret_source->data, code->code_size, 0) < 0)
                return error_set_errno(err, "read the code");
        return add_file(ret_source, NULL, code->code_size) < 0 ? error_set_nomem(err) : 0;
}

static json_t *list_value(const struct passage *passage, enum policy_rule rule)
{
        json_t *array = json_array();
        const struct strlist *list;

        for (unsigned index = 0; (list = analysis_list(passage, rule, index)); index++)
                for (size_t i = 0; array && i < list->count; i++)
                        if (json_array_append_new(array, json_string(list->items[i])) < 0) {
                                json_decref(array);
                                return NULL;
                        }
        return array;
}

static json_t *lists_value(const struct passage *passage)
{
        return json_pack("{s:o, s:o, s:o, s:o}", "imports", list_value(passage, RULE_IMPORTS),
                         "functions", list_value(passage, RULE_FUNCTIONS), "commands",
                         list_value(passage, RULE_COMMANDS), "patterns",
                         list_value(passage, RULE_PATTERNS));
}

static int add_rules(json_t *array, const struct request_rule_list *list)
{
        for (size_t i = 0; i < list->count; i++) {
                const struct request_rules *rules = &list->items[i];

                if (json_array_append_new(
                            array, json_pack("{s:s, s:s, s:s, s:s, s:s?}", "name", rules->name,
                                             "file", rules->file, "language", rules->language,
                                             "yaml", rules->yaml, "queries", rules->queries)) < 0)
                        return -1;
        }
        return 0;
}

/* Those of the policy's folders, then those of the request's. */
static json_t *rules_value(const struct passage *passage)
{
        json_t *array = json_array();

        if (add_rules(array, &passage->rules) < 0 ||
            add_rules(array, &passage->order->request->rules) < 0) {
                json_decref(array);
                return NULL;
        }
        return array;
}

char *analysis_order_text(const struct passage *passage, const struct analysis_source *source,
                          struct error *err)
{
        const char *language = analysis_grammar(passage);
        json_t *order = json_pack("{s:s, s:o, s:o, s:o, s:O}", "language", language, "lists",
                                  lists_value(passage), "named", list_value(passage, RULE_RULES),
                                  "rules", rules_value(passage), "files", source->files);
        char *text = order ? json_dumps(order, JSON_COMPACT) : NULL;
        char *copy = text ? mem_strdup(text) : NULL;

        free(text); /* jansson's own allocation */
        json_decref(order);
        if (!copy)
                (void)error_set_nomem(err);
        return copy;
}
