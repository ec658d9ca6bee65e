#include "network/dns_message.h"

#include <ctype.h>
#include <string.h>

enum {
        HEADER = 12,
        LABEL_MAX = 63,
        JUMPS_MAX = 16,
        RECORDS_MAX = 128,
        FLAG_RESPONSE = 0x8000,
        FLAG_TRUNCATED = 0x0200,
        FLAG_RECURSE = 0x0100,
        FLAG_AVAILABLE = 0x0080,
        OPCODE = 0x7800,
        CLASS_IN = 1,
};

struct reader {
        const uint8_t *data;
        size_t length;
        size_t at;
};

static bool has(const struct reader *reader, size_t count)
{
        return reader->length - reader->at >= count;
}

static uint16_t number_at(const uint8_t *at)
{
        return (uint16_t)(at[0] << 8 | at[1]);
}

static bool read_16(struct reader *reader, uint16_t *ret)
{
        if (!has(reader, 2))
                return false;
        *ret = number_at(reader->data + reader->at);
        reader->at += 2;
        return true;
}

static bool read_32(struct reader *reader, uint32_t *ret)
{
        uint16_t high, low;

        if (!read_16(reader, &high) || !read_16(reader, &low))
                return false;
        *ret = (uint32_t)high << 16 | low;
        return true;
}

/* Adds a label to the text; false where the name gets too long. A byte that could be taken for
 * another part of the name makes it extraordinary. */
static bool add_label(const uint8_t *label, size_t length, char name[DNS_NAME_MAX + 1],
                      size_t *name_length, bool *is_ordinary)
{
        size_t dot = *name_length > 0;

        if (*name_length + dot + length > DNS_NAME_MAX)
                return false;
        if (dot)
                name[(*name_length)++] = '.';
        for (size_t i = 0; i < length; i++) {
                uint8_t c = label[i];

                if (c >= 0x80 || (!isalnum(c) && c != '-' && c != '_')) {
                        *is_ordinary = false;
                        c = '?';
                }
                name[(*name_length)++] = (char)tolower(c);
        }
        return true;
}

/* Reads a name, compressed or not. Pointers go backwards only, and a few times at most. */
static bool read_name(struct reader *reader, bool may_jump, char name[DNS_NAME_MAX + 1],
                      bool *ret_ordinary)
{
        size_t at = reader->at, end = 0, name_length = 0;
        unsigned jumps = 0;

        *ret_ordinary = true;
        for (;;) {
                uint8_t length;

                if (at >= reader->length)
                        return false;
                length = reader->data[at];
                if ((length & 0xc0) == 0xc0) {
                        size_t target;

                        if (!may_jump || reader->length - at < 2 || ++jumps > JUMPS_MAX)
                                return false;
                        target = number_at(reader->data + at) & 0x3fff;
                        if (end == 0)
                                end = at + 2;
                        if (target >= at)
                                return false;
                        at = target;
                        continue;
                }
                if (length > LABEL_MAX || reader->length - at - 1 < length)
                        return false;
                at++;
                if (length == 0)
                        break;
                if (!add_label(reader->data + at, length, name, &name_length, ret_ordinary))
                        return false;
                at += length;
        }
        name[name_length] = '\0';
        reader->at = end ? end : at;
        return true;
}

/* The size of answer that the asker takes, from the record of extensions behind the question. */
static size_t answer_size(struct reader *reader, unsigned records)
{
        for (unsigned i = 0; i < records && i < RECORDS_MAX; i++) {
                char name[DNS_NAME_MAX + 1];
                uint16_t type, size, length;
                uint32_t ttl;
                bool ordinary;

                if (!read_name(reader, true, name, &ordinary) || !read_16(reader, &type) ||
                    !read_16(reader, &size) || !read_32(reader, &ttl) ||
                    !read_16(reader, &length) || !has(reader, length))
                        break;
                reader->at += length;
                if (type == DNS_OPT && name[0] == '\0' && size > DNS_UDP_PLAIN)
                        return size < DNS_UDP_MAX ? size : DNS_UDP_MAX;
        }
        return DNS_UDP_PLAIN;
}

int dns_parse_question(const uint8_t *data, size_t length, struct dns_question *ret_question)
{
        struct reader reader = { data, length, HEADER };
        struct dns_question question = { .answer_max = DNS_UDP_PLAIN };
        uint16_t flags, class;
        unsigned others;

        if (length < HEADER)
                return -1;
        question.id = number_at(data);
        flags = number_at(data + 2);
        if (flags & FLAG_RESPONSE)
                return -1;
        *ret_question = question;
        if (flags & OPCODE)
                return DNS_NOT_IMPLEMENTED;
        if (number_at(data + 4) != 1)
                return DNS_FORMAT_ERROR;
        if (!read_name(&reader, false, question.name, &question.is_ordinary_name) ||
            !read_16(&reader, &question.type) || !read_16(&reader, &class))
                return DNS_FORMAT_ERROR;
        question.asked_length = reader.at - HEADER;
        if (question.asked_length > sizeof(question.asked))
                return DNS_FORMAT_ERROR;
        memcpy(question.asked, data + HEADER, question.asked_length);
        others = (unsigned)number_at(data + 6) + number_at(data + 8) + number_at(data + 10);
        question.answer_max = answer_size(&reader, others);
        *ret_question = question;
        return class == CLASS_IN ? DNS_OK : DNS_NOT_IMPLEMENTED;
}

static void put_16(uint8_t *at, uint16_t value)
{
        at[0] = (uint8_t)(value >> 8);
        at[1] = (uint8_t)value;
}

size_t dns_write_answer(const struct dns_question *question, const struct dns_answer *answer,
                        uint8_t *buffer, size_t size)
{
        size_t at = HEADER + question->asked_length;
        size_t data = question->type == DNS_A ? 4 : 16, record = 12 + data;
        uint16_t count = 0;

        if (size < at)
                return 0;
        memset(buffer, 0, HEADER);
        put_16(buffer, question->id);
        put_16(buffer + 2,
               (uint16_t)(FLAG_RESPONSE | FLAG_RECURSE | FLAG_AVAILABLE | (unsigned)answer->code));
        put_16(buffer + 4, question->asked_length > 0);
        memcpy(buffer + HEADER, question->asked, question->asked_length);
        for (size_t i = 0; answer->code == DNS_OK && i < answer->count; i++) {
                if (address_is_v4(&answer->addresses[i]) != (question->type == DNS_A) ||
                    size - at < record)
                        continue;
                put_16(buffer + at, 0xc000 | HEADER); /* the name that was asked for */
                put_16(buffer + at + 2, question->type);
                put_16(buffer + at + 4, CLASS_IN);
                put_16(buffer + at + 6, (uint16_t)(answer->ttl >> 16));
                put_16(buffer + at + 8, (uint16_t)answer->ttl);
                put_16(buffer + at + 10, (uint16_t)data);
                memcpy(buffer + at + 12, answer->addresses[i].bytes + 16 - data, data);
                at += record;
                count++;
        }
        put_16(buffer + 6, count);
        return at;
}

size_t dns_write_question(uint16_t id, const char *name, enum dns_type type, uint8_t *buffer,
                          size_t size)
{
        size_t at = HEADER;

        if (size < DNS_UDP_PLAIN)
                return 0;
        memset(buffer, 0, HEADER);
        put_16(buffer, id);
        put_16(buffer + 2, FLAG_RECURSE);
        put_16(buffer + 4, 1);
        put_16(buffer + 10, 1);
        while (*name) {
                size_t length = strcspn(name, ".");

                if (length == 0 || length > LABEL_MAX || at + length > HEADER + DNS_NAME_MAX)
                        return 0;
                buffer[at++] = (uint8_t)length;
                memcpy(buffer + at, name, length);
                at += length;
                name += length + (name[length] == '.');
        }
        buffer[at++] = 0;
        put_16(buffer + at, (uint16_t)type);
        put_16(buffer + at + 2, CLASS_IN);
        at += 4;
        /* The record of extensions: the root's name, its type, the size of answer we take. */
        memset(buffer + at, 0, 11);
        put_16(buffer + at + 1, DNS_OPT);
        put_16(buffer + at + 3, DNS_UDP_MAX);
        return at + 11;
}

static bool is_expected(struct reader *reader, const char *name, enum dns_type type)
{
        char asked[DNS_NAME_MAX + 1];
        uint16_t asked_type, class;
        bool ordinary;

        return read_name(reader, false, asked, &ordinary) && read_16(reader, &asked_type) &&
               read_16(reader, &class) && strcmp(asked, name) == 0 && asked_type == type &&
               class == CLASS_IN;
}

struct record {
        char name[DNS_NAME_MAX + 1];
        uint16_t type, class;
        uint32_t ttl;
        size_t start;
        uint16_t length;
};

static bool read_record(struct reader *reader, struct record *ret)
{
        bool ordinary;

        if (!read_name(reader, true, ret->name, &ordinary) || !read_16(reader, &ret->type) ||
            !read_16(reader, &ret->class) || !read_32(reader, &ret->ttl) ||
            !read_16(reader, &ret->length) || !has(reader, ret->length))
                return false;
        ret->start = reader->at;
        reader->at += ret->length;
        return true;
}

/* Takes the addresses of `owner`, and the alias it has, from all records. */
static bool collect(const struct reader *from, unsigned records, enum dns_type type,
                    const char *owner, char alias[DNS_NAME_MAX + 1], struct dns_answer *answer)
{
        struct reader reader = *from;
        size_t size = type == DNS_A ? 4 : 16;

        alias[0] = '\0';
        for (unsigned i = 0; i < records && i < RECORDS_MAX; i++) {
                struct record record;
                bool ordinary;

                if (!read_record(&reader, &record))
                        return false;
                if (record.class != CLASS_IN || strcmp(record.name, owner) != 0)
                        continue;
                if (record.type == DNS_CNAME) {
                        struct reader target = { reader.data, reader.length, record.start };

                        if (!read_name(&target, true, alias, &ordinary)) {
                                alias[0] = '\0';
                                return false;
                        }
                } else if (record.type != type || record.length != size) {
                        continue;
                } else if (answer->count == DNS_ADDRESSES_MAX) {
                        answer->was_cut = true;
                } else {
                        const uint8_t *bytes = reader.data + record.start;
                        struct address *place = &answer->addresses[answer->count++];

                        if (type == DNS_A)
                                *place = address_v4(bytes);
                        else
                                memcpy(place->bytes, bytes, sizeof(place->bytes));
                }
                if (record.ttl < answer->ttl)
                        answer->ttl = record.ttl;
        }
        return true;
}

bool dns_parse_answer(const uint8_t *data, size_t length, uint16_t id, const char *name,
                      enum dns_type type, struct dns_answer *ret_answer)
{
        struct reader reader = { data, length, HEADER };
        const char *owner = name;
        struct dns_answer answer = { .ttl = UINT32_MAX };
        uint16_t flags;
        unsigned records;

        if (length < HEADER || number_at(data) != id || number_at(data + 4) != 1)
                return false;
        flags = number_at(data + 2);
        if (!(flags & FLAG_RESPONSE) || (flags & OPCODE) || !is_expected(&reader, name, type))
                return false;
        answer.code = (enum dns_code)(flags & 0xf);
        answer.was_cut = flags & FLAG_TRUNCATED;
        records = number_at(data + 6);
        while (answer.code == DNS_OK && answer.alias_count < DNS_ALIASES_MAX) {
                char *alias = answer.aliases[answer.alias_count];

                /* Records that cannot be read are what a cut answer ends with. */
                if (!collect(&reader, records, type, owner, alias, &answer) && !answer.was_cut)
                        return false;
                if (answer.count > 0 || !alias[0])
                        break;
                owner = alias;
                answer.alias_count++;
        }
        if (answer.count == 0)
                answer.ttl = 0;
        *ret_answer = answer;
        return true;
}
