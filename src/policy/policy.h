/*
 * The policy: what is allowed.
 *
 * A `struct policy` is one layer: values, and a mask of which were given. Layers are merged upwards
 * (defaults < file < environment < request), and at each layer a block for the language overrides
 * the general one; the outcome is the effective policy, in which everything is given.
 *
 * Nouns take bytes, never paths: the api module reads files. All strings are owned.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/error.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum policy_backend {
        BACKEND_AUTO,
        BACKEND_CONTAINER,
        BACKEND_LOCAL,
        BACKEND_DOCKER,
        BACKEND_WASM,
        BACKEND_NONE
};
enum policy_enforcement { ENFORCEMENT_STRICT, ENFORCEMENT_BEST_EFFORT };
enum policy_network {
        NETWORK_NONE,
        NETWORK_LOCALHOST,
        NETWORK_DNS,
        NETWORK_ALLOWLIST,
        NETWORK_HOST
};
enum policy_analysis { ANALYSIS_OFF, ANALYSIS_WARN, ANALYSIS_BLOCK };
enum policy_store { STORE_NEVER, STORE_ON_ERROR, STORE_ALWAYS };

/* Which of the values of a layer were given. The limits come first, in the order of limits.def. */
enum policy_field {
#define X(field, key, kind, def, min, max, what) FIELD_##field,
#include "policy/limits.def"
#undef X
        FIELD_BACKEND,
        FIELD_FALLBACK,
        FIELD_ENFORCEMENT,
        FIELD_NETWORK_MODE,
        FIELD_NETWORK_DNS,
        FIELD_NETWORK_ALLOW,
        FIELD_WORKSPACE,
        FIELD_MOUNTS,
        FIELD_ENV,
        FIELD_ANALYSIS_MODE,
        FIELD_STORE_CODE,
        FIELD_COUNT
};

struct limits {
#define X(field, key, kind, def, min, max, what) uint64_t field;
#include "policy/limits.def"
#undef X
};

struct policy_mount {
        char *source; /* owned; absolute after policy_resolve_paths() */
        char *target; /* owned; absolute, normal (no "..", "//" or trailing slash) */
        bool writable;
};

enum { POLICY_BACKENDS_MAX = 4, POLICY_MOUNTS_MAX = 64 };

struct policy_values {
        uint64_t given; /* bit per enum policy_field */
        struct limits limits;
        enum policy_backend backends[POLICY_BACKENDS_MAX]; /* in order of preference */
        size_t backend_count;
        enum policy_backend fallback; /* BACKEND_NONE: none */
        enum policy_enforcement enforcement;
        enum policy_network network_mode;
        bool network_dns;
        struct strlist network_allow;
        char *workspace; /* owned; NULL: a fresh one in memory */
        struct policy_mount *mounts;
        size_t mount_count;
        size_t mount_capacity;
        struct strlist env; /* "K=V"; a later layer's K replaces an earlier one's */
        size_t env_bytes;   /* of all of them, terminators included */
        enum policy_analysis analysis_mode;
        enum policy_store store_code;
};

struct policy_language {
        char *name;    /* owned; as written in the file */
        size_t line;   /* where it stands in the file, so that an unknown language can be named */
        size_t column; /* with its place; 0 where it did not come from a file */
        struct policy_values values;
};

/* One layer: the general values and those for single languages. */
struct policy {
        struct policy_values general;
        struct policy_language *languages;
        size_t language_count;
        size_t language_capacity;
};

void policy_init(struct policy *policy);
void policy_done(struct policy *policy);
void policy_values_done(struct policy_values *values);
int policy_copy(struct policy *to, const struct policy *from, struct error *err);

/* Fills every field with its default (limits.def, and LC_ALL=C.UTF-8 in env). */
int policy_defaults(struct policy_values *values, struct error *err);
/* Lays what `over` gives over `base`. Environment variables and mounts add up; the rest replaces.
 */
int policy_merge(struct policy_values *base, const struct policy_values *over, struct error *err);
/* defaults < each layer's general block and block for `language` (may be NULL) in turn. `language`
 * is the canonical name; a block's name matches it without regard to case. */
int policy_effective(const struct policy *const *layers, size_t layer_count, const char *language,
                     struct policy_values *ret_values, struct error *err);

/* policy_yaml.c: adds what a policy file says. Errors carry "name:line:column". Unknown and
 * repeated keys, wrong types, impossible values, aliases, more than one document are errors. */
int policy_load_yaml(struct policy *policy, const char *text, size_t length, const char *name,
                     struct error *err);
/* policy_env.c: adds what SANDBOX_* variables of `environment` say. SANDBOX_POLICY is the caller's.
 */
int policy_load_environment(struct policy *policy, char *const *environment, struct error *err);
/* policy_set.c: sets one value by its dotted name in the file, "limits.timeout" to "2s". A bare
 * number counts in `bare_unit` bytes for sizes. */
int policy_set(struct policy_values *values, const char *key, const char *value, struct error *err);
int policy_add_mount(struct policy_values *values, const char *source, const char *target,
                     const char *mode, struct error *err);
int policy_add_env(struct policy_values *values, const char *name, const char *value,
                   struct error *err);

/* policy_show.c: the effective policy as "yaml" (loadable again) or "json"; the JSON Schema. NULL
 * when out of memory. Caller frees. */
char *policy_show(const struct policy_values *values, const char *form);
char *policy_schema(void);

/* Whether a block for this language makes sense in a policy, be it in this build or not: the names
 * of the languages that policies can speak of. */
bool policy_knows_language(const char *name);

const char *policy_backend_name(enum policy_backend backend);
const char *policy_network_name(enum policy_network mode);
const char *policy_enforcement_name(enum policy_enforcement enforcement);

#endif
