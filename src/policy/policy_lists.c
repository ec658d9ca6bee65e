/*
 * The values of a policy file that are more than one text: lists and mappings. As in policy_yaml.c,
 * each function finds the reader on the value's first event and leaves it on its last.
 */
#include "policy/policy_reader.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

int read_fail_twice(struct reader *reader, yaml_mark_t mark, const char *prefix, const char *word)
{
        char shown[128];

        return reader_fail(reader, mark, "the key '%s%s%s' stands twice", reader->scope, prefix,
                           str_printable(word, shown, sizeof(shown)));
}

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
                return read_fail_twice(reader, mark, prefix, word);
        *seen |= 1u << index;
        *ret_index = index;
        return 0;
}

typedef int (*list_adder)(void *target, const char *text, struct error *err);

/* Reads a list of texts, handing each to `add`. */
static int read_items(struct reader *reader, const char *key, size_t max, const char *noun,
                      list_adder add, void *target)
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
                                        add(target, reader_text(reader), reader->err));
        }
        return r;
}

/* Reads a list, or a mapping { add: list }, whose list is added to what earlier layers gave. */
static int read_list(struct reader *reader, const char *key, size_t max, const char *noun,
                     list_adder add, void *target, bool *ret_adds)
{
        static const char *const words[] = { "add" };
        unsigned seen = 0;
        char prefix[128], inner[128];
        yaml_mark_t mark = reader_mark(reader);
        size_t index = 0;
        int r;

        *ret_adds = reader_is(reader, YAML_MAPPING_START_EVENT);
        if (!*ret_adds)
                return read_items(reader, key, max, noun, add, target);
        (void)snprintf(prefix, sizeof(prefix), "%.100s.", key);
        (void)snprintf(inner, sizeof(inner), "%.100s.add", key);
        r = next_word(reader, prefix, words, 1, &seen, &index);
        if (r == 0 && index == 1)
                return reader_fail(reader, mark, "%s%s: the mapping is empty", reader->scope, key);
        if (r == 0)
                r = read_items(reader, inner, max, noun, add, target);
        /* One word, and none twice: what follows can only be the end. */
        return r < 0 ? r : next_word(reader, prefix, words, 1, &seen, &index);
}

static int add_backend(void *target, const char *text, struct error *err)
{
        return policy_add_backend(target, text, err);
}

int read_backends(struct reader *reader, const struct policy_key *key)
{
        yaml_mark_t mark = reader_mark(reader);
        int r;

        if (!reader_is(reader, YAML_SEQUENCE_START_EVENT))
                return read_scalar(reader, key);
        r = read_items(reader, key->key, BACKEND_NONE, "a list of backends", add_backend,
                       reader->values);
        if (r == 0 && reader->values->backend_count == 0)
                r = reader_fail(reader, mark, "%s: the list is empty", key->key);
        reader->values->given |= policy_field_bit(key->field);
        return r;
}

static int add_allow(void *target, const char *text, struct error *err)
{
        return policy_add_allow(target, text, err);
}

int read_allow(struct reader *reader, const struct policy_key *key)
{
        reader->values->given |= policy_field_bit(key->field); /* an empty list is a value too */
        return read_list(reader, key->key, POLICY_ALLOW_MAX, "a list of destinations", add_allow,
                         reader->values, &reader->values->network_allow_adds);
}

static int add_module(void *target, const char *text, struct error *err)
{
        return policy_add_preload(target, text, err);
}

int read_modules(struct reader *reader, const struct policy_key *key)
{
        reader->values->given |= policy_field_bit(key->field);
        return read_list(reader, key->key, POLICY_PRELOAD_MAX, "a list of modules", add_module,
                         reader->values, &reader->values->preload_adds);
}

static int add_deny(void *target, const char *text, struct error *err)
{
        return policy_add_deny(target, text, err);
}

int read_deny(struct reader *reader, const struct policy_key *key)
{
        bool adds; /* it always does */

        reader->values->given |= policy_field_bit(key->field);
        return read_list(reader, key->key, POLICY_ALLOW_MAX, "a list of destinations", add_deny,
                         reader->values, &adds);
}

/* ---- env ---- */

static int read_variable(struct reader *reader, const char *name, yaml_mark_t mark)
{
        char key[POLICY_KEY_MAX + sizeof("env.")];
        int r;

        if (policy_env_find(&reader->values->env, name, strlen(name)) < reader->values->env.count)
                return read_fail_twice(reader, mark, "env.", name);
        (void)snprintf(key, sizeof(key), "env.%s", name);
        r = reader_expect_scalar(reader, key, "a text");
        if (r < 0)
                return r;
        return reader_wrap(reader, mark, "env",
                           policy_add_env(reader->values, name, reader_text(reader), reader->err));
}

int read_env(struct reader *reader, const struct policy_key *key)
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

int read_mounts(struct reader *reader, const struct policy_key *key)
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

static int add_folder(void *target, const char *text, struct error *err)
{
        struct policy_list *list = target;
        int r = policy_check_path(text, err);

        if (r < 0)
                return r;
        return strlist_add(&list->items, text) < 0 ? error_set_nomem(err) : 0;
}

int read_folders(struct reader *reader, const struct policy_key *key)
{
        struct policy_list *list = policy_lists_of(reader->values, key);

        reader->values->given |= policy_field_bit(key->field);
        list->given = true;
        return read_list(reader, key->key, POLICY_FOLDERS_MAX, "a list of folders", add_folder,
                         list, &list->adds);
}

static int add_rule(void *target, const char *text, struct error *err)
{
        struct policy_list *list = target;

        if (*text == '\0')
                return error_set(err, SBX_EINVAL, "a rule is empty");
        if (strlen(text) > POLICY_RULE_LENGTH_MAX)
                return error_set(err, SBX_EINVAL, "a rule is longer than %d bytes",
                                 POLICY_RULE_LENGTH_MAX);
        return strlist_add(&list->items, text) < 0 ? error_set_nomem(err) : 0;
}

int read_rules(struct reader *reader, const struct policy_key *key)
{
        struct policy_list *lists = policy_lists_of(reader->values, key);
        unsigned seen = 0;
        char prefix[64];
        int r = reader_expect(reader, YAML_MAPPING_START_EVENT, key->key,
                              "a mapping of rule lists");

        reader->values->given |= policy_field_bit(key->field);
        (void)snprintf(prefix, sizeof(prefix), "%s.", key->key);
        while (r == 0) {
                char name[128];
                size_t index;

                r = next_word(reader, prefix, policy_rule_lists, POLICY_RULE_LISTS, &seen, &index);
                if (r < 0 || index == POLICY_RULE_LISTS)
                        break;
                (void)snprintf(name, sizeof(name), "%s%s", prefix, policy_rule_lists[index]);
                lists[index].given = true;
                lists[index].place = reader_place(reader_mark(reader));
                r = read_list(reader, name, POLICY_RULES_MAX, "a list of texts", add_rule,
                              &lists[index], &lists[index].adds);
        }
        return r;
}
