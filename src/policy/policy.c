/* Layers: made, copied, laid over one another. */
#include "policy/policy_keys.h"
#include "request/request.h"

#include <string.h>
#include <strings.h>

void policy_init(struct policy *policy)
{
        *policy = (struct policy){ 0 };
}

static void mounts_done(struct policy_values *values)
{
        for (size_t i = 0; i < values->mount_count; i++) {
                mem_free(values->mounts[i].source);
                mem_free(values->mounts[i].target);
        }
        mem_free(values->mounts);
        values->mounts = NULL;
        values->mount_count = values->mount_capacity = 0;
}

void policy_values_done(struct policy_values *values)
{
        strlist_done(&values->network_allow);
        strlist_done(&values->preload);
        strlist_done(&values->network_deny);
        strlist_done(&values->env);
        strlist_done(&values->rule_folders.items);
        for (size_t i = 0; i < POLICY_RULE_LANGUAGES; i++)
                for (size_t j = 0; j < POLICY_RULE_LISTS; j++)
                        strlist_done(&values->rules[i][j].items);
        mounts_done(values);
        mem_free(values->workspace);
        *values = (struct policy_values){ 0 };
}

void policy_done(struct policy *policy)
{
        policy_values_done(&policy->general);
        for (size_t i = 0; i < policy->language_count; i++) {
                mem_free(policy->languages[i].name);
                policy_values_done(&policy->languages[i].values);
        }
        mem_free(policy->languages);
        mem_free(policy->name);
        *policy = (struct policy){ 0 };
}

struct policy_language *policy_language_find(const struct policy *policy, const char *name)
{
        for (size_t i = 0; i < policy->language_count; i++)
                if (strcasecmp(policy->languages[i].name, name) == 0)
                        return &policy->languages[i];
        return NULL;
}

struct policy_language *policy_language_add(struct policy *policy, const char *name)
{
        AUTO_FREE char *copy = mem_strdup(name);
        struct policy_language *block;

        if (!copy ||
            MEM_GROW(policy->languages, policy->language_count, policy->language_capacity) < 0)
                return NULL;
        block = &policy->languages[policy->language_count++];
        *block = (struct policy_language){ .name = TAKE(copy) };
        return block;
}

/* ---- merging, by kind of value ---- */

typedef int (*merge_function)(struct policy_values *base, const struct policy_values *over,
                              const struct policy_key *key);

static int merge_number(struct policy_values *base, const struct policy_values *over,
                        const struct policy_key *key)
{
        memcpy(policy_slot(base, key), policy_slot_const(over, key), sizeof(uint64_t));
        return 0;
}

static int merge_choice(struct policy_values *base, const struct policy_values *over,
                        const struct policy_key *key)
{
        memcpy(policy_slot(base, key), policy_slot_const(over, key), sizeof(unsigned));
        return 0;
}

static int merge_boolean(struct policy_values *base, const struct policy_values *over,
                         const struct policy_key *key)
{
        memcpy(policy_slot(base, key), policy_slot_const(over, key), sizeof(bool));
        return 0;
}

static int merge_backends(struct policy_values *base, const struct policy_values *over,
                          const struct policy_key *key)
{
        memcpy(base->backends, over->backends, sizeof(base->backends));
        base->backend_count = over->backend_count;
        return 0;
}

static int merge_path(struct policy_values *base, const struct policy_values *over,
                      const struct policy_key *key)
{
        char **to = policy_slot(base, key);
        char *const *from = policy_slot_const(over, key);
        char *copy = mem_strdup(*from);

        if (*from && !copy)
                return -1;
        mem_free(*to);
        *to = copy;
        return 0;
}

static bool list_has(const struct strlist *list, const char *item)
{
        for (size_t i = 0; i < list->count; i++)
                if (strcmp(list->items[i], item) == 0)
                        return true;
        return false;
}

/* `from` in place of what `to` holds, or in addition to it where `adds`. */
static int merge_list(struct strlist *to, const struct strlist *from, bool adds)
{
        if (!adds)
                strlist_done(to);
        for (size_t i = 0; i < from->count; i++)
                if ((!adds || !list_has(to, from->items[i])) && strlist_add(to, from->items[i]) < 0)
                        return -1;
        return 0;
}

/* Added to nothing, a list still is an addition: the layer below is yet to come. */
static int merge_allow(struct policy_values *base, const struct policy_values *over,
                       const struct policy_key *key)
{
        if (!over->network_allow_adds || !policy_gives(base, key->field))
                base->network_allow_adds = over->network_allow_adds;
        return merge_list(&base->network_allow, &over->network_allow, over->network_allow_adds);
}

static int merge_modules(struct policy_values *base, const struct policy_values *over,
                         const struct policy_key *key)
{
        if (!over->preload_adds || !policy_gives(base, key->field))
                base->preload_adds = over->preload_adds;
        return merge_list(&base->preload, &over->preload, over->preload_adds);
}

/* What one layer denies no other can allow. */
static int merge_deny(struct policy_values *base, const struct policy_values *over,
                      const struct policy_key *key)
{
        return merge_list(&base->network_deny, &over->network_deny, true);
}

static int merge_lists(struct policy_values *base, const struct policy_values *over,
                       const struct policy_key *key, size_t count)
{
        struct policy_list *to = policy_lists_of(base, key);
        const struct policy_list *from = policy_lists_of_const(over, key);

        for (size_t i = 0; i < count; i++) {
                if (!from[i].given)
                        continue;
                if (!from[i].adds || !to[i].given)
                        to[i].adds = from[i].adds;
                to[i].given = true;
                to[i].place = from[i].place;
                if (merge_list(&to[i].items, &from[i].items, from[i].adds) < 0)
                        return -1;
        }
        return 0;
}

static int merge_rules(struct policy_values *base, const struct policy_values *over,
                       const struct policy_key *key)
{
        return merge_lists(base, over, key, POLICY_RULE_LISTS);
}

static int merge_folders(struct policy_values *base, const struct policy_values *over,
                         const struct policy_key *key)
{
        return merge_lists(base, over, key, 1);
}

/* A later layer's mount at the same target replaces the earlier one. */
static int merge_mount(struct policy_values *base, const struct policy_mount *mount)
{
        struct policy_mount *old = policy_mount_find(base, mount->target);
        AUTO_FREE char *source = mem_strdup(mount->source);
        AUTO_FREE char *target = NULL;

        if (!source)
                return -1;
        if (old) {
                mem_free(old->source);
                old->source = TAKE(source);
                old->writable = mount->writable;
                return 0;
        }
        target = mem_strdup(mount->target);
        if (!target || MEM_GROW(base->mounts, base->mount_count, base->mount_capacity) < 0)
                return -1;
        base->mounts[base->mount_count++] = (struct policy_mount){ .source = TAKE(source),
                                                                   .target = TAKE(target),
                                                                   .writable = mount->writable };
        return 0;
}

static int merge_mounts(struct policy_values *base, const struct policy_values *over,
                        const struct policy_key *key)
{
        for (size_t i = 0; i < over->mount_count; i++)
                if (merge_mount(base, &over->mounts[i]) < 0)
                        return -1;
        return 0;
}

static int merge_env(struct policy_values *base, const struct policy_values *over,
                     const struct policy_key *key)
{
        /* Those of one layer are unique among themselves: each meets only what was there before. */
        struct strlist before = base->env;

        for (size_t i = 0; i < over->env.count; i++) {
                const char *entry = over->env.items[i];
                size_t index = policy_env_find(&before, entry, strcspn(entry, "="));
                char *copy;

                if (index == before.count) {
                        if (strlist_add(&base->env, entry) < 0)
                                return -1;
                        base->env_bytes += strlen(entry) + 1;
                        before.items = base->env.items; /* it may have moved */
                        continue;
                }
                copy = mem_strdup(entry);
                if (!copy)
                        return -1;
                base->env_bytes += strlen(copy) - strlen(base->env.items[index]);
                mem_free(base->env.items[index]);
                base->env.items[index] = copy;
        }
        return 0;
}

static const merge_function mergers[KINDS] = {
        [KIND_DURATION] = merge_number,   [KIND_SIZE] = merge_number,
        [KIND_COUNT] = merge_number,      [KIND_THOUSANDTHS] = merge_number,
        [KIND_CHOICE] = merge_choice,     [KIND_BOOLEAN] = merge_boolean,
        [KIND_BACKENDS] = merge_backends, [KIND_PATH] = merge_path,
        [KIND_ALLOW] = merge_allow,       [KIND_DENY] = merge_deny,
        [KIND_MODULES] = merge_modules,   [KIND_MOUNTS] = merge_mounts,
        [KIND_ENV] = merge_env,           [KIND_RULES] = merge_rules,
        [KIND_FOLDERS] = merge_folders,
};

/* Who names destinations wants them reached, and who wants names resolved wants that mode, unless
 * the same layer says otherwise. Without this, an allowlist without a mode would mean nothing. */
static void imply_network_mode(struct policy_values *base, const struct policy_values *over)
{
        if (policy_gives(over, FIELD_NETWORK_MODE))
                return;
        if (over->network_allow.count > 0) {
                base->network_mode = NETWORK_ALLOWLIST;
                base->places[FIELD_NETWORK_MODE] = over->places[FIELD_NETWORK_ALLOW];
                base->given |= policy_field_bit(FIELD_NETWORK_MODE);
        } else if (policy_gives(over, FIELD_NETWORK_DNS) && over->network_dns &&
                   policy_gives(base, FIELD_NETWORK_MODE) && base->network_mode < NETWORK_DNS) {
                base->network_mode = NETWORK_DNS;
                base->places[FIELD_NETWORK_MODE] = over->places[FIELD_NETWORK_DNS];
        }
}

/* The sums are bounded again here: each layer keeps the maximum, two of them may pass it. */
static int check_sums(const struct policy_values *values, struct error *err)
{
        if (values->env_bytes > REQUEST_STRINGS_MAX)
                return error_set(err, SBX_EPOLICY,
                                 "the environment is larger than %d KiB in all layers together",
                                 REQUEST_STRINGS_MAX >> 10);
        if (values->mount_count > POLICY_MOUNTS_MAX)
                return error_set(err, SBX_EPOLICY, "more than %d mounts in all layers together",
                                 POLICY_MOUNTS_MAX);
        if (values->network_deny.count > POLICY_ALLOW_MAX)
                return error_set(err, SBX_EPOLICY,
                                 "more than %d denied destinations in all layers together",
                                 POLICY_ALLOW_MAX);
        if (values->env.count > POLICY_ENV_MAX)
                return error_set(err, SBX_EPOLICY,
                                 "more than %d environment variables in all layers together",
                                 POLICY_ENV_MAX);
        return 0;
}

int policy_merge(struct policy_values *base, const struct policy_values *over, struct error *err)
{
        for (size_t i = 0; i < policy_key_count; i++) {
                const struct policy_key *key = &policy_keys[i];

                if (!policy_gives(over, key->field))
                        continue;
                if (mergers[key->kind](base, over, key) < 0)
                        return error_set_nomem(err);
                base->places[key->field] = over->places[key->field];
        }
        /* Not before all are merged: the lists of analysis share a field. */
        base->given |= over->given;
        imply_network_mode(base, over);
        return check_sums(base, err);
}

int policy_merge_all(struct policy *base, const struct policy *over, struct error *err)
{
        int r = policy_merge(&base->general, &over->general, err);

        for (size_t i = 0; r == 0 && i < over->language_count; i++) {
                const struct policy_language *from = &over->languages[i];
                struct policy_language *to = policy_language_find(base, from->name);

                if (!to)
                        to = policy_language_add(base, from->name);
                if (!to)
                        return error_set_nomem(err);
                to->line = from->line;
                to->column = from->column;
                r = policy_merge(&to->values, &from->values, err);
        }
        return r;
}

int policy_copy(struct policy *to, const struct policy *from, struct error *err)
{
        struct policy copy;
        int r;

        policy_init(&copy);
        copy.layer = from->layer;
        copy.name = mem_strdup(from->name);
        r = from->name && !copy.name ? error_set_nomem(err) : policy_merge_all(&copy, from, err);
        if (r < 0) {
                policy_done(&copy);
                return r;
        }
        *to = copy;
        return 0;
}

int policy_defaults(struct policy_values *values, struct error *err)
{
        *values = (struct policy_values){ 0 };
        for (size_t i = 0; i < policy_key_count; i++) {
                const struct policy_key *key = &policy_keys[i];

                if (mergers[key->kind] == merge_number)
                        *(uint64_t *)policy_slot(values, key) = key->initial;
                else if (key->kind == KIND_CHOICE)
                        *(unsigned *)policy_slot(values, key) = (unsigned)key->initial;
                else if (key->kind == KIND_BOOLEAN)
                        *(bool *)policy_slot(values, key) = key->initial != 0;
                values->given |= policy_field_bit(key->field);
        }
        values->backends[0] = BACKEND_AUTO;
        values->backend_count = 1;
        return policy_add_env(values, "LC_ALL", "C.UTF-8", err);
}

/* Of two layers that disagree the stricter mode stands, so what it makes void is taken out. */
static void settle_network(struct policy_values *values)
{
        if (values->network_mode != NETWORK_ALLOWLIST)
                strlist_done(&values->network_allow);
        if (values->network_mode < NETWORK_DNS) {
                values->network_dns = false;
        } else if (values->network_mode == NETWORK_DNS && !values->network_dns) {
                values->network_dns = true;
                values->places[FIELD_NETWORK_DNS] = values->places[FIELD_NETWORK_MODE];
        }
}

/* "p.yaml:3:1: ", "environment variable X: " or nothing before what a layer did wrong. */
static void prefix_layer(const struct policy *layer, const struct policy_key *key,
                         struct policy_place place, struct error *err)
{
        const char *variable = policy_env_variable(key->key);

        for (size_t i = 0; key->kind == KIND_RULES && i < POLICY_RULE_LISTS; i++) {
                const struct policy_list *list = &policy_lists_of_const(&layer->general, key)[i];

                if (list->given)
                        place = list->place; /* the languages share a field, not a place */
        }
        if (layer->layer == LAYER_ENVIRONMENT && variable)
                error_prefix(err, "environment variable %s", variable);
        else if (layer->name && place.line)
                error_prefix(err, "%s:%u:%u", layer->name, place.line, place.column);
}

/* Lays a layer over values that are sealed. */
static int merge_sealed(struct policy_values *values, const struct policy *layer,
                        const struct policy_language *block, const char *sealer, struct error *err)
{
        const struct policy_key *key = NULL;
        struct policy_values ceiling = { 0 };
        int r = policy_merge(&ceiling, values, err);

        if (r == 0)
                r = policy_merge(values, &layer->general, err);
        if (r == 0 && block)
                r = policy_merge(values, &block->values, err);
        if (r == 0) {
                /* What is void now stays void: no later layer can bring the mode back. */
                settle_network(&ceiling);
                settle_network(values);
                r = policy_check_tighter(&ceiling, values, &key, err);
        }
        if (r < 0 && key) {
                prefix_layer(layer, key, values->places[key->field], err);
                error_hint(err, "the policy is sealed%s%s: it can only be tightened",
                           sealer ? " by " : "", sealer ? sealer : "");
        }
        policy_values_done(&ceiling);
        return r;
}

int policy_effective(const struct policy *const *layers, size_t layer_count, const char *language,
                     struct policy_values *ret_values, struct error *err)
{
        struct policy_values values;
        const char *sealer = NULL;
        int r = policy_defaults(&values, err);

        for (size_t i = 0; r == 0 && i < layer_count; i++) {
                const struct policy_language *block =
                        language ? policy_language_find(layers[i], language) : NULL;

                if (values.sealed) {
                        r = merge_sealed(&values, layers[i], block, sealer, err);
                        continue;
                }
                r = policy_merge(&values, &layers[i]->general, err);
                if (r == 0 && block)
                        r = policy_merge(&values, &block->values, err);
                if (values.sealed)
                        sealer = layers[i]->name;
        }
        if (r < 0) {
                policy_values_done(&values);
                return r;
        }
        settle_network(&values);
        *ret_values = values;
        return 0;
}

static int add_writable(const struct policy_values *values, struct strlist *paths)
{
        if (values->workspace && strlist_add(paths, values->workspace) < 0)
                return -1;
        for (size_t i = 0; i < values->mount_count; i++)
                if (values->mounts[i].writable && strlist_add(paths, values->mounts[i].source) < 0)
                        return -1;
        return 0;
}

int policy_add_writable(const struct policy *layer, struct strlist *paths, struct error *err)
{
        int r = add_writable(&layer->general, paths);

        for (size_t i = 0; i < layer->language_count && r == 0; i++)
                r = add_writable(&layer->languages[i].values, paths);
        return r < 0 ? error_set_nomem(err) : 0;
}
