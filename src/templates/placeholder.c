#include "templates/placeholder.h"
#include "templates/templates.h"

#include <string.h>

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_byte(char c)
{
        return is_letter(c) || (c >= '0' && c <= '9');
}

bool placeholder_is_name(const char *name)
{
        size_t length = strlen(name);

        if (length == 0 || length > TEMPLATE_NAME_MAX || !is_letter(name[0]))
                return false;
        for (size_t i = 0; i < length; i++)
                if (!is_name_byte(name[i]))
                        return false;
        return true;
}

static size_t skip_blanks(const char *text, size_t length, size_t at)
{
        while (at < length && (text[at] == ' ' || text[at] == '\t'))
                at++;
        return at;
}

/* Whether a placeholder begins at `start`, where two braces are. */
static bool match(const char *text, size_t length, size_t start, struct placeholder_mark *mark)
{
        size_t at = skip_blanks(text, length, start + 2), name = at;

        if (at >= length || !is_letter(text[at]))
                return false;
        while (at < length && is_name_byte(text[at]))
                at++;
        if (at - name > TEMPLATE_NAME_MAX)
                return false;
        mark->start = start;
        mark->name = text + name;
        mark->name_length = at - name;
        mark->is_escape = false;
        at = skip_blanks(text, length, at);
        if (length - at < 2 || text[at] != '}' || text[at + 1] != '}')
                return false;
        mark->end = at + 2;
        return true;
}

bool placeholder_next(const char *text, size_t length, size_t from,
                      struct placeholder_mark *ret_mark)
{
        struct placeholder_mark mark = { 0 };

        for (size_t at = from; at + 2 <= length; at++) {
                if (text[at] != '{' || text[at + 1] != '{')
                        continue;
                if (length - at >= 4 && text[at + 2] == '{' && text[at + 3] == '{') {
                        *ret_mark = (struct placeholder_mark){ .start = at,
                                                               .end = at + 4,
                                                               .is_escape = true };
                        return true;
                }
                if (match(text, length, at, &mark)) {
                        *ret_mark = mark;
                        return true;
                }
        }
        return false;
}
