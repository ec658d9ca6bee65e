/* Templates as read, and the use that a request makes of one. */
#include "templates/templates.h"
#include "templates/placeholder.h"
#include "base/document.h"
#include "base/mem.h"

#include <string.h>

enum { NODES_MAX = 2000 };

static const char *const kind_names[TEMPLATE_KIND_COUNT] = {
        [TEMPLATE_CODE] = "code", [TEMPLATE_STRING] = "string",
        [TEMPLATE_JSON] = "json", [TEMPLATE_JSON_STRING] = "json-string",
        [TEMPLATE_NAME] = "name", [TEMPLATE_NUMBER] = "number",
};

const char *template_kind_name(enum template_kind kind)
{
        return kind_names[kind];
}

void template_free(struct template *template)
{
        if (!template)
                return;
        for (size_t i = 0; i < template->count; i++) {
                mem_free(template->placeholders[i].name);
                mem_free(template->placeholders[i].standard);
                mem_free(template->placeholders[i].description);
        }
        mem_free(template->placeholders);
        mem_free(template->name);
        mem_free(template->language);
        mem_free(template->file_name);
        mem_free(template->description);
        mem_free(template->program);
        mem_free(template);
}

static void template_free_p(struct template **template)
{
        template_free(*template);
}
#define AUTO_TEMPLATE __attribute__((cleanup(template_free_p)))

int template_find(const struct template *template, const char *name, size_t length)
{
        for (size_t i = 0; i < template->count; i++)
                if (strlen(template->placeholders[i].name) == length &&
                    memcmp(template->placeholders[i].name, name, length) == 0)
                        return (int)i;
        return -1;
}

static int add_placeholder(struct template *template, const char *name, size_t length,
                           struct template_placeholder **ret_added, struct error *err)
{
        struct template_placeholder *added;

        if (template->count == TEMPLATE_PLACEHOLDERS_MAX)
                return error_set(err, SBX_EINVAL, "more than %d placeholders",
                                 TEMPLATE_PLACEHOLDERS_MAX);
        if (MEM_GROW(template->placeholders, template->count, template->capacity) < 0)
                return error_set_nomem(err);
        added = &template->placeholders[template->count];
        *added = (struct template_placeholder){ .name = mem_strndup(name, length) };
        if (!added->name)
                return error_set_nomem(err);
        template->count++;
        *ret_added = added;
        return 0;
}

/* ---- the program ---- */

/* Every placeholder of the program is known, and every known one is in the program. One that is
 * not described must be given, and is put in as it is. */
static int check_program(struct template *template, struct error *err)
{
        bool used[TEMPLATE_PLACEHOLDERS_MAX] = { false };
        struct template_placeholder *added;
        struct placeholder_mark mark = { 0 };
        size_t at = 0;

        while (placeholder_next(template->program, template->length, at, &mark)) {
                int index;

                at = mark.end;
                if (mark.is_escape)
                        continue;
                index = template_find(template, mark.name, mark.name_length);
                if (index < 0) {
                        int r = add_placeholder(template, mark.name, mark.name_length, &added, err);

                        if (r < 0)
                                return r;
                        index = (int)template->count - 1;
                }
                used[index] = true;
        }
        for (size_t i = 0; i < template->count; i++)
                if (!used[i])
                        return error_set(err, SBX_EINVAL,
                                         "placeholder '%s' is described and not in the program",
                                         template->placeholders[i].name);
        if (template_find(template, "code", 4) < 0) {
                (void)error_set(err, SBX_EINVAL, "the program has no place for the code");
                error_hint(err, "write {{code}} on a line of its own where the code belongs");
                return SBX_EINVAL;
        }
        return 0;
}

static int take_program(struct template *template, const char *text, size_t length,
                        struct error *err)
{
        if (length > TEMPLATE_FILE_MAX)
                return error_set(err, SBX_ETOOBIG, "the template is larger than %d KiB",
                                 TEMPLATE_FILE_MAX >> 10);
        template->program = mem_dup(text, length);
        template->length = length;
        return template->program ? 0 : error_set_nomem(err);
}

/* ---- the keys of a file ---- */

struct keys {
        const struct document *document;
        struct template *template;
        struct error *err;
};

/* A text that is neither null nor holds a NUL byte. */
static int text_of(const struct keys *keys, const struct document_node *node, char **ret_text)
{
        if (node->kind != DOCUMENT_TEXT || document_is_null(node))
                return document_fail(keys->document, node, keys->err, "'%s' must be a text, not %s",
                                     node->key, document_describe(node));
        if (memchr(node->text, '\0', node->length))
                return document_fail(keys->document, node, keys->err, "'%s' holds a NUL byte",
                                     node->key);
        mem_free(*ret_text);
        *ret_text = mem_strdup(node->text);
        return *ret_text ? 0 : error_set_nomem(keys->err);
}

static int read_kind(const struct keys *keys, const struct document_node *node,
                     struct template_placeholder *placeholder)
{
        for (size_t i = 0; node->kind == DOCUMENT_TEXT && i < TEMPLATE_KIND_COUNT; i++) {
                if (strcmp(node->text, kind_names[i]) == 0) {
                        placeholder->kind = (enum template_kind)i;
                        return 0;
                }
        }
        (void)document_fail(keys->document, node, keys->err, "'as' is none of the known kinds");
        error_hint(keys->err, "the kinds are code, string, json, json-string, name and number");
        return SBX_EINVAL;
}

static int read_default(const struct keys *keys, const struct document_node *node,
                        struct template_placeholder *placeholder)
{
        if (node->kind != DOCUMENT_TEXT)
                return document_fail(keys->document, node, keys->err,
                                     "'default' must be a text, not %s", document_describe(node));
        placeholder->standard = mem_dup(node->text, node->length);
        placeholder->standard_length = node->length;
        return placeholder->standard ? 0 : error_set_nomem(keys->err);
}

static int read_detail(const struct keys *keys, const struct document_node *node,
                       struct template_placeholder *placeholder, int *required)
{
        char shown[80];
        bool flag = false;

        if (str_equal(node->key, "as") || str_equal(node->key, "type"))
                return read_kind(keys, node, placeholder);
        if (str_equal(node->key, "default"))
                return read_default(keys, node, placeholder);
        if (str_equal(node->key, "description"))
                return text_of(keys, node, &placeholder->description);
        if (!str_equal(node->key, "required"))
                return document_fail(keys->document, node, keys->err,
                                     "unknown key '%s' of a placeholder",
                                     str_printable(node->key, shown, sizeof(shown)));
        if (!document_is_flag(node, &flag))
                return document_fail(keys->document, node, keys->err,
                                     "'required' must be true or false");
        *required = flag;
        return 0;
}

static int read_placeholder(const struct keys *keys, const struct document_node *node)
{
        struct template_placeholder *placeholder;
        char shown[80];
        int required = -1, r;

        if (!placeholder_is_name(node->key))
                return document_fail(keys->document, node, keys->err,
                                     "'%s' cannot be a placeholder: letters, digits and '_', at "
                                     "most %d",
                                     str_printable(node->key, shown, sizeof(shown)),
                                     TEMPLATE_NAME_MAX);
        r = add_placeholder(keys->template, node->key, strlen(node->key), &placeholder, keys->err);
        if (r < 0)
                return r;
        if (document_is_null(node))
                return 0;
        if (node->kind == DOCUMENT_TEXT) /* short for its default alone */
                return read_default(keys, node, placeholder);
        if (node->kind != DOCUMENT_MAPPING)
                return document_fail(keys->document, node, keys->err,
                                     "placeholder '%s' must be a mapping, not %s", node->key,
                                     document_describe(node));
        for (size_t i = 0; i < node->count && r == 0; i++)
                r = read_detail(keys, &node->items[i], placeholder, &required);
        if (r < 0)
                return r;
        if (required == 1 && placeholder->standard)
                return document_fail(keys->document, node, keys->err,
                                     "placeholder '%s' is required and has a default", node->key);
        if (required == 0 && !placeholder->standard)
                placeholder->standard = mem_strdup("");
        if (str_equal(node->key, "code") && placeholder->kind != TEMPLATE_CODE)
                return document_fail(keys->document, node, keys->err,
                                     "placeholder 'code' is always put in as it is");
        return required != 0 || placeholder->standard ? 0 : error_set_nomem(keys->err);
}

static int read_placeholders(const struct keys *keys, const struct document_node *node)
{
        int r = 0;

        if (node->kind != DOCUMENT_MAPPING)
                return document_fail(keys->document, node, keys->err,
                                     "'placeholders' must be a mapping, not %s",
                                     document_describe(node));
        for (size_t i = 0; i < node->count && r == 0; i++)
                r = read_placeholder(keys, &node->items[i]);
        return r;
}

static int read_name(const struct keys *keys, const struct document_node *node)
{
        int r = text_of(keys, node, &keys->template->name);

        if (r == 0 &&
            (node->length == 0 || node->length > TEMPLATE_NAME_MAX ||
             strspn(node->text, "abcdefghijklmnopqrstuvwxyz0123456789-_") != node->length))
                return document_fail(keys->document, node, keys->err,
                                     "'name' must be lower-case letters, digits, '-' and '_', at "
                                     "most %d",
                                     TEMPLATE_NAME_MAX);
        return r;
}

static int read_language(const struct keys *keys, const struct document_node *node)
{
        return text_of(keys, node, &keys->template->language);
}

static int read_description(const struct keys *keys, const struct document_node *node)
{
        return text_of(keys, node, &keys->template->description);
}

static int read_program(const struct keys *keys, const struct document_node *node)
{
        char *checked = NULL;
        int r;

        if (keys->template->program)
                return document_fail(keys->document, node, keys->err, "the program is there twice");
        r = text_of(keys, node, &checked);
        mem_free(checked);
        return r < 0 ? r : take_program(keys->template, node->text, node->length, keys->err);
}

static int read_key(const struct keys *keys, const struct document_node *node)
{
        static const struct {
                const char *name;
                int (*read)(const struct keys *keys, const struct document_node *node);
        } known[] = {
                { "name", read_name },
                { "language", read_language },
                { "description", read_description },
                { "placeholders", read_placeholders },
                { "program", read_program },
                { "template", read_program }, /* the same, as others call it */
                { "code", read_program },
        };
        char shown[80];

        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (str_equal(node->key, known[i].name))
                        return known[i].read(keys, node);
        (void)document_fail(keys->document, node, keys->err, "unknown key '%s'",
                            str_printable(node->key, shown, sizeof(shown)));
        error_hint(keys->err, "the keys are name, language, description, placeholders and program");
        return SBX_EINVAL;
}

static int load_keys(struct template *template, const char *text, size_t length, const char *name,
                     struct error *err)
{
        AUTO_DOCUMENT struct document *document = NULL;
        struct keys keys = { .template = template, .err = err };
        int r = document_read(text, length, name, NODES_MAX, &document, err);

        if (r < 0)
                return r;
        keys.document = document;
        if (document->root.kind != DOCUMENT_MAPPING)
                return document_fail(document, &document->root, err,
                                     "a template must be a mapping, not %s",
                                     document_describe(&document->root));
        for (size_t i = 0; i < document->root.count && r == 0; i++)
                r = read_key(&keys, &document->root.items[i]);
        if (r < 0)
                return r;
        if (!template->program)
                return document_fail(document, NULL, err, "the key 'program' is missing");
        r = check_program(template, err);
        if (r < 0)
                error_prefix(err, "%s", document->name);
        return r;
}

/* ---- reading ---- */

/* "wrap.py" of "dir/wrap.py". */
static const char *base_name(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

static int load_program(struct template *template, const char *text, size_t length,
                        const char *name, struct error *err)
{
        char shown[160];
        int r = 0;

        template->file_name = mem_strdup(base_name(name));
        if (!template->file_name)
                return error_set_nomem(err);
        if (!str_is_utf8(text, length) || memchr(text, '\0', length))
                r = error_set(err, SBX_EINVAL, "a template is UTF-8 text without NUL bytes");
        if (r == 0)
                r = take_program(template, text, length, err);
        if (r == 0)
                r = check_program(template, err);
        if (r < 0 && r != SBX_ENOMEM)
                error_prefix(err, "%s", str_printable(name, shown, sizeof(shown)));
        return r;
}

/* A file without a name of its own is called by its file's, without the extension. */
static int name_by_file(struct template *template, const char *name, struct error *err)
{
        const char *base = base_name(name);
        size_t length = strcspn(base, ".");
        char shown[TEMPLATE_NAME_MAX];

        if (template->name)
                return 0;
        template->name = mem_strndup(base, length ? length : strlen(base));
        if (template->name) {
                str_printable(template->name, shown, sizeof(shown));
                mem_free(template->name);
                template->name = mem_strdup(shown);
        }
        return template->name ? 0 : error_set_nomem(err);
}

int template_load(const char *text, size_t length, const char *name, struct template **ret_template,
                  struct error *err)
{
        AUTO_TEMPLATE struct template *template = mem_alloc(sizeof(*template));
        char shown[160];
        int r;

        if (!template)
                return error_set_nomem(err);
        if (length > TEMPLATE_FILE_MAX)
                return error_set(err, SBX_ETOOBIG, "%s: the template is larger than %d KiB",
                                 str_printable(name, shown, sizeof(shown)),
                                 TEMPLATE_FILE_MAX >> 10);
        if (str_has_suffix(name, ".yaml") || str_has_suffix(name, ".yml"))
                r = load_keys(template, text, length, name, err);
        else
                r = load_program(template, text, length, name, err);
        if (r == 0)
                r = name_by_file(template, name, err);
        if (r < 0)
                return r;
        *ret_template = TAKE(template);
        return 0;
}
