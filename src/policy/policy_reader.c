#include "policy/policy_reader.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int fail_at(struct reader *reader, size_t line, size_t column, const char *what)
{
        (void)error_set(reader->err, SBX_EPOLICY, "%s:%zu:%zu: %s", reader->name, line, column,
                        what);
        return SBX_EPOLICY;
}

int reader_fail(struct reader *reader, yaml_mark_t mark, const char *format, ...)
{
        char what[ERROR_MESSAGE_MAX / 2];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(what, sizeof(what), format, args); /* cut is fine */
        va_end(args);
        return fail_at(reader, mark.line + 1, mark.column + 1, what);
}

int reader_wrap(struct reader *reader, yaml_mark_t mark, const char *key, int r)
{
        if (r == 0 || r == SBX_ENOMEM)
                return r;
        error_prefix(reader->err, "%s:%zu:%zu: %s%s", reader->name, mark.line + 1, mark.column + 1,
                     reader->scope, key);
        if (reader->err)
                reader->err->code = SBX_EPOLICY;
        return SBX_EPOLICY;
}

/* ---- the bytes ---- */

/* Line and column of the byte at `offset`; columns count characters. */
static int fail_at_byte(struct reader *reader, size_t offset, const char *what)
{
        const char *text = reader->text;
        size_t line = 1, column = 1;

        for (size_t i = 0; i < offset; i++) {
                if (text[i] == '\n') {
                        line++;
                        column = 1;
                } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
                        column++;
                }
        }
        return fail_at(reader, line, column, what);
}

/* The length of the valid beginning, found by halves: validity is a property of prefixes. */
static size_t utf8_valid_length(const char *text, size_t length)
{
        size_t good = 0, bad = length;

        while (good + 1 < bad) {
                size_t middle = good + (bad - good) / 2;
                size_t whole = str_utf8_complete(text, middle);

                if (str_is_utf8(text, whole))
                        good = middle;
                else
                        bad = middle;
        }
        return str_utf8_complete(text, good);
}

int reader_check_bytes(struct reader *reader)
{
        const char *text = reader->text, *nul;
        size_t length = reader->length;
        int r;

        if (length > POLICY_FILE_MAX)
                return fail_at(reader, 1, 1, "the policy is larger than 1 MiB");
        if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
                r = fail_at(reader, 1, 1, "the policy begins with a byte order mark");
                error_hint(reader->err, "save the file as UTF-8 without BOM");
                return r;
        }
        nul = length ? memchr(text, '\0', length) : NULL;
        if (nul)
                return fail_at_byte(reader, (size_t)(nul - text), "the policy holds a NUL byte");
        if (!str_is_utf8(text, length))
                return fail_at_byte(reader, utf8_valid_length(text, length),
                                    "the policy is not valid UTF-8");
        return 0;
}

int policy_check_text(const char *text, size_t length, const char *name, struct error *err)
{
        struct reader reader = { .err = err, .text = text, .length = length };

        (void)str_printable(name, reader.name, sizeof(reader.name));
        return reader_check_bytes(&reader);
}

/* ---- events ---- */

static int fail_in_parser(struct reader *reader)
{
        const yaml_parser_t *parser = &reader->parser;
        char what[ERROR_MESSAGE_MAX / 2];

        if (parser->error == YAML_MEMORY_ERROR)
                return error_set_nomem(reader->err);
        if (parser->error == YAML_READER_ERROR)
                (void)snprintf(what, sizeof(what), "not YAML: %s (U+%04X)", parser->problem,
                               (unsigned)parser->problem_value);
        else
                (void)snprintf(what, sizeof(what), "not YAML: %s%s%s", parser->problem,
                               parser->context ? " " : "", parser->context ? parser->context : "");
        /* A bad character is reported by its offset alone: it was read ahead of any mark. */
        if (parser->error == YAML_READER_ERROR && parser->problem_offset <= reader->length)
                return fail_at_byte(reader, parser->problem_offset, what);
        return fail_at(reader, parser->problem_mark.line + 1, parser->problem_mark.column + 1,
                       what);
}

static int check_properties(struct reader *reader, const yaml_char_t *anchor,
                            const yaml_char_t *tag)
{
        if (anchor)
                return reader_fail(reader, reader_mark(reader),
                                   "anchors are not allowed in a policy");
        if (tag)
                return reader_fail(reader, reader_mark(reader), "tags are not allowed in a policy");
        return 0;
}

/* The walk refuses a list or mapping where none belongs, so it never comes near this depth; the
 * bound stands here all the same, because the walk is recursive and its table grows. */
static int check_nesting(struct reader *reader)
{
        if (++reader->depth <= POLICY_DEPTH_MAX)
                return 0;
        return reader_fail(reader, reader_mark(reader), "nested more than %d deep",
                           POLICY_DEPTH_MAX);
}

static int check_scalar(struct reader *reader)
{
        if (memchr(reader_text(reader), '\0', reader->event.data.scalar.length))
                return reader_fail(reader, reader_mark(reader), "the text holds a NUL byte");
        return 0;
}

static int check_event(struct reader *reader)
{
        const yaml_event_t *event = &reader->event;
        int r;

        switch (event->type) {
        case YAML_ALIAS_EVENT:
                return reader_fail(reader, reader_mark(reader),
                                   "aliases are not allowed in a policy");
        case YAML_SCALAR_EVENT:
                r = check_properties(reader, event->data.scalar.anchor, event->data.scalar.tag);
                return r < 0 ? r : check_scalar(reader);
        case YAML_SEQUENCE_START_EVENT:
                r = check_properties(reader, event->data.sequence_start.anchor,
                                     event->data.sequence_start.tag);
                return r < 0 ? r : check_nesting(reader);
        case YAML_MAPPING_START_EVENT:
                r = check_properties(reader, event->data.mapping_start.anchor,
                                     event->data.mapping_start.tag);
                return r < 0 ? r : check_nesting(reader);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
                reader->depth--;
                return 0;
        default:
                return 0;
        }
}

int reader_next(struct reader *reader)
{
        if (reader->has_event)
                yaml_event_delete(&reader->event);
        reader->has_event = false;
        if (reader->record) {
                int r = reader_next_recorded(reader);

                return r < 0 ? r : check_event(reader);
        }
        if (!yaml_parser_parse(&reader->parser, &reader->event))
                return fail_in_parser(reader);
        reader->has_event = true;
        return check_event(reader);
}

int reader_open(struct reader *reader, const char *text, size_t length, const char *name,
                struct error *err)
{
        int r;

        *reader = (struct reader){ .err = err, .text = text, .length = length };
        (void)str_printable(name, reader->name, sizeof(reader->name));
        r = reader_check_bytes(reader);
        if (r < 0)
                return r;
        if (!yaml_parser_initialize(&reader->parser))
                return error_set_nomem(err);
        yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&reader->parser, (const unsigned char *)text, length);

        r = reader_next(reader); /* the stream's start, which says nothing */
        if (r == 0)
                r = reader_next(reader);
        if (r < 0)
                return r;
        if (reader_is(reader, YAML_STREAM_END_EVENT)) {
                r = reader_fail(reader, reader_mark(reader), "the policy is empty");
                error_hint(err, "'version: 1' alone is a policy that keeps all defaults");
                return r;
        }
        if (reader->event.data.document_start.tag_directives.start !=
            reader->event.data.document_start.tag_directives.end)
                return reader_fail(reader, reader_mark(reader), "tags are not allowed in a policy");
        return reader_next(reader);
}

void reader_close(struct reader *reader)
{
        if (reader->has_event)
                yaml_event_delete(&reader->event);
        reader->has_event = false;
        yaml_parser_delete(&reader->parser); /* also right for one that was never initialised */
}

int reader_finish(struct reader *reader)
{
        int r = reader_next(reader); /* the document's end */

        if (r == 0)
                r = reader_next(reader);
        if (r < 0)
                return r;
        if (!reader_is(reader, YAML_STREAM_END_EVENT))
                return reader_fail(reader, reader_mark(reader),
                                   "a policy is one document, here begins a second");
        return 0;
}

/* ---- what stands there ---- */

bool reader_is_null(const struct reader *reader)
{
        static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

        if (!reader_is(reader, YAML_SCALAR_EVENT) ||
            reader->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(nulls); i++)
                if (strcmp(reader_text(reader), nulls[i]) == 0)
                        return true;
        return false;
}

static const char *describe_event(const struct reader *reader)
{
        switch (reader->event.type) {
        case YAML_SEQUENCE_START_EVENT:
                return "a list";
        case YAML_MAPPING_START_EVENT:
                return "a mapping";
        default:
                return reader_is_null(reader) ? "null" : "a single value";
        }
}

/* "languages.python.limits", "languages.python" or "the policy" for a person. */
static const char *full_name(const struct reader *reader, const char *key, char *buffer,
                             size_t size)
{
        size_t scope_length = strlen(reader->scope);

        if (!*key && !scope_length)
                return "the policy";
        if (!*key)
                scope_length--; /* the dot */
        (void)snprintf(buffer, size, "%.*s%s", (int)scope_length, reader->scope, key);
        return buffer;
}

int reader_expect(struct reader *reader, yaml_event_type_t type, const char *key,
                  const char *wanted)
{
        char name[256];
        int r;

        if (reader_is(reader, type))
                return 0;
        r = reader_fail(reader, reader_mark(reader), "%s: must be %s, not %s",
                        full_name(reader, key, name, sizeof(name)), wanted, describe_event(reader));
        if (reader_is_null(reader))
                error_hint(reader->err, "leave the key out to keep what holds without it");
        return r;
}

int reader_expect_scalar(struct reader *reader, const char *key, const char *wanted)
{
        int r = reader_expect(reader, YAML_SCALAR_EVENT, key, wanted);

        if (r == 0 && reader_is_null(reader)) {
                r = reader_fail(reader, reader_mark(reader), "%s%s: must be %s, not null",
                                reader->scope, key, wanted);
                error_hint(reader->err, "leave the key out to keep what holds without it");
        }
        return r;
}

int reader_key(struct reader *reader, char key[POLICY_KEY_MAX + 1], yaml_mark_t *ret_mark)
{
        size_t length;

        *ret_mark = reader_mark(reader);
        if (!reader_is(reader, YAML_SCALAR_EVENT))
                return reader_fail(reader, *ret_mark, "a key must be a word, not %s",
                                   describe_event(reader));
        length = reader->event.data.scalar.length;
        if (length > POLICY_KEY_MAX)
                return reader_fail(reader, *ret_mark, "the key is longer than %d bytes",
                                   POLICY_KEY_MAX);
        memcpy(key, reader_text(reader), length + 1);
        return reader_next(reader);
}
