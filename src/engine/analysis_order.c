/* What sandbox-analyze is asked: the source, and the rules in force. */
#include "analysis/order.h"
#include "base/fd.h"
#include "base/jsontext.h"
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
        struct strbuf *files = &source->files;

        strbuf_adds(files, files->length ? ",{" : "{");
        jsontext_put_string(files, "name", name);
        jsontext_put_size(files, "offset", source->length);
        jsontext_put_size(files, "length", length);
        strbuf_adds(files, "}");
        source->length += length + 1;
        return files->failed ? -1 : 0;
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

        *ret_source = (struct analysis_source){ 0 };
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

static void put_list(struct strbuf *out, const char *key, const struct passage *passage,
                     enum policy_rule rule)
{
        const struct strlist *list;
        const char *comma = "";

        jsontext_key(out, key);
        strbuf_adds(out, "[");
        for (unsigned index = 0; (list = analysis_list(passage, rule, index)); index++)
                for (size_t i = 0; i < list->count; i++, comma = ",") {
                        strbuf_adds(out, comma);
                        jsontext_string(out, list->items[i]);
                }
        strbuf_adds(out, "]");
}

static void put_lists(struct strbuf *out, const struct passage *passage)
{
        jsontext_key(out, "lists");
        strbuf_adds(out, "{");
        put_list(out, "imports", passage, RULE_IMPORTS);
        put_list(out, "functions", passage, RULE_FUNCTIONS);
        put_list(out, "commands", passage, RULE_COMMANDS);
        put_list(out, "patterns", passage, RULE_PATTERNS);
        strbuf_adds(out, "}");
}

static void add_rules(struct strbuf *out, const struct request_rule_list *list)
{
        for (size_t i = 0; i < list->count; i++) {
                const struct request_rules *rules = &list->items[i];

                strbuf_adds(out, out->data && out->data[out->length - 1] == '}' ? ",{" : "{");
                jsontext_put_string(out, "name", rules->name);
                jsontext_put_string(out, "file", rules->file);
                jsontext_put_string(out, "language", rules->language);
                jsontext_put_string(out, "yaml", rules->yaml);
                jsontext_put_string(out, "queries", rules->queries);
                strbuf_adds(out, "}");
        }
}

/* Those of the policy's folders, then those of the request's. */
static void put_rules(struct strbuf *out, const struct passage *passage)
{
        jsontext_key(out, "rules");
        strbuf_adds(out, "[");
        add_rules(out, &passage->rules);
        add_rules(out, &passage->order->request->rules);
        strbuf_adds(out, "]");
}

char *analysis_order_text(const struct passage *passage, const struct analysis_source *source,
                          struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        strbuf_adds(&out, "{");
        jsontext_put_string(&out, "language", analysis_grammar(passage));
        put_lists(&out, passage);
        put_list(&out, "named", passage, RULE_RULES);
        put_rules(&out, passage);
        jsontext_key(&out, "files");
        strbuf_adds(&out, "[");
        strbuf_add(&out, source->files.data ? source->files.data : "", source->files.length);
        strbuf_adds(&out, "]}");
        if (out.failed) {
                (void)error_set_nomem(err);
                return NULL;
        }
        return strbuf_take(&out);
}
