/*
 * Values as literals. How a string is quoted differs by language; what cannot be written in one is
 * refused, never bent. JSON is read and written anew, so that nothing but JSON can come out.
 */
#include "templates/templates.h"
#include "base/mem.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum controls { CONTROLS_HEX, CONTROLS_OCTAL, CONTROLS_DECIMAL, CONTROLS_SHELL };

struct quoting {
        const char *languages; /* names between blanks */
        char quote;
        const char *escaped; /* take a backslash in front */
        enum controls controls;
};

static const struct quoting quotings[] = {
        { " python javascript typescript rust ", '"', "\"\\", CONTROLS_HEX },
        { " ruby ", '"', "\"\\#", CONTROLS_HEX },
        { " perl ", '"', "\"\\$@", CONTROLS_HEX },
        { " php ", '"', "\"\\$", CONTROLS_HEX },
        { " c cpp c++ ", '"', "\"\\?", CONTROLS_OCTAL },
        { " java go ", '"', "\"\\", CONTROLS_OCTAL },
        { " lua ", '"', "\"\\", CONTROLS_DECIMAL },
        { " shell bash sh ", '\'', "", CONTROLS_SHELL },
};

static const struct quoting *find_quoting(const char *language)
{
        char word[TEMPLATE_NAME_MAX + 3];
        size_t length = strlen(language);

        if (length > TEMPLATE_NAME_MAX)
                return NULL;
        word[0] = word[length + 1] = ' ';
        memcpy(word + 1, language, length);
        word[length + 2] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(quotings); i++)
                if (strstr(quotings[i].languages, word))
                        return &quotings[i];
        return NULL;
}

static void add_control(struct strbuf *out, enum controls controls, unsigned char c)
{
        static const char *const forms[] = {
                [CONTROLS_HEX] = "\\x%02x",
                [CONTROLS_OCTAL] = "\\%03o",
                [CONTROLS_DECIMAL] = "\\%03d",
        };

        if (controls == CONTROLS_SHELL) /* between single quotes every byte but NUL is itself */
                strbuf_add(out, &c, 1);
        else if (c == '\n')
                strbuf_adds(out, "\\n");
        else
                strbuf_addf(out, forms[controls], c);
}

static void add_byte(struct strbuf *out, const struct quoting *quoting, char c)
{
        if (quoting->controls == CONTROLS_SHELL && c == '\'') {
                strbuf_adds(out, "'\\''");
        } else if ((unsigned char)c < 0x20 || c == 0x7f) {
                add_control(out, quoting->controls, (unsigned char)c);
        } else {
                if (strchr(quoting->escaped, c))
                        strbuf_adds(out, "\\");
                strbuf_add(out, &c, 1);
        }
}

static int quote_string(const char *language, const char *data, size_t length, struct strbuf *out,
                        struct error *err)
{
        const struct quoting *quoting = find_quoting(language);

        if (!quoting)
                return error_set(err, SBX_EINVAL, "no way to write a string in '%s' is known",
                                 language);
        if (!str_is_utf8(data, length))
                return error_set(err, SBX_EINVAL, "not valid UTF-8");
        if (quoting->controls == CONTROLS_SHELL && memchr(data, '\0', length))
                return error_set(err, SBX_EINVAL, "holds a NUL byte");
        strbuf_add(out, &quoting->quote, 1);
        for (size_t i = 0; i < length; i++)
                add_byte(out, quoting, data[i]);
        strbuf_add(out, &quoting->quote, 1);
        return out->failed ? error_set_nomem(err) : 0;
}

static int read_json(const char *data, size_t length, char **ret_text, struct error *err)
{
        json_error_t problem;
        char shown[JSON_ERROR_TEXT_LENGTH * 4];
        json_t *value;

        if (length > TEMPLATE_JSON_MAX)
                return error_set(err, SBX_ETOOBIG, "JSON of more than %d MiB",
                                 TEMPLATE_JSON_MAX >> 20);
        value = json_loadb(data, length, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES,
                           &problem);
        if (!value)
                return error_set(err, SBX_EINVAL, "not JSON: line %d, column %d: %s", problem.line,
                                 problem.column, str_printable(problem.text, shown, sizeof(shown)));
        *ret_text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
        json_decref(value);
        return *ret_text ? 0 : error_set_nomem(err);
}

static int quote_json(enum template_kind kind, const char *language, const char *data,
                      size_t length, struct strbuf *out, struct error *err)
{
        char *text = NULL;
        int r = read_json(data, length, &text, err);

        if (r < 0 || !text)
                return r;
        if (kind == TEMPLATE_JSON_STRING)
                r = quote_string(language, text, strlen(text), out, err);
        else
                strbuf_adds(out, text);
        free(text); /* jansson's own allocation */
        return r == 0 && out->failed ? error_set_nomem(err) : r;
}

static bool is_name(const char *data, size_t length)
{
        bool begins = true;

        for (size_t i = 0; i < length; i++) {
                char c = data[i];
                bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

                if (c == '.' && !begins) {
                        begins = true;
                        continue;
                }
                if (!letter && (begins || c < '0' || c > '9'))
                        return false;
                begins = false;
        }
        return !begins;
}

/* Digits with at most one point between them, a sign in front. */
static bool is_number(const char *data, size_t length)
{
        size_t i = length && data[0] == '-', digits = 0;
        bool point = false;

        for (; i < length; i++) {
                if (data[i] == '.' && digits && !point && i + 1 < length)
                        point = true;
                else if (data[i] < '0' || data[i] > '9')
                        return false;
                else
                        digits++;
        }
        return digits > 0 && digits <= 18;
}

int template_quote(enum template_kind kind, const char *language, const char *data, size_t length,
                   struct strbuf *out, struct error *err)
{
        switch (kind) {
        case TEMPLATE_STRING:
                return quote_string(language, data, length, out, err);
        case TEMPLATE_JSON:
        case TEMPLATE_JSON_STRING:
                return quote_json(kind, language, data, length, out, err);
        case TEMPLATE_NAME:
                if (!is_name(data, length))
                        return error_set(err, SBX_EINVAL, "not a name");
                break;
        case TEMPLATE_NUMBER:
                if (!is_number(data, length))
                        return error_set(err, SBX_EINVAL, "not a number");
                break;
        default:
                break;
        }
        strbuf_add(out, data, length);
        return out->failed ? error_set_nomem(err) : 0;
}
