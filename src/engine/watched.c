#include "engine/watched.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The directory above the `bin` of a program: how many bytes of its path. */
static size_t root_length(const char *program)
{
        size_t length = strlen(program);

        for (int level = 0; level < 2; level++) {
                while (length > 0 && program[length - 1] != '/')
                        length--;
                length -= length > 0;
        }
        return length;
}

void watched_expand(const struct language_tool *tool, const char *word, struct strbuf *out)
{
        const struct {
                const char *name, *value;
                bool is_root;
        } words[] = {
                { "{tool}", tool->path, false },
                { "{root}", tool->path, true },
                { "{runtime}", tool->runtime, false },
                { "{runtime_root}", tool->runtime, true },
        };

        while (*word) {
                size_t i = 0;

                while (i < ARRAY_SIZE(words) && !str_has_prefix(word, words[i].name))
                        i++;
                if (i == ARRAY_SIZE(words)) {
                        strbuf_add(out, word++, 1);
                        continue;
                }
                strbuf_add(out, words[i].value,
                           words[i].is_root ? root_length(words[i].value) : strlen(words[i].value));
                word += strlen(words[i].name);
        }
}

/* Puts the caller's variable in the place of "~" or "$NAME"; the rest of the path, or NULL where
 * it is not set. */
static const char *take_variable(const char *path, struct strbuf *out)
{
        char name[64] = "HOME";
        const char *rest = path + 1, *value;

        if (path[0] == '$') {
                size_t length = strcspn(rest, "/");

                if (length >= sizeof(name))
                        return NULL;
                memcpy(name, rest, length);
                name[length] = '\0';
                rest += length;
        }
        value = secure_getenv(name);
        if (!value || !*value)
                return NULL;
        strbuf_adds(out, value);
        return rest;
}

int watched_hash(const struct language_tool *tool, const char *const *paths, struct hash *hash)
{
        for (; *paths; paths++) {
                AUTO_STRBUF struct strbuf path = { 0 };
                const char *rest = *paths;

                if (rest[0] == '~' || rest[0] == '$')
                        rest = take_variable(rest, &path);
                if (rest)
                        watched_expand(tool, rest, &path);
                if (path.failed)
                        return -1;
                hash_update_text(hash, *paths);
                /* What is not there adds its name alone. */
                if (rest && path.length)
                        (void)hash_update_identity(hash, path.data);
        }
        hash_update_text(hash, NULL);
        return 0;
}
