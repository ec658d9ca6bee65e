/*
 * The policy file: the table of keys walked over the events of the reader.
 *
 * Every function that reads a value finds the reader on its first event and leaves it on its last
 * (the scalar itself, or the end of the list or mapping); the loop that called it steps on.
 */
#include "policy/policy_reader.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_nouns[KINDS] = {
        [KIND_VERSION] = "the number 1",
        [KIND_DURATION] = "a time such as 500ms, 2s or 1m",
        [KIND_SIZE] = "a size such as 512K, 64M or 1G",
        [KIND_COUNT] = "a whole number",
        [KIND_THOUSANDTHS] = "a number such as 1 or 0.5",
        [KIND_CHOICE] = "one word",
        [KIND_BOOLEAN] = "true or false",
        [KIND_BACKENDS] = "a backend or a list of them",
        [KIND_PATH] = "a path or null",
};

static int fail_unknown(struct reader *reader, yaml_mark_t mark, const char *prefix,
                        const char *word)
{
        char shown[128];
        /* A list that nothing would enforce is refused. */
        const char *more = str_equal(prefix, "analysis.")
                                   ? ", and no language that static analysis can read"
                                   : "";
        int r = reader_fail(reader, mark, "unknown key '%s%s%s'%s", reader->scope, prefix,
                            str_printable(word, shown, sizeof(shown)), more);

        policy_hint_word(reader->err, word, prefix, *reader->scope != '\0');
        return r;
}

int read_scalar(struct reader *reader, const struct policy_key *key)
{
        int r = reader_expect_scalar(reader, key->key, kind_nouns[key->kind]);

        if (r < 0)
                return r;
        return reader_wrap(reader, reader_mark(reader), key->key,
                           policy_key_set(reader->values, key, reader_text(reader), reader->err));
}

static int read_path(struct reader *reader, const struct policy_key *key)
{
        if (!reader_is_null(reader))
                return read_scalar(reader, key);
        /* Null is a value here: it takes back what an earlier layer gave. */
        reader->values->given |= policy_field_bit(key->field);
        return 0;
}

/* ---- the walk ---- */

static int read_section(struct reader *reader, const char *prefix);

static bool is_language_name(const char *name)
{
        size_t length =
                strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+#._-");

        return length > 0 && length <= REQUEST_NAME_MAX && name[length] == '\0';
}

static int read_language(struct reader *reader, const char *name, yaml_mark_t mark)
{
        struct policy_values *general = reader->values;
        struct policy_language *block;
        char shown[128];
        int r;

        if (!is_language_name(name))
                return reader_fail(reader, mark, "bad language name '%s'",
                                   str_printable(name, shown, sizeof(shown)));
        if (policy_language_find(reader->policy, name))
                return read_fail_twice(reader, mark, "languages.", name);
        if (reader->policy->language_count >= POLICY_LANGUAGES_MAX)
                return reader_fail(reader, mark, "more than %d languages", POLICY_LANGUAGES_MAX);
        block = policy_language_add(reader->policy, name);
        if (!block)
                return error_set_nomem(reader->err);
        block->line = mark.line + 1;
        block->column = mark.column + 1;
        reader->values = &block->values;
        (void)snprintf(reader->scope, sizeof(reader->scope), "languages.%.*s.", REQUEST_NAME_MAX,
                       name);
        r = read_section(reader, "");
        reader->scope[0] = '\0';
        reader->values = general;
        return r;
}

static int read_languages(struct reader *reader, const struct policy_key *key)
{
        int r = reader_expect(reader, YAML_MAPPING_START_EVENT, key->key,
                              "a mapping of language names");

        while (r == 0) {
                char name[POLICY_KEY_MAX + 1];
                yaml_mark_t mark;

                r = reader_next(reader);
                if (r < 0 || reader_is(reader, YAML_MAPPING_END_EVENT))
                        break;
                r = reader_key(reader, name, &mark);
                if (r == 0)
                        r = read_language(reader, name, mark);
        }
        return r;
}

static int (*const readers[KINDS])(struct reader *reader, const struct policy_key *key) = {
        [KIND_VERSION] = read_scalar,     [KIND_DURATION] = read_scalar,
        [KIND_SIZE] = read_scalar,        [KIND_COUNT] = read_scalar,
        [KIND_CHOICE] = read_scalar,      [KIND_BOOLEAN] = read_scalar,
        [KIND_THOUSANDTHS] = read_scalar, [KIND_PATH] = read_path,
        [KIND_BACKENDS] = read_backends,  [KIND_ALLOW] = read_allow,
        [KIND_MODULES] = read_modules,    [KIND_DENY] = read_deny,
        [KIND_MOUNTS] = read_mounts,      [KIND_ENV] = read_env,
        [KIND_RULES] = read_rules,        [KIND_LANGUAGES] = read_languages,
        [KIND_FOLDERS] = read_folders,
};

/* Rules of one block that contradict each other are refused; of two layers the later one decides.
 */
static int check_network(struct reader *reader, yaml_mark_t mark)
{
        const struct policy_values *values = reader->values;
        const char *mode = policy_network_name(values->network_mode);
        int r = 0;

        if (!policy_gives(values, FIELD_NETWORK_MODE))
                return 0;
        if (values->network_mode != NETWORK_ALLOWLIST && values->network_allow.count > 0)
                r = reader_fail(reader, mark,
                                "%snetwork: mode is '%s', but allow names destinations",
                                reader->scope, mode);
        else if (values->network_mode == NETWORK_HOST && values->network_deny.count > 0)
                r = reader_fail(reader, mark,
                                "%snetwork: mode is 'host', but deny names destinations",
                                reader->scope);
        else if (policy_gives(values, FIELD_NETWORK_DNS) &&
                 ((values->network_mode < NETWORK_DNS && values->network_dns) ||
                  (values->network_mode == NETWORK_DNS && !values->network_dns)))
                r = reader_fail(reader, mark, "%snetwork: mode is '%s', but dns is %s",
                                reader->scope, mode, values->network_dns ? "true" : "false");
        if (r < 0)
                error_hint(reader->err, "take one of the two out");
        return r;
}

/* The first key of the table whose word at this level is `word`, or the count. */
static size_t find_key(const struct reader *reader, const char *prefix, const char *word,
                       bool *ret_leaf)
{
        size_t i;

        for (i = 0; i < policy_key_count; i++) {
                const struct policy_key *key = &policy_keys[i];
                size_t length = policy_key_word(key, prefix, ret_leaf);

                if (length == strlen(word) && length > 0 &&
                    memcmp(key->key + strlen(prefix), word, length) == 0 &&
                    (key->per_language || !*reader->scope))
                        break;
        }
        return i;
}

/* "records: off" is short for "records: { mode: off }"; the same for every section that has a mode.
 */
static const struct policy_key *mode_of(const struct reader *reader, const char *section)
{
        char dotted[64];
        const struct policy_key *key;

        (void)snprintf(dotted, sizeof(dotted), "%.50smode", section);
        key = reader_is(reader, YAML_SCALAR_EVENT) ? policy_key_find(dotted) : NULL;
        return key && (key->per_language || !*reader->scope) ? key : NULL;
}

static int read_entry(struct reader *reader, const char *prefix, uint64_t *seen)
{
        char word[POLICY_KEY_MAX + 1], section[64];
        const struct policy_key *key;
        yaml_mark_t mark;
        size_t index;
        bool is_leaf = false;
        int r = reader_key(reader, word, &mark);

        if (r < 0)
                return r;
        index = find_key(reader, prefix, word, &is_leaf);
        if (index == policy_key_count)
                return fail_unknown(reader, mark, prefix, word);
        if (*seen & UINT64_C(1) << index)
                return read_fail_twice(reader, mark, prefix, word);
        *seen |= UINT64_C(1) << index;
        if (is_leaf) {
                if (policy_keys[index].field < FIELD_COUNT)
                        reader->values->places[policy_keys[index].field] = reader_place(mark);
                return readers[policy_keys[index].kind](reader, &policy_keys[index]);
        }

        (void)snprintf(section, sizeof(section), "%.30s%.30s.", prefix, word);
        key = mode_of(reader, section);
        if (key) {
                reader->values->places[key->field] = reader_place(mark);
                return readers[key->kind](reader, key);
        }
        mark = reader_mark(reader);
        r = read_section(reader, section);
        if (r == 0 && strcmp(section, "network.") == 0)
                r = check_network(reader, mark);
        return r;
}

/* A mapping whose keys lie beneath `prefix`: the whole policy, a section, a block for a language.
 */
static int read_section(struct reader *reader, const char *prefix)
{
        char name[64];
        uint64_t seen = 0;
        int r;

        /* "limits." is called "limits" in messages. */
        (void)snprintf(name, sizeof(name), "%.*s", (int)(*prefix ? strlen(prefix) - 1 : 0), prefix);
        r = reader_expect(reader, YAML_MAPPING_START_EVENT, name, "a mapping");
        while (r == 0) {
                r = reader_next(reader);
                if (r < 0 || reader_is(reader, YAML_MAPPING_END_EVENT))
                        break;
                r = read_entry(reader, prefix, &seen);
        }
        return r;
}

/* Reads the whole from a reader that was opened with result `r`, and closes it. `loaded` is room
 * for what is read: it is merged at the end, so that a policy is never half of a wrong file. */
static int load(struct policy *policy, struct policy *loaded, struct reader *reader, int r)
{
        policy_init(loaded);
        reader->policy = loaded;
        reader->values = &loaded->general;
        if (r == 0)
                r = read_section(reader, "");
        if (r == 0)
                r = reader_finish(reader);
        if (r == 0)
                r = policy_merge_all(policy, loaded, reader->err);
        policy_done(loaded);
        if (r == 0) {
                policy->layer = LAYER_FILE;
                mem_free(policy->name);
                policy->name = mem_strdup(reader->name);
                r = policy->name ? 0 : error_set_nomem(reader->err);
        }
        reader_close(reader);
        return r;
}

int policy_load_yaml(struct policy *policy, const char *text, size_t length, const char *name,
                     struct error *err)
{
        struct policy loaded;
        struct reader reader;
        int r = reader_open(&reader, text, length, name, err);

        return load(policy, &loaded, &reader, r);
}

int policy_load_toml(struct policy *policy, const char *text, size_t length, char *events,
                     size_t events_length, const char *name, struct error *err)
{
        struct policy loaded;
        struct reader reader;
        int r = reader_open_recorded(&reader, text, length, events, events_length, name, err);

        return load(policy, &loaded, &reader, r);
}
