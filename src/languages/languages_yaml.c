/*
 * The reader of language files, over libyaml's events. It walks the table of keys, so what a file
 * may hold is data as well (languages_keys.c). Depth is bounded by that table: a nested value where
 * the table has none is refused before anything below it is read.
 *
 * The folder of further languages is the operator's, but a file in it may still be damaged: every
 * size has a maximum, and every complaint names file, line and column.
 */
#include "languages/languages_load.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct reader {
        yaml_parser_t parser;
        yaml_event_t event; /* the current one; zeroed when there is none */
        const char *name;   /* borrowed; the file's, for messages */
        const char *text;   /* borrowed; the file itself */
        size_t length;
        struct language_loaded *loaded;
        struct error *err;
};

static int read_mapping(struct reader *r, const struct language_key *keys, const char *what);

/* ---- complaints ---- */

static int complain(struct reader *r, yaml_mark_t mark, const char *what, const char *why)
{
        char name[256], shown[128];

        return error_set(r->err, SBX_ELANGUAGE, "%s:%zu:%zu: %s%s%s%s",
                         str_printable(r->name, name, sizeof(name)), mark.line + 1, mark.column + 1,
                         what ? "'" : "", what ? str_printable(what, shown, sizeof(shown)) : "",
                         what ? "' " : "", why);
}

/* The bytes themselves were wrong (not UTF-8, a control byte): libyaml tells an offset alone. */
static yaml_mark_t mark_of_offset(const struct reader *r, size_t offset)
{
        yaml_mark_t mark = { 0 };

        for (size_t i = 0; i < offset && i < r->length; i++) {
                mark.column = r->text[i] == '\n' ? 0 : mark.column + 1;
                mark.line += r->text[i] == '\n';
        }
        return mark;
}

static int complain_syntax(struct reader *r)
{
        const yaml_parser_t *parser = &r->parser;
        yaml_mark_t mark = parser->problem_mark;

        if (parser->error == YAML_MEMORY_ERROR)
                return error_set_nomem(r->err);
        if (parser->error == YAML_READER_ERROR)
                mark = mark_of_offset(r, parser->problem_offset);
        return complain(r, mark, NULL, parser->problem ? parser->problem : "not valid YAML");
}

/* ---- events ---- */

static bool is_marked(const yaml_event_t *event)
{
        switch (event->type) {
        case YAML_SCALAR_EVENT:
                return event->data.scalar.anchor || event->data.scalar.tag;
        case YAML_SEQUENCE_START_EVENT:
                return event->data.sequence_start.anchor || event->data.sequence_start.tag;
        case YAML_MAPPING_START_EVENT:
                return event->data.mapping_start.anchor || event->data.mapping_start.tag;
        default:
                return false;
        }
}

static int next(struct reader *r)
{
        yaml_event_delete(&r->event);
        memset(&r->event, 0, sizeof(r->event));
        if (!yaml_parser_parse(&r->parser, &r->event))
                return complain_syntax(r);
        if (r->event.type == YAML_ALIAS_EVENT)
                return complain(r, r->event.start_mark, NULL, "aliases are not allowed");
        if (is_marked(&r->event))
                return complain(r, r->event.start_mark, NULL, "anchors and tags are not allowed");
        return 0;
}

static int expect(struct reader *r, yaml_event_type_t type, const char *what, const char *why)
{
        return r->event.type == type ? 0 : complain(r, r->event.start_mark, what, why);
}

/* The current event must be a text: not null, not too long and without NUL bytes. */
static int check_text(struct reader *r, const char *what)
{
        const char *value;
        size_t length;
        int rc = expect(r, YAML_SCALAR_EVENT, what, "must be a text");

        if (rc < 0)
                return rc;
        value = (const char *)r->event.data.scalar.value;
        length = r->event.data.scalar.length;
        if (r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
            (length == 0 || str_equal(value, "~") || str_equal(value, "null")))
                return complain(r, r->event.start_mark, what, "must have a value");
        if (length > LANGUAGE_STRING_MAX)
                return complain(r, r->event.start_mark, what, "is longer than 64 KiB");
        if (memchr(value, '\0', length))
                return complain(r, r->event.start_mark, what, "holds a NUL byte");
        return 0;
}

static const char *text_of(const struct reader *r)
{
        return (const char *)r->event.data.scalar.value;
}

/* ---- memory of the language ---- */

/* Takes `part`, also when it fails. NULL stands for an allocation that failed. */
static void *keep(struct reader *r, void *part)
{
        struct language_loaded *loaded = r->loaded;

        if (!part)
                return NULL;
        if (MEM_GROW(loaded->parts, loaded->part_count, loaded->part_capacity) < 0) {
                mem_free(part);
                return NULL;
        }
        loaded->parts[loaded->part_count++] = part;
        return part;
}

static void *member(struct reader *r, const struct language_key *key)
{
        return (char *)&r->loaded->language + key->offset;
}

/* ---- values ---- */

static int read_string(struct reader *r, const struct language_key *key)
{
        const char *why;
        char *copy;
        int rc = check_text(r, key->name);

        if (rc < 0)
                return rc;
        why = key->refuse ? key->refuse(text_of(r)) : NULL;
        if (why)
                return complain(r, r->event.start_mark, key->name, why);
        copy = keep(r, mem_strdup(text_of(r)));
        if (!copy)
                return error_set_nomem(r->err);
        *(const char **)member(r, key) = copy;
        return 0;
}

/* Room for a whole list at once: a list is short, and its address must not change. */
static const char **new_list(struct reader *r, const struct language_key *key)
{
        const char **items = keep(r, mem_alloc((LANGUAGE_LIST_MAX + 1) * sizeof(*items)));

        if (items)
                *(const char *const **)member(r, key) = items;
        return items;
}

static int add_item(struct reader *r, const struct language_key *key, const char **items,
                    size_t *count, char *taken, yaml_mark_t mark)
{
        char *item = keep(r, taken);
        const char *why;

        if (!item)
                return error_set_nomem(r->err);
        if (*count == LANGUAGE_LIST_MAX)
                return complain(r, mark, key->name, "has more than 64 entries");
        why = key->refuse ? key->refuse(item) : NULL;
        if (why)
                return complain(r, mark, key->name, why);
        items[(*count)++] = item;
        return 0;
}

static int read_list(struct reader *r, const struct language_key *key)
{
        const char **items;
        size_t count = 0;
        int rc = expect(r, YAML_SEQUENCE_START_EVENT, key->name, "must be a list");

        if (rc < 0)
                return rc;
        items = new_list(r, key);
        if (!items)
                return error_set_nomem(r->err);
        while ((rc = next(r)) == 0 && r->event.type != YAML_SEQUENCE_END_EVENT) {
                rc = check_text(r, key->name);
                if (rc == 0)
                        rc = add_item(r, key, items, &count, mem_strdup(text_of(r)),
                                      r->event.start_mark);
                if (rc < 0)
                        return rc;
        }
        if (rc == 0 && count == 0 && key->required)
                return complain(r, r->event.start_mark, key->name, "must not be empty");
        return rc;
}

static bool has_variable(const char *const *items, const char *name)
{
        size_t length = strlen(name);

        for (; *items; items++)
                if (strncmp(*items, name, length) == 0 && (*items)[length] == '=')
                        return true;
        return false;
}

static int read_variable(struct reader *r, const struct language_key *key, const char **items,
                         size_t *count)
{
        AUTO_STRBUF struct strbuf entry = { 0 };
        yaml_mark_t mark = r->event.start_mark;
        int rc = check_text(r, key->name);

        if (rc < 0)
                return rc;
        if (strchr(text_of(r), '='))
                return complain(r, mark, key->name, "must have names without '='");
        if (has_variable(items, text_of(r)))
                return complain(r, mark, text_of(r), "is given twice");
        strbuf_addf(&entry, "%s=", text_of(r));
        rc = next(r);
        if (rc == 0)
                rc = check_text(r, key->name);
        if (rc < 0)
                return rc;
        strbuf_adds(&entry, text_of(r));
        return add_item(r, key, items, count, strbuf_take(&entry), mark);
}

static int read_env(struct reader *r, const struct language_key *key)
{
        const char **items;
        size_t count = 0;
        int rc = expect(r, YAML_MAPPING_START_EVENT, key->name, "must be a mapping");

        if (rc < 0)
                return rc;
        items = new_list(r, key);
        if (!items)
                return error_set_nomem(r->err);
        while ((rc = next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
                rc = read_variable(r, key, items, &count);
                if (rc < 0)
                        return rc;
        }
        return rc;
}

/* One of two words: the second one means true. */
static int read_choice(struct reader *r, const struct language_key *key, const char *no,
                       const char *yes)
{
        char why[64];
        int rc = check_text(r, key->name);

        if (rc < 0)
                return rc;
        if (!str_equal(text_of(r), no) && !str_equal(text_of(r), yes)) {
                (void)snprintf(why, sizeof(why), "must be %s or %s", no, yes);
                return complain(r, r->event.start_mark, key->name, why);
        }
        *(bool *)member(r, key) = str_equal(text_of(r), yes);
        return 0;
}

static int read_number(struct reader *r, const struct language_key *key)
{
        struct error parsed = { 0 };
        uint64_t value = 0;
        char why[256];
        int rc = check_text(r, key->name);

        if (rc < 0)
                return rc;
        if (key->kind == KIND_DURATION)
                rc = units_parse_duration(text_of(r), &value, &parsed);
        else if (key->kind == KIND_SIZE)
                rc = units_parse_size(text_of(r), 1, &value, &parsed);
        else
                rc = units_parse_count(text_of(r), &value, &parsed);
        if (rc == 0 && value > 0 && (key->kind != KIND_PERCENT || value <= 100)) {
                *(uint64_t *)member(r, key) = value;
                return 0;
        }
        (void)snprintf(why, sizeof(why), "is wrong: %.200s",
                       rc < 0      ? parsed.message
                       : value > 0 ? "it must not be more than 100"
                                   : "it must be more than 0");
        return complain(r, r->event.start_mark, key->name, why);
}

static int read_value(struct reader *r, const struct language_key *key)
{
        switch (key->kind) {
        case KIND_STRING:
                return read_string(r, key);
        case KIND_LIST:
                return read_list(r, key);
        case KIND_ENV:
                return read_env(r, key);
        case KIND_FLAG:
                return read_choice(r, key, "false", "true");
        case KIND_PROC:
                return read_choice(r, key, "pid", "full");
        case KIND_MAPPING:
                return read_mapping(r, key->keys, key->name);
        default:
                return read_number(r, key);
        }
}

static int read_pair(struct reader *r, const struct language_key *keys, uint64_t *seen)
{
        yaml_mark_t mark = r->event.start_mark;
        int rc = expect(r, YAML_SCALAR_EVENT, NULL, "a key must be a text");

        if (rc < 0)
                return rc;
        for (size_t i = 0; keys[i].kind != KIND_END; i++) {
                if (!str_equal(keys[i].name, text_of(r)))
                        continue;
                if (*seen >> i & 1)
                        return complain(r, mark, keys[i].name, "is given twice");
                *seen |= UINT64_C(1) << i;
                rc = next(r);
                return rc < 0 ? rc : read_value(r, &keys[i]);
        }
        return complain(r, mark, text_of(r), "is not a key of this place");
}

static int read_mapping(struct reader *r, const struct language_key *keys, const char *what)
{
        yaml_mark_t mark = r->event.start_mark;
        uint64_t seen = 0;
        int rc = expect(r, YAML_MAPPING_START_EVENT, what, "must be a mapping");

        if (rc < 0)
                return rc;
        while ((rc = next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
                rc = read_pair(r, keys, &seen);
                if (rc < 0)
                        return rc;
        }
        for (size_t i = 0; rc == 0 && keys[i].kind != KIND_END; i++)
                if (keys[i].required && !(seen >> i & 1))
                        return complain(r, mark, keys[i].name, "is missing");
        return rc;
}

/* ---- the whole ---- */

static int read_document(struct reader *r)
{
        yaml_mark_t mark;
        const char *contradiction;
        int rc;

        if ((rc = next(r)) < 0 || (rc = next(r)) < 0)
                return rc;
        rc = expect(r, YAML_DOCUMENT_START_EVENT, NULL, "the file is empty");
        if (rc < 0 || (rc = next(r)) < 0)
                return rc;
        mark = r->event.start_mark;
        rc = read_mapping(r, language_keys, "language");
        if (rc < 0 || (rc = next(r)) < 0 || (rc = next(r)) < 0)
                return rc;
        rc = expect(r, YAML_STREAM_END_EVENT, NULL, "only one document is allowed");
        if (rc < 0)
                return rc;
        contradiction = language_contradiction(&r->loaded->language);
        return contradiction ? complain(r, mark, NULL, contradiction) : 0;
}

/* No list is ever NULL, so that nobody has to ask. */
static void set_defaults(struct language *language, const struct language_key *keys)
{
        static const char *const nothing[] = { NULL };

        for (; keys->kind != KIND_END; keys++) {
                if (keys->kind == KIND_LIST || keys->kind == KIND_ENV)
                        *(const char *const **)((char *)language + keys->offset) = nothing;
                else if (keys->kind == KIND_MAPPING)
                        set_defaults(language, keys->keys);
        }
        language->warm = "none";
}

int language_load_yaml(const char *text, size_t length, const char *name,
                       struct language_loaded **ret_loaded, struct error *err)
{
        struct reader r = { .name = name, .text = text, .length = length, .err = err };
        int rc;

        if (length > LANGUAGE_FILE_MAX)
                return complain(&r, (yaml_mark_t){ 0 }, NULL, "the file is larger than 256 KiB");
        r.loaded = mem_alloc(sizeof(*r.loaded));
        if (!r.loaded)
                return error_set_nomem(err);
        set_defaults(&r.loaded->language, language_keys);
        if (!yaml_parser_initialize(&r.parser)) {
                language_loaded_free(r.loaded);
                return error_set_nomem(err);
        }
        yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, length);

        rc = read_document(&r);

        yaml_event_delete(&r.event);
        yaml_parser_delete(&r.parser);
        if (rc < 0) {
                language_loaded_free(r.loaded);
                return rc;
        }
        *ret_loaded = r.loaded;
        return 0;
}

void language_loaded_free(struct language_loaded *loaded)
{
        if (!loaded)
                return;
        for (size_t i = 0; i < loaded->part_count; i++)
                mem_free(loaded->parts[i]);
        mem_free(loaded->parts);
        mem_free(loaded);
}
