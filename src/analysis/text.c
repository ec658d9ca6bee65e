/* What literals and identifiers say: quotes, escapes, encodings, look-alikes. */
#include "analysis/analysis.h"

#include <ctype.h>
#include <string.h>

/* Text that grows in the arena up to the maximum of a folded value. */
struct builder {
        struct arena *arena;
        char *data;
        size_t length, capacity;
        bool failed; /* too long to be worth folding */
};

static void add_bytes(struct builder *builder, const char *text, size_t length)
{
        if (builder->failed || length > VALUE_BYTES_MAX - builder->length) {
                builder->failed = true;
                return;
        }
        while (builder->length + length + 1 > builder->capacity) {
                size_t capacity = builder->capacity ? builder->capacity * 2 : 64;
                char *larger = arena_alloc(builder->arena, capacity);

                memcpy(larger, builder->data ? builder->data : "", builder->length);
                builder->data = larger;
                builder->capacity = capacity;
        }
        memcpy(builder->data + builder->length, text, length);
        builder->length += length;
        builder->data[builder->length] = '\0';
}

static void add_character(struct builder *builder, uint32_t c)
{
        char utf8[4];
        size_t length = 0;

        if (c < 0x80) {
                utf8[length++] = (char)c;
        } else if (c < 0x800) {
                utf8[length++] = (char)(0xc0 | c >> 6);
                utf8[length++] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
                utf8[length++] = (char)(0xe0 | c >> 12);
                utf8[length++] = (char)(0x80 | (c >> 6 & 0x3f));
                utf8[length++] = (char)(0x80 | (c & 0x3f));
        } else {
                utf8[length++] = (char)(0xf0 | (c >> 18 & 7));
                utf8[length++] = (char)(0x80 | (c >> 12 & 0x3f));
                utf8[length++] = (char)(0x80 | (c >> 6 & 0x3f));
                utf8[length++] = (char)(0x80 | (c & 0x3f));
        }
        add_bytes(builder, utf8, length);
}

static struct value finish(struct builder *builder, bool guess)
{
        if (builder->failed)
                return (struct value){ 0 };
        return (struct value){ VALUE_TEXT, guess, builder->data ? builder->data : "",
                               builder->length };
}

static int digit(char c, unsigned base)
{
        int value = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;

        return value < (int)base ? value : -1;
}

/* Up to `max` digits; how many there were. */
static size_t number(const char *text, size_t length, unsigned base, size_t max,
                     uint32_t *ret_number)
{
        size_t i = 0;

        *ret_number = 0;
        while (i < length && i < max && digit(text[i], base) >= 0)
                *ret_number = *ret_number * base + (uint32_t)digit(text[i++], base);
        return i;
}

/* One escape after its backslash; how many bytes it has. */
static size_t add_escape(struct builder *builder, const char *text, size_t length)
{
        static const char from[] = "nrtabfve0\\\"'`", to[] = "\n\r\t\a\b\f\v\033\0\\\"'`";
        const char *known;
        uint32_t c = 0;
        size_t used;

        if (length == 0)
                return 0;
        if ((text[0] == 'u' || text[0] == 'x') && length > 1 && text[1] == '{') {
                used = number(text + 2, length - 2, 16, 6, &c);
                add_character(builder, c);
                return 2 + used + (2 + used < length && text[2 + used] == '}');
        }
        if (text[0] == 'x' || text[0] == 'u' || text[0] == 'U') {
                used = number(text + 1, length - 1, 16,
                              text[0] == 'x'   ? 2
                              : text[0] == 'u' ? 4
                                               : 8,
                              &c);
                add_character(builder, c & 0x1fffff);
                return 1 + used;
        }
        if (digit(text[0], 8) >= 0) {
                used = number(text, length, 8, 3, &c);
                add_character(builder, c);
                return used;
        }
        if (text[0] == '\n')
                return 1; /* the line goes on */
        known = strchr(from, text[0]);
        add_bytes(builder, known ? &to[known - from] : text, 1);
        return 1;
}

static void add_unescaped(struct builder *builder, const char *text, size_t length)
{
        for (size_t i = 0; i < length;) {
                const char *backslash = memchr(text + i, '\\', length - i);
                size_t plain = backslash ? (size_t)(backslash - text) - i : length - i;

                add_bytes(builder, text + i, plain);
                i += plain;
                if (backslash) {
                        i++;
                        i += add_escape(builder, text + i, length - i);
                }
        }
}

struct value text_unescape(struct analysis *analysis, const char *text, size_t length)
{
        struct builder builder = { .arena = &analysis->arena };

        add_unescaped(&builder, text, length);
        return finish(&builder, false);
}

static bool is_word(char c)
{
        return isalnum((unsigned char)c) || c == '_';
}

const char *text_translated(struct analysis *analysis, const char *text, size_t *length)
{
        char *out;
        size_t used = 0;

        if (!memmem(text, *length, "\\u", 2))
                return text;
        out = arena_alloc(&analysis->arena, *length + 1);
        for (size_t i = 0; i < *length;) {
                size_t at = i + 1;
                uint32_t c = 0;

                while (text[i] == '\\' && at < *length && text[at] == 'u')
                        at++;
                /* Letters of other scripts stay as they are written: no keyword has any. */
                if (at > i + 1 && number(text + at, *length - at, 16, 4, &c) == 4 && c > 0 &&
                    c < 0x80) {
                        out[used++] = (char)c;
                        i = at + 4;
                        continue;
                }
                /* A backslash that is escaped itself begins nothing. */
                if (text[i] == '\\' && i + 1 < *length)
                        out[used++] = text[i++];
                out[used++] = text[i++];
        }
        *length = used;
        return out;
}

/* What goes on in the next line is put before the end of this one, so that lines stay. */
const char *text_spliced(struct analysis *analysis, const char *text, size_t length)
{
        size_t used = 0, held = 0, splice;
        bool in_word = false;
        char *out, *splices;

        if (!memchr(text, '\\', length))
                return text;
        out = arena_alloc(&analysis->arena, length + 1);
        splices = arena_alloc(&analysis->arena, length + 1);
        for (size_t i = 0; i < length;) {
                splice = in_word ? lexis_splice(text + i, length - i) : 0;
                if (splice > 0) {
                        memcpy(splices + held, text + i, splice);
                        held += splice;
                        i += splice;
                        continue;
                }
                in_word = is_word(text[i]);
                if (!in_word) {
                        memcpy(out + used, splices, held);
                        used += held;
                        held = 0;
                }
                out[used++] = text[i++];
        }
        memcpy(out + used, splices, held);
        return out;
}

/* Where the text between the quotes of a literal lies. */
struct quoted {
        size_t start, end;
        bool raw;
};

static struct quoted find_quotes(const char *text, size_t length)
{
        struct quoted quoted = { 0, length, false };
        size_t at = 0, quotes = 1;
        char quote;

        while (at < length && (isalnum((unsigned char)text[at]) || text[at] == '#')) {
                quoted.raw |= text[at] == 'r' || text[at] == 'R';
                at++;
        }
        if (at >= length)
                return quoted;
        quote = text[at];
        if (length - at >= 6 && text[at + 1] == quote && text[at + 2] == quote)
                quotes = 3;
        quoted.start = at + quotes;
        while (quoted.end > quoted.start && text[quoted.end - 1] == '#')
                quoted.end--;
        quoted.end = quoted.end >= quoted.start + quotes ? quoted.end - quotes : quoted.start;
        /* C++: R"name(text)name" */
        if (quoted.raw && text[0] == 'R' && quote == '"') {
                const char *open = memchr(text + quoted.start, '(', quoted.end - quoted.start);

                if (open && quoted.end > quoted.start) {
                        size_t name = (size_t)(open - text) - quoted.start;

                        quoted.start += name + 1;
                        quoted.end -= quoted.end >= quoted.start + name + 1 ? name + 1 : 0;
                }
        }
        return quoted;
}

static void add_part(struct builder *builder, const char *text, size_t start, size_t end, bool raw)
{
        if (end <= start)
                return;
        if (raw)
                add_bytes(builder, text + start, end - start);
        else
                add_unescaped(builder, text + start, end - start);
}

struct value text_of_string(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        struct builder builder = { .arena = &analysis->arena };
        size_t length, at;
        const char *text = unit_text(unit, node, &length);
        struct quoted quoted = find_quotes(text, length);
        uint32_t base = ts_node_start_byte(node), count = node_count(node);
        bool guess = false;

        if (length > VALUE_BYTES_MAX)
                return (struct value){ 0 };
        if (unit->grammar == &grammar_go && text[0] == '`')
                quoted.raw = true;
        at = quoted.start;
        for (uint32_t i = 0; i < count && count < 64; i++) {
                TSNode child = node_child(node, i);
                struct value inner;

                if (unit_role(unit, child) != ROLE_INTERPOLATION)
                        continue;
                inner = value_of(analysis, unit, node_child(child, 0));
                if (inner.kind != VALUE_TEXT)
                        return (struct value){ 0 };
                guess = true;
                add_part(&builder, text, at, ts_node_start_byte(child) - base, quoted.raw);
                add_bytes(&builder, inner.text, inner.length);
                at = ts_node_end_byte(child) - base;
        }
        add_part(&builder, text, at, quoted.end, quoted.raw);
        return finish(&builder, guess);
}

struct value text_base64(struct analysis *analysis, const char *text, size_t length)
{
        struct builder builder = { .arena = &analysis->arena };
        uint32_t bits = 0;
        unsigned have = 0;

        for (size_t i = 0; i < length; i++) {
                char c = text[i], byte;
                int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                            : c >= 'a' && c <= 'z' ? c - 'a' + 26
                            : c >= '0' && c <= '9' ? c - '0' + 52
                            : c == '+' || c == '-' ? 62
                            : c == '/' || c == '_' ? 63
                                                   : -1;

                if (value < 0)
                        continue;
                bits = bits << 6 | (uint32_t)value;
                have += 6;
                if (have >= 8) {
                        have -= 8;
                        byte = (char)(bits >> have & 0xff);
                        add_bytes(&builder, &byte, 1);
                }
        }
        return finish(&builder, true);
}

struct value text_hex(struct analysis *analysis, const char *text, size_t length)
{
        struct builder builder = { .arena = &analysis->arena };

        for (size_t i = 0; i + 1 < length; i++) {
                char byte;

                if (digit(text[i], 16) < 0 || digit(text[i + 1], 16) < 0)
                        continue;
                byte = (char)(digit(text[i], 16) * 16 + digit(text[i + 1], 16));
                add_bytes(&builder, &byte, 1);
                i++;
        }
        return finish(&builder, true);
}

/* The ASCII character that a compatibility letter stands for, or itself: languages that compare
 * identifiers in normal form (Python) take both for the same. */
static uint32_t plain_letter(uint32_t c)
{
        if (c >= 0xff01 && c <= 0xff5e)
                return c - 0xff01 + '!';
        if (c >= 0x1d400 && c <= 0x1d6a3) {
                uint32_t letter = (c - 0x1d400) % 52;

                return letter < 26 ? 'A' + letter : 'a' + letter - 26;
        }
        if (c >= 0x1d7ce && c <= 0x1d7ff)
                return '0' + (c - 0x1d7ce) % 10;
        if (c >= 0x2090 && c <= 0x209c)
                return (uint32_t) "aeoxahklmnpst"[c - 0x2090];
        return c == 0x17f ? 's' : c == 0xaa ? 'a' : c == 0xba ? 'o' : c;
}

/* One character of UTF-8, however bad; how many bytes it has. */
static size_t take_character(const char *text, size_t length, uint32_t *ret_character)
{
        unsigned char first = (unsigned char)text[0];
        size_t count = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        uint32_t c = count == 1 ? first : first & (0x7fu >> count);

        for (size_t i = 1; i < count; i++) {
                if (i >= length || ((unsigned char)text[i] & 0xc0) != 0x80) {
                        *ret_character = 0xfffd;
                        return i;
                }
                c = c << 6 | ((unsigned char)text[i] & 0x3f);
        }
        *ret_character = c;
        return count;
}

const char *text_normal(struct analysis *analysis, const char *text, size_t length,
                        size_t *ret_length)
{
        struct builder builder = { .arena = &analysis->arena };
        bool is_plain = true;

        if (length > 2 && text[0] == 'r' && text[1] == '#') { /* r#name of Rust */
                text += 2;
                length -= 2;
        }
        for (size_t i = 0; i < length && is_plain; i++)
                is_plain = (unsigned char)text[i] < 0x80 && text[i] != '\\';
        *ret_length = length;
        if (is_plain || length > NAME_SHOWN_MAX * 8)
                return text;
        for (size_t i = 0; i < length;) {
                uint32_t c;

                if (text[i] == '\\') {
                        i++;
                        i += add_escape(&builder, text + i, length - i);
                        continue;
                }
                i += take_character(text + i, length - i, &c);
                add_character(&builder, plain_letter(c));
        }
        *ret_length = builder.length;
        return builder.data ? builder.data : "";
}
