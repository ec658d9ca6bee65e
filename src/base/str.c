#include "base/str.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool strbuf_reserve(struct strbuf *buf, size_t more)
{
        size_t wanted = buf->capacity ? buf->capacity : 64;
        char *grown;

        if (buf->failed)
                return false;
        if (more >= SIZE_MAX / 4 - buf->length) {
                buf->failed = true;
                return false;
        }
        if (buf->data && buf->length + more < buf->capacity)
                return true;
        while (wanted <= buf->length + more)
                wanted *= 2;
        grown = mem_resize(buf->data, wanted, 1);
        if (!grown) {
                buf->failed = true;
                return false;
        }
        buf->data = grown;
        buf->capacity = wanted;
        return true;
}

void strbuf_add(struct strbuf *buf, const void *data, size_t length)
{
        if (!strbuf_reserve(buf, length))
                return;
        if (length)
                memcpy(buf->data + buf->length, data, length);
        buf->length += length;
        buf->data[buf->length] = '\0';
}

void strbuf_adds(struct strbuf *buf, const char *text)
{
        strbuf_add(buf, text, strlen(text));
}

void strbuf_addf(struct strbuf *buf, const char *format, ...)
{
        va_list args, again;
        int needed;

        va_start(args, format);
        va_copy(again, args);
        needed = vsnprintf(NULL, 0, format, args);
        va_end(args);
        if (needed >= 0 && strbuf_reserve(buf, (size_t)needed)) {
                (void)vsnprintf(buf->data + buf->length, (size_t)needed + 1, format, again);
                buf->length += (size_t)needed;
        }
        va_end(again);
}

char *strbuf_take(struct strbuf *buf)
{
        char *data;

        strbuf_add(buf, "", 0);
        data = buf->failed ? NULL : TAKE(buf->data);
        strbuf_done(buf);
        return data;
}

void strbuf_done(struct strbuf *buf)
{
        mem_free(buf->data);
        *buf = (struct strbuf){ 0 };
}

bool str_equal(const char *a, const char *b)
{
        return a == b || (a && b && strcmp(a, b) == 0);
}

bool str_has_prefix(const char *text, const char *prefix)
{
        return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_has_suffix(const char *text, const char *suffix)
{
        size_t a = strlen(text), b = strlen(suffix);

        return a >= b && memcmp(text + a - b, suffix, b) == 0;
}

/* Length of the valid sequence at `p`; 0 when invalid; -1 when it is cut by the end. */
static int utf8_sequence(const unsigned char *p, size_t left)
{
        unsigned char lead = p[0], low = 0x80, high = 0xbf;
        int need;

        if (lead < 0x80)
                return 1;
        if (lead >= 0xc2 && lead <= 0xdf)
                need = 2;
        else if (lead >= 0xe0 && lead <= 0xef)
                need = 3;
        else if (lead >= 0xf0 && lead <= 0xf4)
                need = 4;
        else
                return 0;
        if (lead == 0xe0)
                low = 0xa0;
        else if (lead == 0xed)
                high = 0x9f;
        else if (lead == 0xf0)
                low = 0x90;
        else if (lead == 0xf4)
                high = 0x8f;
        for (int i = 1; i < need; i++) {
                if ((size_t)i >= left)
                        return -1;
                if (p[i] < low || p[i] > high)
                        return 0;
                low = 0x80;
                high = 0xbf;
        }
        return need;
}

bool str_is_utf8(const void *data, size_t length)
{
        const unsigned char *p = data;

        for (size_t i = 0; i < length;) {
                int n = utf8_sequence(p + i, length - i);

                if (n <= 0)
                        return false;
                i += (size_t)n;
        }
        return true;
}

size_t str_utf8_complete(const void *data, size_t length)
{
        const unsigned char *p = data;

        for (size_t back = 1; back <= 3 && back <= length; back++) {
                if (p[length - back] < 0x80)
                        return length;
                if (p[length - back] >= 0xc0)
                        return utf8_sequence(p + length - back, back) == -1 ? length - back
                                                                            : length;
        }
        return length;
}

/* The second set of control characters, U+0080 to U+009f, is two bytes in UTF-8: C2 80 to C2 9F.
 * Some terminals obey them like their elder brothers. */
static bool is_second_set(const unsigned char *start, const unsigned char *p)
{
        return (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) ||
               (p > start && p[-1] == 0xc2 && p[0] >= 0x80 && p[0] < 0xa0);
}

const char *str_printable(const char *text, char *buffer, size_t size)
{
        size_t used = 0;
        bool utf8 = str_is_utf8(text, strlen(text));

        for (const unsigned char *p = (const unsigned char *)text; *p && used + 5 < size; p++) {
                if (*p < 0x20 || *p == 0x7f || (*p >= 0x80 && !utf8) ||
                    is_second_set((const unsigned char *)text, p))
                        used += (size_t)snprintf(buffer + used, size - used, "\\x%02x", *p);
                else
                        buffer[used++] = (char)*p;
        }
        buffer[used] = '\0';
        return buffer;
}

char *str_base64(const void *data, size_t length)
{
        static const char digits[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const unsigned char *p = data;
        char *text, *out;

        if (length > SIZE_MAX / 2)
                return NULL;
        out = text = mem_alloc((length + 2) / 3 * 4 + 1);
        if (!text)
                return NULL;
        for (size_t i = 0; i < length; i += 3) {
                uint32_t bits = (uint32_t)p[i] << 16;

                if (i + 1 < length)
                        bits |= (uint32_t)p[i + 1] << 8;
                if (i + 2 < length)
                        bits |= p[i + 2];
                *out++ = digits[bits >> 18];
                *out++ = digits[bits >> 12 & 63];
                *out++ = i + 1 < length ? digits[bits >> 6 & 63] : '=';
                *out++ = i + 2 < length ? digits[bits & 63] : '=';
        }
        return text;
}
