/* The set of languages: lookup by name, detection by the code. */
#include "languages/languages.h"
#include "languages/languages_load.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>
#include <strings.h>

struct languages {
        /* By name; the array is owned, its items are built in or in `loaded`. */
        const struct language **sorted;
        size_t count;
        size_t capacity;
        struct language_loaded **loaded; /* owned */
        size_t loaded_count;
        size_t loaded_capacity;
};

/* ---- the set ---- */

/* Where the name stands, or where it belongs. */
static size_t find_place(const struct languages *set, const char *name, bool *ret_found)
{
        size_t place = 0;
        int order = 1;

        while (place < set->count && (order = strcmp(set->sorted[place]->name, name)) < 0)
                place++;
        *ret_found = place < set->count && order == 0;
        return place;
}

/* Puts the language into its place, in which one of the same name gives way. */
static int put(struct languages *set, const struct language *language)
{
        bool found;
        size_t place = find_place(set, language->name, &found);

        if (!found) {
                if (MEM_GROW(set->sorted, set->count, set->capacity) < 0)
                        return SBX_ENOMEM;
                memmove(set->sorted + place + 1, set->sorted + place,
                        (set->count - place) * sizeof(*set->sorted));
                set->count++;
        }
        set->sorted[place] = language;
        return 0;
}

struct languages *languages_new(void)
{
        struct languages *set = mem_alloc(sizeof(*set));

        if (!set)
                return NULL;
        for (size_t i = 0; languages_builtin[i]; i++) {
                if (put(set, languages_builtin[i]) < 0) {
                        languages_free(set);
                        return NULL;
                }
        }
        return set;
}

void languages_free(struct languages *set)
{
        if (!set)
                return;
        for (size_t i = 0; i < set->loaded_count; i++)
                language_loaded_free(set->loaded[i]);
        mem_free(set->loaded);
        mem_free(set->sorted);
        mem_free(set);
}

static bool list_has(const char *const *list, const char *word)
{
        for (; *list; list++)
                if (strcasecmp(*list, word) == 0)
                        return true;
        return false;
}

static bool answers_to(const struct language *language, const char *word)
{
        return strcasecmp(language->name, word) == 0 || list_has(language->aliases, word);
}

/* A name must mean one language, or a new file could take over what people call another one. */
static int refuse_clash(const struct languages *set, const struct language *added, const char *file,
                        struct error *err)
{
        char shown[256];

        for (size_t i = 0; i < set->count; i++) {
                const struct language *other = set->sorted[i];
                const char *clash = NULL;

                if (str_equal(other->name, added->name))
                        continue;
                if (answers_to(other, added->name))
                        clash = added->name;
                for (const char *const *alias = added->aliases; *alias && !clash; alias++)
                        if (answers_to(other, *alias))
                                clash = *alias;
                if (clash)
                        return error_set(
                                err, SBX_ELANGUAGE, "%s:1:1: '%s' already means the language '%s'",
                                str_printable(file, shown, sizeof(shown)), clash, other->name);
        }
        return 0;
}

int languages_add_yaml(struct languages *set, const char *text, size_t length, const char *name,
                       struct error *err)
{
        struct language_loaded *loaded = NULL;
        int rc = language_load_yaml(text, length, name, &loaded, err);

        if (rc < 0)
                return rc;
        rc = refuse_clash(set, &loaded->language, name, err);
        if (rc == 0 && (MEM_GROW(set->loaded, set->loaded_count, set->loaded_capacity) < 0 ||
                        put(set, &loaded->language) < 0))
                rc = error_set_nomem(err);
        if (rc < 0) {
                language_loaded_free(loaded);
                return rc;
        }
        /* One that is replaced lives on: callers may still hold it. */
        set->loaded[set->loaded_count++] = loaded;
        return 0;
}

size_t languages_count(const struct languages *set)
{
        return set->count;
}

const struct language *languages_at(const struct languages *set, size_t index)
{
        return index < set->count ? set->sorted[index] : NULL;
}

const struct language *languages_by_name(const struct languages *set, const char *name)
{
        for (size_t i = 0; i < set->count; i++)
                if (answers_to(set->sorted[i], name))
                        return set->sorted[i];
        return NULL;
}

char *languages_list(const struct languages *set)
{
        AUTO_STRBUF struct strbuf list = { 0 };

        for (size_t i = 0; i < set->count; i++)
                strbuf_addf(&list, "%s%s", i ? ", " : "", set->sorted[i]->name);
        return strbuf_take(&list);
}

/* ---- detection ---- */

static const struct language *detect_magic(const struct languages *set, const char *code,
                                           size_t length)
{
        for (size_t i = 0; i < set->count; i++) {
                const char *magic = set->sorted[i]->magic;

                if (magic && strlen(magic) <= length && memcmp(code, magic, strlen(magic)) == 0)
                        return set->sorted[i];
        }
        return NULL;
}

static bool has_extension(const char *base, const char *extension,
                          int (*compare)(const char *, const char *))
{
        size_t all = strlen(base), tail = strlen(extension);

        return all > tail && compare(base + all - tail, extension) == 0;
}

/* As written first, so that '.C' and '.c' can be two languages; without regard to case then. */
static const struct language *detect_extension(const struct languages *set, const char *file_name)
{
        int (*const compares[])(const char *, const char *) = { strcmp, strcasecmp };
        const char *slash = strrchr(file_name, '/');
        const char *base = slash ? slash + 1 : file_name;

        for (size_t way = 0; way < ARRAY_SIZE(compares); way++)
                for (size_t i = 0; i < set->count; i++) {
                        const char *const *extension = set->sorted[i]->extensions;

                        for (; *extension; extension++)
                                if (has_extension(base, *extension, compares[way]))
                                        return set->sorted[i];
                }
        return NULL;
}

/* The base name of a word of the '#!' line; an assignment as it is. */
static void take_word(const char **at, const char *end, char *word, size_t size)
{
        const char *start;
        bool is_assignment = false;
        size_t length;

        while (*at < end && (**at == ' ' || **at == '\t'))
                (*at)++;
        start = *at;
        for (; *at < end && **at != ' ' && **at != '\t'; (*at)++) {
                is_assignment |= **at == '=';
                if (**at == '/' && !is_assignment)
                        start = *at + 1;
        }
        length = (size_t)(*at - start) < size - 1 ? (size_t)(*at - start) : size - 1;
        memcpy(word, start, length);
        word[length] = '\0';
}

static const struct language *by_shebang(const struct languages *set, const char *word)
{
        for (size_t i = 0; i < set->count; i++)
                if (list_has(set->sorted[i]->shebangs, word))
                        return set->sorted[i];
        return NULL;
}

/* '#!/usr/bin/env -S NAME=value python3.11 -u' means python. */
static const struct language *detect_shebang(const struct languages *set, const char *code,
                                             size_t length)
{
        enum { LINE_MAX_BYTES = 256 };
        const char *end, *at = code + 2;
        const struct language *language;
        char word[64];
        size_t used;

        if (length < 3 || memcmp(code, "#!", 2) != 0)
                return NULL;
        length = length < LINE_MAX_BYTES ? length : LINE_MAX_BYTES;
        end = memchr(code, '\n', length);
        end = end ? end : code + length;
        if (end[-1] == '\r')
                end--;
        take_word(&at, end, word, sizeof(word));
        if (str_equal(word, "env"))
                do
                        take_word(&at, end, word, sizeof(word));
                while (word[0] == '-' || strchr(word, '='));
        language = by_shebang(set, word);
        if (language)
                return language;
        for (used = strlen(word); used > 0 && strchr("0123456789.", word[used - 1]); used--)
                word[used - 1] = '\0';
        return by_shebang(set, word);
}

const struct language *languages_detect(const struct languages *set, const char *file_name,
                                        const char *code, size_t length)
{
        const struct language *language = code ? detect_magic(set, code, length) : NULL;

        if (!language && file_name)
                language = detect_extension(set, file_name);
        if (!language && code)
                language = detect_shebang(set, code, length);
        return language;
}
