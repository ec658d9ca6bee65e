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
        int r = reader_fail(reader, mark, "unknown key '%s%s%s'", reader->scope, prefix,
                            str_printable(word, shown, sizeof(shown)));

        policy_hint_word(reader->err, word, prefix, *reader->scope != '\0');
        return r;
}

static int fail_twice(struct reader *reader, yaml_mark_t mark, const char *prefix, const char *word)
{
        char shown[128];

        return reader_fail(reader, mark, "the key '%s%s%s' stands twice", reader->scope, prefix,
                           str_printable(word, shown, sizeof(shown)));
}

static int read_scalar(struct reader *reader, const struct policy_key *key)
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

/* Reads a list of texts, handing each to `add`. */
static int read_list(struct reader *reader, const char *key, size_t max, const char *noun,
                     int (*add)(struct policy_values *values, const char *text, struct error *err))
{
        size_t count = 0;
        int r = reader_expect(reader, YAML_SEQUENCE_START_EVENT, key, noun);

        while (r == 0) {
                r = reader_next(reader);
                if (r < 0 || reader_is(reader, YAML_SEQUENCE_END_EVENT))
                        break;
                r = reader_expect_scalar(reader, key, noun);
                if (r == 0 && ++count > max)
                        r = reader_fail(reader, reader_mark(reader), "%s%s: more than %zu entries",
                                        reader->scope, key, max);
                if (r == 0)
                        r = reader_wrap(reader, reader_mark(reader), key,
                                        add(reader->values, reader_text(reader), reader->err));
        }
        return r;
}

static int read_backends(struct reader *reader, const struct policy_key *key)
{
        yaml_mark_t mark = reader_mark(reader);
        int r;

        if (!reader_is(reader, YAML_SEQUENCE_START_EVENT))
                return read_scalar(reader, key);
        r = read_list(reader, key->key, BACKEND_NONE, "a list of backends", policy_add_backend);
        if (r == 0 && reader->values->backend_count == 0)
                r = reader_fail(reader, mark, "%s: the list is empty", key->key);
        reader->values->given |= policy_field_bit(key->field);
        return r;
}

static int read_allow(struct reader *reader, const struct policy_key *key)
{
        reader->values->given |= policy_field_bit(key->field); /* an empty list is a value too */
        return read_list(reader, key->key, POLICY_ALLOW_MAX, "a list of destinations",
                         policy_add_allow);
}

/* ---- env ---- */

static int read_variable(struct reader *reader, const char *name, yaml_mark_t mark)
{
        int r;

        if (policy_env_find(&reader->values->env, name, strlen(name)) < reader->values->env.count)
                return fail_twice(reader, mark, "env.", name);
        r = reader_expect_scalar(reader, "env", "a mapping of names to texts");
        if (r < 0)
                return r;
        return reader_wrap(reader, mark, "env",
                           policy_add_env(reader->values, name, reader_text(reader), reader->err));
}

static int read_env(struct reader *reader, const struct policy_key *key)
{
        int r = reader_expect(reader, YAML_MAPPING_START_EVENT, key->key,
                              "a mapping of names to texts");

        reader->values->given |= policy_field_bit(key->field);
        while (r == 0) {
                char name[POLICY_KEY_MAX + 1];
                yaml_mark_t mark;

                r = reader_next(reader);
                if (r < 0 || reader_is(reader, YAML_MAPPING_END_EVENT))
                        break;
                r = reader_key(reader, name, &mark);
                if (r == 0)
                        r = read_variable(reader, name, mark);
        }
        return r;
}

/* ---- mounts ---- */

enum { MOUNT_SOURCE, MOUNT_TARGET, MOUNT_MODE, MOUNT_KEYS };
static const char *const mount_keys[MOUNT_KEYS] = { "source", "target", "mode" };

static size_t find_word(const char *const *words, size_t count, const char *word)
{
        size_t i = 0;

        while (i < count && strcmp(words[i], word) != 0)
                i++;
        return i;
}

/* Steps to the next key of a mapping that knows just these words, none of them twice. `*ret_index`
 * is `count` at its end. */
static int next_word(struct reader *reader, const char *prefix, const char *const *words,
                     size_t count, unsigned *seen, size_t *ret_index)
{
        char word[POLICY_KEY_MAX + 1], shown[128];
        yaml_mark_t mark;
        size_t index;
        int r = reader_next(reader);

        *ret_index = count;
        if (r < 0 || reader_is(reader, YAML_MAPPING_END_EVENT))
                return r;
        r = reader_key(reader, word, &mark);
        if (r < 0)
                return r;
        index = find_word(words, count, word);
        if (index == count) {
                r = reader_fail(reader, mark, "unknown key '%s%s%s'", reader->scope, prefix,
                                str_printable(word, shown, sizeof(shown)));
                policy_hint_names(reader->err, word, words, count);
                return r;
        }
        if (*seen & 1u << index)
                return fail_twice(reader, mark, prefix, word);
        *seen |= 1u << index;
        *ret_index = index;
        return 0;
}

static int read_mount(struct reader *reader, const struct policy_key *key)
{
        AUTO_FREE char *source = NULL;
        AUTO_FREE char *target = NULL;
        AUTO_FREE char *mode = NULL;
        char **texts[MOUNT_KEYS] = { &source, &target, &mode };
        yaml_mark_t mark = reader_mark(reader);
        unsigned seen = 0;
        int r = reader_expect(reader, YAML_MAPPING_START_EVENT, key->key,
                              "a list of mappings with source, target and mode");

        while (r == 0) {
                size_t index;

                r = next_word(reader, "filesystem.mounts.", mount_keys, MOUNT_KEYS, &seen, &index);
                if (r < 0 || index == MOUNT_KEYS)
                        break;
                r = reader_expect_scalar(reader, key->key, "texts in its mappings");
                if (r < 0)
                        break;
                *texts[index] = mem_strdup(reader_text(reader));
                if (!*texts[index])
                        r = error_set_nomem(reader->err);
        }
        if (r < 0)
                return r;
        if (!source || !target)
                return reader_fail(reader, mark, "%s%s: a mount needs source and target",
                                   reader->scope, key->key);
        return reader_wrap(reader, mark, key->key,
                           policy_add_mount(reader->values, source, target, mode, reader->err));
}

static int read_mounts(struct reader *reader, const struct policy_key *key)
{
        int r = reader_expect(reader, YAML_SEQUENCE_START_EVENT, key->key,
                              "a list of mappings with source, target and mode");

        reader->values->given |= policy_field_bit(key->field);
        while (r == 0) {
                r = reader_next(reader);
                if (r < 0 || reader_is(reader, YAML_SEQUENCE_END_EVENT))
                        break;
                r = read_mount(reader, key);
        }
        return r;
}

/* ---- analysis rules ---- */

static int check_rule(struct policy_values *values, const char *text, struct error *err)
{
        if (*text == '\0')
                return error_set(err, SBX_EINVAL, "a rule is empty");
        if (strlen(text) > POLICY_RULE_LENGTH_MAX)
                return error_set(err, SBX_EINVAL, "a rule is longer than %d bytes",
                                 POLICY_RULE_LENGTH_MAX);
        return 0;
}

static int read_rules(struct reader *reader, const struct policy_key *key)
{
        unsigned seen = 0;
        char prefix[64];
        int r = reader_expect(reader, YAML_MAPPING_START_EVENT, key->key,
                              "a mapping of rule lists");

        (void)snprintf(prefix, sizeof(prefix), "%s.", key->key);
        while (r == 0) {
                char name[128];
                size_t index;

                r = next_word(reader, prefix, policy_rule_lists, POLICY_RULE_LISTS, &seen, &index);
                if (r < 0 || index == POLICY_RULE_LISTS)
                        break;
                (void)snprintf(name, sizeof(name), "%s%s", prefix, policy_rule_lists[index]);
                r = read_list(reader, name, POLICY_RULES_MAX, "a list of texts", check_rule);
        }
        return r;
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
                return fail_twice(reader, mark, "languages.", name);
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
        [KIND_MOUNTS] = read_mounts,      [KIND_ENV] = read_env,
        [KIND_RULES] = read_rules,        [KIND_LANGUAGES] = read_languages,
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

static int read_entry(struct reader *reader, const char *prefix, uint64_t *seen)
{
        char word[POLICY_KEY_MAX + 1], section[64];
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
                return fail_twice(reader, mark, prefix, word);
        *seen |= UINT64_C(1) << index;
        if (is_leaf)
                return readers[policy_keys[index].kind](reader, &policy_keys[index]);

        (void)snprintf(section, sizeof(section), "%.30s%.30s.", prefix, word);
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

int policy_load_yaml(struct policy *policy, const char *text, size_t length, const char *name,
                     struct error *err)
{
        struct reader reader;
        struct policy loaded;
        int r;

        /* Read apart and merged at the end, so that a policy is never half of a wrong file. */
        policy_init(&loaded);
        r = reader_open(&reader, text, length, name, err);
        reader.policy = &loaded;
        reader.values = &loaded.general;
        if (r == 0)
                r = read_section(&reader, "");
        if (r == 0)
                r = reader_finish(&reader);
        if (r == 0)
                r = policy_merge_all(policy, &loaded, err);
        reader_close(&reader);
        policy_done(&loaded);
        return r;
}
