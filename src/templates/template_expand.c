/*
 * Putting code and values into a template, and keeping account of which line came from where.
 *
 * A placeholder that stands alone on its line takes the line's indentation for every line of its
 * value, but for empty ones. One within a line is put in as it is.
 */
#include "templates/templates.h"
#include "templates/placeholder.h"
#include "base/mem.h"

#include <string.h>

struct builder {
        struct expansion *expansion;
        const struct template *template;
        const struct template_use *use;
        const char *code;
        size_t code_length;
        const char *language;
        size_t template_line; /* of the template's program, from 1 */
        struct error *err;
};

void expansion_done(struct expansion *expansion)
{
        strbuf_done(&expansion->text);
        mem_free(expansion->ranges);
        *expansion = (struct expansion){ 0 };
}

struct template_range expansion_origin(const struct expansion *expansion, size_t line)
{
        struct template_range found = { .first = 1, .source = -1, .line = 1 };
        size_t low = 0, high = expansion->count;

        while (low < high) { /* the last range that begins at or before the line */
                size_t middle = low + (high - low) / 2;

                if (expansion->ranges[middle].first <= line) {
                        found = expansion->ranges[middle];
                        low = middle + 1;
                } else {
                        high = middle;
                }
        }
        found.line += line - found.first;
        found.first = line;
        return found;
}

size_t expansion_code_line(const struct expansion *expansion)
{
        int code = template_find(expansion->template, "code", 4);

        for (size_t i = 0; i < expansion->count; i++)
                if (expansion->ranges[i].source == code)
                        return expansion->ranges[i].first;
        return 0;
}

/* Says where the current line of the program comes from. */
static int note(struct builder *b, int source, size_t line, size_t indent)
{
        struct expansion *e = b->expansion;
        struct template_range *last = e->count ? &e->ranges[e->count - 1] : NULL;

        if (last && last->first == e->lines) {
                *last = (struct template_range){ e->lines, source, line, indent };
                return 0;
        }
        if (last && last->source == source && last->indent == indent &&
            last->line + (e->lines - last->first) == line)
                return 0;
        if (MEM_GROW(e->ranges, e->count, e->capacity) < 0)
                return error_set_nomem(b->err);
        e->ranges[e->count++] = (struct template_range){ e->lines, source, line, indent };
        return 0;
}

static int add(struct builder *b, const char *text, size_t length)
{
        struct strbuf *out = &b->expansion->text;

        if (length > TEMPLATE_PROGRAM_MAX - out->length)
                return error_set(b->err, SBX_ETOOBIG,
                                 "the program made from the template is larger than %d MiB",
                                 TEMPLATE_PROGRAM_MAX >> 20);
        strbuf_add(out, text, length);
        return out->failed ? error_set_nomem(b->err) : 0;
}

/* Text of the template itself. */
static int add_template_text(struct builder *b, const char *text, size_t length)
{
        int r = 0;

        while (length > 0 && r == 0) {
                const char *newline = memchr(text, '\n', length);
                size_t part = newline ? (size_t)(newline - text) + 1 : length;

                r = add(b, text, part);
                if (newline && r == 0) {
                        b->expansion->lines++;
                        b->template_line++;
                        r = note(b, -1, b->template_line, 0);
                }
                text += part;
                length -= part;
        }
        return r;
}

/* A value, each of its lines after the first with `indent` in front. */
static int add_value(struct builder *b, int source, const char *text, size_t length,
                     const char *indent, size_t indent_length)
{
        size_t line = 1;
        int r = length ? note(b, source, line, indent_length) : 0;

        while (length > 0 && r == 0) {
                const char *newline = memchr(text, '\n', length);
                size_t part = newline ? (size_t)(newline - text) + 1 : length;

                r = add(b, text, part);
                text += part;
                length -= part;
                if (!newline || r < 0)
                        break;
                b->expansion->lines++;
                r = note(b, source, ++line, indent_length);
                if (r == 0 && indent_length && length > 0 && *text != '\n' && *text != '\r')
                        r = add(b, indent, indent_length);
        }
        return r;
}

static const struct template_value *find_value(const struct builder *b, const char *name)
{
        for (size_t i = 0; i < b->use->count; i++)
                if (str_equal(b->use->values[i].name, name))
                        return &b->use->values[i];
        return NULL;
}

/* What is to be put in for a placeholder. */
static void choose_value(const struct builder *b, const struct template_placeholder *placeholder,
                         const char **ret_data, size_t *ret_length)
{
        const struct template_value *value = find_value(b, placeholder->name);

        if (str_equal(placeholder->name, "code")) {
                *ret_data = b->code;
                *ret_length = b->code_length;
        } else if (value) {
                *ret_data = value->data;
                *ret_length = value->length;
        } else {
                *ret_data = placeholder->standard;
                *ret_length = placeholder->standard_length ? placeholder->standard_length
                                                           : strlen(placeholder->standard);
        }
}

/* The indentation of a placeholder that stands alone on its line; false where it does not. */
static bool stands_alone(const struct template *template, const struct placeholder_mark *mark,
                         size_t *ret_indent)
{
        size_t start = mark->start, end = mark->end;

        while (start > 0 &&
               (template->program[start - 1] == ' ' || template->program[start - 1] == '\t'))
                start--;
        while (end < template->length && strchr(" \t\r", template->program[end]) &&
               template->program[end])
                end++;
        *ret_indent = mark->start - start;
        return (start == 0 || template->program[start - 1] == '\n') &&
               (end == template->length || template->program[end] == '\n');
}

static int add_placeholder(struct builder *b, const struct placeholder_mark *mark)
{
        int index = template_find(b->template, mark->name, mark->name_length);
        const struct template_placeholder *placeholder = &b->template->placeholders[index];
        AUTO_STRBUF struct strbuf quoted = { 0 };
        size_t length, indent = 0;
        const char *data;
        int r;

        choose_value(b, placeholder, &data, &length);
        if (placeholder->kind != TEMPLATE_CODE) {
                r = template_quote(placeholder->kind, b->language, data, length, &quoted, b->err);
                if (r < 0)
                        error_prefix(b->err, "value of '%s'", placeholder->name);
                return r < 0 ? r : add(b, quoted.data, quoted.length);
        }
        if (!stands_alone(b->template, mark, &indent))
                return add_value(b, index, data, length, "", 0);
        /* The line has an end of its own. */
        if (length > 0 && data[length - 1] == '\n')
                length--;
        return add_value(b, index, data, length, b->template->program + mark->start - indent,
                         indent);
}

static int add_all(struct builder *b)
{
        const struct template *template = b->template;
        struct placeholder_mark mark = { 0 };
        size_t at = 0;
        int r = note(b, -1, 1, 0);

        while (r == 0 && placeholder_next(template->program, template->length, at, &mark)) {
                r = add_template_text(b, template->program + at, mark.start - at);
                if (r == 0)
                        r = mark.is_escape ? add(b, "{{", 2) : add_placeholder(b, &mark);
                at = mark.end;
        }
        return r < 0 ? r : add_template_text(b, template->program + at, template->length - at);
}

/* ---- which values there are ---- */

static int check_missing(const struct builder *b)
{
        AUTO_STRBUF struct strbuf missing = { 0 };
        const char *first = NULL;

        for (size_t i = 0; i < b->template->count; i++) {
                const struct template_placeholder *placeholder = &b->template->placeholders[i];

                if (placeholder->standard || str_equal(placeholder->name, "code") ||
                    find_value(b, placeholder->name))
                        continue;
                strbuf_addf(&missing, "%s'%s'", missing.length ? ", " : "", placeholder->name);
                if (!first)
                        first = placeholder->name;
        }
        if (!first)
                return 0;
        if (missing.failed)
                return error_set_nomem(b->err);
        (void)error_set(b->err, SBX_EINVAL, "template '%s': no value for %s", b->template->name,
                        missing.data);
        error_hint(b->err, "give it with --set %s=VALUE or --set-file %s=PATH", first, first);
        return SBX_EINVAL;
}

static int check_unknown(const struct builder *b)
{
        AUTO_STRBUF struct strbuf unknown = { 0 }, known = { 0 };

        for (size_t i = 0; i < b->use->count; i++) {
                const char *name = b->use->values[i].name;

                if (template_find(b->template, name, strlen(name)) < 0)
                        strbuf_addf(&unknown, "%s'%s'", unknown.length ? ", " : "", name);
        }
        if (!unknown.length && !unknown.failed)
                return 0;
        for (size_t i = 0; i < b->template->count; i++)
                if (!str_equal(b->template->placeholders[i].name, "code"))
                        strbuf_addf(&known, "%s%s", known.length ? ", " : "",
                                    b->template->placeholders[i].name);
        if (unknown.failed || known.failed)
                return error_set_nomem(b->err);
        (void)error_set(b->err, SBX_EINVAL, "template '%s': no placeholder %s", b->template->name,
                        unknown.data);
        if (known.length)
                error_hint(b->err, "it takes the values: %s", known.data);
        else
                error_hint(b->err, "it takes the code alone");
        return SBX_EINVAL;
}

int template_expand(const struct template *template, const struct template_use *use,
                    const char *code, size_t code_length, const char *language,
                    struct expansion *ret_expansion, struct error *err)
{
        struct expansion expansion = { .template = template, .lines = 1 };
        struct builder b = { &expansion, template, use, code, code_length, language, 1, err };
        int r = check_unknown(&b);

        if (r == 0)
                r = check_missing(&b);
        if (r == 0)
                r = add_all(&b);
        if (r < 0) {
                expansion_done(&expansion);
                return r;
        }
        *ret_expansion = expansion;
        return 0;
}
