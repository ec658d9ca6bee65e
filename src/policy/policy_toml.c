/*
 * The record of a TOML file: what the program sandbox-toml writes, read back as events.
 *
 * An event is a line "TYPE LINE COLUMN LENGTH", then LENGTH bytes and a newline. The types:
 *
 *         { } [ ]   a mapping or list begins or ends; in a mapping, keys and values take turns
 *         s v       a text, and any other single value as it is written in YAML
 *         !         the text is not TOML, or not for a policy; the bytes say why
 *         .         the end
 *
 * The program is ours, but it has read foreign bytes: the record is believed no further than it
 * can be checked.
 */
#include "policy/policy_reader.h"
#include "base/str.h"

#include <string.h>

enum { PLACE_MAX = POLICY_FILE_MAX + 2 };

static int fail_record(struct reader *reader)
{
        return error_set(reader->err, SBX_EPOLICY, "%s:1:1: sandbox-toml gave no proper answer",
                         reader->name);
}

/* A number of at most seven digits and the `end` behind it. */
static bool take_number(struct reader *reader, char end, size_t max, size_t *ret_number)
{
        size_t number = 0, digits = 0;

        for (; reader->record < reader->record_end && digits < 8; reader->record++, digits++) {
                char c = *reader->record;

                if (c == end && digits > 0 && number <= max) {
                        reader->record++;
                        *ret_number = number;
                        return true;
                }
                if (c < '0' || c > '9')
                        return false;
                number = number * 10 + (size_t)(c - '0');
        }
        return false;
}

struct record {
        char type;
        yaml_mark_t mark;
        char *bytes; /* in the record, with a NUL behind */
        size_t length;
};

static bool take_record(struct reader *reader, struct record *ret_record)
{
        struct record record = { 0 };
        size_t line, column, left;

        if (reader->record_end - reader->record < 2 || reader->record[1] != ' ')
                return false;
        record.type = *reader->record;
        reader->record += 2;
        if (!take_number(reader, ' ', PLACE_MAX, &line) ||
            !take_number(reader, ' ', PLACE_MAX, &column) ||
            !take_number(reader, '\n', POLICY_FILE_MAX, &record.length))
                return false;
        left = (size_t)(reader->record_end - reader->record);
        if (line == 0 || column == 0 || record.length >= left ||
            reader->record[record.length] != '\n')
                return false;
        record.mark = (yaml_mark_t){ .line = line - 1, .column = column - 1 };
        record.bytes = reader->record;
        record.bytes[record.length] = '\0';
        reader->record += record.length + 1;
        *ret_record = record;
        return true;
}

int reader_next_recorded(struct reader *reader)
{
        static const struct {
                char type;
                yaml_event_type_t event;
                yaml_scalar_style_t style;
        } types[] = {
                { '{', YAML_MAPPING_START_EVENT, YAML_ANY_SCALAR_STYLE },
                { '}', YAML_MAPPING_END_EVENT, YAML_ANY_SCALAR_STYLE },
                { '[', YAML_SEQUENCE_START_EVENT, YAML_ANY_SCALAR_STYLE },
                { ']', YAML_SEQUENCE_END_EVENT, YAML_ANY_SCALAR_STYLE },
                { 's', YAML_SCALAR_EVENT, YAML_DOUBLE_QUOTED_SCALAR_STYLE },
                { 'v', YAML_SCALAR_EVENT, YAML_PLAIN_SCALAR_STYLE },
                { '.', YAML_DOCUMENT_END_EVENT, YAML_ANY_SCALAR_STYLE },
        };
        struct record record;

        reader->event = (yaml_event_t){ .type = YAML_STREAM_END_EVENT };
        if (reader->record_ended && reader->record == reader->record_end)
                return 0;
        if (reader->record_ended || !take_record(reader, &record))
                return fail_record(reader);
        if (record.type == '!')
                return reader_fail(reader, record.mark, "%s", record.bytes);
        for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
                if (types[i].type != record.type)
                        continue;
                reader->event.type = types[i].event;
                reader->event.start_mark = reader->event.end_mark = record.mark;
                if (types[i].event == YAML_SCALAR_EVENT) {
                        reader->event.data.scalar.value = (yaml_char_t *)record.bytes;
                        reader->event.data.scalar.length = record.length;
                        reader->event.data.scalar.style = types[i].style;
                }
                reader->record_ended = record.type == '.';
                return 0;
        }
        return fail_record(reader);
}

int reader_open_recorded(struct reader *reader, const char *text, size_t length, char *record,
                         size_t record_length, const char *name, struct error *err)
{
        int r;

        *reader = (struct reader){
                .err = err,
                .text = text,
                .length = length,
                .record = record,
                .record_end = record + record_length,
        };
        (void)str_printable(name, reader->name, sizeof(reader->name));
        r = reader_check_bytes(reader);
        if (r == 0)
                r = reader_next(reader);
        if (r == 0 && reader->record < reader->record_end && *reader->record == '}') {
                r = reader_fail(reader, reader_mark(reader), "the policy is empty");
                error_hint(err, "'version = 1' alone is a policy that keeps all defaults");
        }
        return r;
}
