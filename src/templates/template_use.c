/* What a request says about a template, and the list of those that are built in. */
#include "templates/templates.h"
#include "templates/placeholder.h"
#include "base/mem.h"

#include <jansson.h>
#include <string.h>

void template_use_done(struct template_use *use)
{
        for (size_t i = 0; i < use->count; i++) {
                mem_free(use->values[i].name);
                mem_free(use->values[i].data);
        }
        mem_free(use->values);
        mem_free(use->name);
        template_free(use->template);
        *use = (struct template_use){ 0 };
}

static bool is_known(const char *name)
{
        for (const struct template_builtin *known = templates_builtin; known->name; known++) {
                size_t length = strlen(known->name);

                if (str_equal(known->name, name) ||
                    (str_has_prefix(name, known->name) && name[length] == '-' &&
                     str_equal(name + length + 1, known->language)))
                        return true;
        }
        return false;
}

int template_use_name(struct template_use *use, const char *name, struct error *err)
{
        AUTO_FREE char *copy = mem_strdup(name);
        AUTO_FREE char *list = templates_list();
        char shown[160];

        if (!copy || !list)
                return error_set_nomem(err);
        if (!is_known(name)) {
                (void)error_set(err, SBX_EINVAL, "no such template: '%s'",
                                str_printable(name, shown, sizeof(shown)));
                error_hint(err, "the templates are: %s; a file is given by its path, ./NAME.yaml",
                           list);
                return SBX_EINVAL;
        }
        template_free(use->template);
        use->template = NULL;
        mem_free(use->name);
        use->name = TAKE(copy);
        return 0;
}

int template_use_text(struct template_use *use, const char *text, size_t length, const char *name,
                      struct error *err)
{
        struct template *template = NULL;
        int r = template_load(text, length, name, &template, err);

        if (r < 0)
                return r;
        mem_free(use->name);
        use->name = NULL;
        template_free(use->template);
        use->template = template;
        return 0;
}

int template_use_set(struct template_use *use, const char *name, const void *data, size_t length,
                     struct error *err)
{
        struct template_value *value;
        char shown[96];

        str_printable(name, shown, sizeof(shown));
        if (!placeholder_is_name(name))
                return error_set(err, SBX_EINVAL, "'%s' is not a placeholder's name", shown);
        if (str_equal(name, "code"))
                return error_set(err, SBX_EINVAL, "the placeholder 'code' is the code itself");
        if (length > TEMPLATE_VALUE_MAX)
                return error_set(err, SBX_ETOOBIG, "the value of '%s' is larger than %d MiB", shown,
                                 TEMPLATE_VALUE_MAX >> 20);
        for (size_t i = 0; i < use->count; i++)
                if (str_equal(use->values[i].name, name))
                        return error_set(err, SBX_EINVAL, "'%s' is given twice", shown);
        if (use->count == TEMPLATE_PLACEHOLDERS_MAX)
                return error_set(err, SBX_ETOOBIG, "more than %d values",
                                 TEMPLATE_PLACEHOLDERS_MAX);
        if (MEM_GROW(use->values, use->count, use->capacity) < 0)
                return error_set_nomem(err);
        value = &use->values[use->count];
        *value = (struct template_value){ mem_strdup(name), mem_dup(data, length), length };
        if (!value->name || !value->data) {
                mem_free(value->name);
                mem_free(value->data);
                return error_set_nomem(err);
        }
        use->count++;
        return 0;
}

/* ---- what is built in ---- */

char *templates_list(void)
{
        AUTO_STRBUF struct strbuf list = { 0 };
        const char *last = NULL;

        /* They are sorted by name; one name has a template for each of several languages. */
        for (const struct template_builtin *known = templates_builtin; known->name; known++) {
                if (last && str_equal(last, known->name)) {
                        list.length -= list.failed ? 0 : 1; /* the parenthesis */
                        strbuf_addf(&list, ", %s)", known->language);
                } else {
                        strbuf_addf(&list, "%s%s (%s)", last ? ", " : "", known->name,
                                    known->language);
                }
                last = known->name;
        }
        return list.failed ? NULL : strbuf_take(&list);
}

static json_t *placeholder_value(const struct template_placeholder *placeholder)
{
        return json_pack("{s:s, s:s, s:b, s:s?, s:s?}", "name", placeholder->name, "as",
                         template_kind_name(placeholder->kind), "required", !placeholder->standard,
                         "default", placeholder->standard, "description", placeholder->description);
}

static json_t *template_value(const struct template *template)
{
        json_t *placeholders = json_array();

        for (size_t i = 0; placeholders && i < template->count; i++)
                if (json_array_append_new(placeholders,
                                          placeholder_value(&template->placeholders[i])) < 0) {
                        json_decref(placeholders);
                        return NULL;
                }
        return json_pack("{s:s, s:s?, s:s?, s:o}", "name", template->name, "language",
                         template->language, "description", template->description, "placeholders",
                         placeholders);
}

char *templates_json(struct error *err)
{
        json_t *list = json_array();
        char *text, *copy;
        int r = list ? 0 : SBX_ENOMEM;

        for (const struct template_builtin *known = templates_builtin; known->name && r == 0;
             known++) {
                struct template *template = NULL;

                r = template_load(known->text, strlen(known->text), "builtin.yaml", &template, err);
                if (r == 0 && json_array_append_new(list, template_value(template)) < 0)
                        r = SBX_ENOMEM;
                template_free(template);
        }
        text = r == 0 ? json_dumps(list, JSON_INDENT(2)) : NULL;
        copy = mem_strdup(text);
        free(text); /* jansson's own allocation */
        json_decref(list);
        if (!copy)
                (void)error_set_nomem(err);
        return copy;
}
