#include "base/jsontext.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The length of the UTF-8 character at `data`, and what it is; 0 where there is none. */
static size_t decode(const unsigned char *data, size_t length, uint32_t *ret_point)
{
        size_t size = data[0] < 0x80 ? 1 : data[0] >= 0xf0 ? 4 : data[0] >= 0xe0 ? 3 : 2;

        if (size > length || !str_is_utf8(data, size))
                return 0;
        *ret_point = size == 1 ? data[0] : data[0] & (0xffu >> (size + 1));
        for (size_t i = 1; i < size; i++)
                *ret_point = *ret_point << 6 | (data[i] & 0x3f);
        return size;
}

static bool is_plain(uint32_t point)
{
        static const struct {
                uint32_t first, last;
        } hidden[] = {
                { 0x00, 0x1f },     { 0x7f, 0x9f },     { 0x200b, 0x200f }, { 0x2028, 0x202e },
                { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb },
        };

        for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
                if (point >= hidden[i].first && point <= hidden[i].last)
                        return false;
        return point != '"' && point != '\\';
}

/* Bytes at the start that need no look: the common case goes in one piece. */
static size_t plain_length(const unsigned char *data, size_t length)
{
        size_t n = 0;

        while (n < length && data[n] >= 0x20 && data[n] < 0x7f && data[n] != '"' && data[n] != '\\')
                n++;
        return n;
}

static void add_escaped(struct strbuf *out, uint32_t point)
{
        if (point == '"' || point == '\\')
                strbuf_addf(out, "\\%c", (int)point);
        else if (point == '\n')
                strbuf_adds(out, "\\n");
        else
                strbuf_addf(out, "\\u%04x",
                            (unsigned)point); /* none of them is beyond four digits */
}

void jsontext_bytes(struct strbuf *out, const char *data, size_t length)
{
        const unsigned char *bytes = (const unsigned char *)data;

        strbuf_add(out, "\"", 1);
        while (length > 0) {
                size_t size = plain_length(bytes, length);
                uint32_t point;

                if (size > 0) {
                        strbuf_add(out, bytes, size);
                } else if ((size = decode(bytes, length, &point)) == 0) {
                        strbuf_addf(out, "\\\\x%02x", bytes[0]);
                        size = 1;
                } else if (is_plain(point)) {
                        strbuf_add(out, bytes, size);
                } else {
                        add_escaped(out, point);
                }
                bytes += size;
                length -= size;
        }
        strbuf_add(out, "\"", 1);
}

void jsontext_string(struct strbuf *out, const char *text)
{
        if (text)
                jsontext_bytes(out, text, strlen(text));
        else
                strbuf_add(out, "null", 4);
}

void jsontext_key(struct strbuf *out, const char *key)
{
        char last = out->length ? out->data[out->length - 1] : '{';

        if (last != '{' && last != '[')
                strbuf_add(out, ",", 1);
        jsontext_string(out, key);
        strbuf_add(out, ":", 1);
}

void jsontext_put_string(struct strbuf *out, const char *key, const char *text)
{
        jsontext_key(out, key);
        jsontext_string(out, text);
}

void jsontext_put_integer(struct strbuf *out, const char *key, int64_t value)
{
        jsontext_key(out, key);
        strbuf_addf(out, "%" PRId64, value);
}

void jsontext_put_size(struct strbuf *out, const char *key, uint64_t value)
{
        jsontext_put_integer(out, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void jsontext_put_seconds(struct strbuf *out, const char *key, double seconds)
{
        char text[64];
        int length = snprintf(text, sizeof(text), "%.6f", seconds);

        while (length > 2 && text[length - 1] == '0' && text[length - 2] != '.')
                length--;
        jsontext_key(out, key);
        strbuf_add(out, text, (size_t)length);
}

void jsontext_put_bool(struct strbuf *out, const char *key, bool value)
{
        jsontext_key(out, key);
        strbuf_adds(out, value ? "true" : "false");
}

void jsontext_put_null(struct strbuf *out, const char *key)
{
        jsontext_key(out, key);
        strbuf_add(out, "null", 4);
}
