/*
 * The policy: what is allowed.
 *
 * A `struct policy` is one layer: values, a mask of which were given, and where. Layers are merged
 * upwards (defaults < language < files < environment < request), and at each layer a block for the
 * language overrides the general one; the outcome is the effective policy, in which everything is
 * given. Above a layer that is sealed, the others can only tighten (policy_seal.c).
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
enum policy_records { RECORDS_ON, RECORDS_OFF };
/* The lists of an analysis block, and the languages that one can be written for. */
enum policy_rule {
        RULE_IMPORTS,
        RULE_FUNCTIONS,
        RULE_PATTERNS,
        RULE_COMMANDS,
        RULE_RULES, /* by their ids */
        POLICY_RULE_LISTS
};
enum { POLICY_RULE_LANGUAGES = 9 };
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
        FIELD_NETWORK_DENY,
        FIELD_NETWORK_CONNECTIONS,
        FIELD_NETWORK_BYTES,
        FIELD_NETWORK_RATE,
        FIELD_WORKSPACE,
        FIELD_MOUNTS,
        FIELD_ENV,
        FIELD_ANALYSIS_MODE,
        FIELD_RULE_FOLDERS,
        FIELD_RULES, /* some list of analysis rules; which, the lists know */
        FIELD_STORE_CODE,
        FIELD_SEALED,
        FIELD_RECORDS_MODE,
        FIELD_INTERVAL,
        FIELD_WARN_TIMEOUT,
        FIELD_WARN_CPU_TIME,
        FIELD_WARN_MEMORY,
        FIELD_WARN_PROCESSES,
        FIELD_WARN_DISK,
        FIELD_PRELOAD,
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

/* Where in a file a value stands; line 0 where it did not come from one. */
struct policy_place {
        unsigned line, column;
};

/* A list that replaces what earlier layers gave, or is added to it. */
struct policy_list {
        struct strlist items;
        bool given;
        bool adds;
        struct policy_place place;
};

struct policy_values {
        uint64_t given;                          /* bit per enum policy_field */
        struct policy_place places[FIELD_COUNT]; /* of those given */
        struct limits limits;
        enum policy_backend backends[POLICY_BACKENDS_MAX]; /* in order of preference */
        size_t backend_count;
        enum policy_backend fallback; /* BACKEND_NONE: none */
        enum policy_enforcement enforcement;
        enum policy_network network_mode;
        bool network_dns;
        struct strlist network_allow;
        bool network_allow_adds;      /* in a layer: to what earlier ones allow */
        struct strlist network_deny;  /* always in addition to what earlier layers deny */
        uint64_t network_connections; /* at once */
        uint64_t network_bytes;       /* in and out together */
        uint64_t network_rate;        /* of them in a second */
        struct strlist preload;       /* names of modules */
        bool preload_adds;            /* as network_allow_adds */
        char *workspace;              /* owned; NULL: a fresh one in memory */
        struct policy_mount *mounts;
        size_t mount_count;
        size_t mount_capacity;
        struct strlist env; /* "K=V"; a later layer's K replaces an earlier one's */
        size_t env_bytes;   /* of all of them, terminators included */
        enum policy_analysis analysis_mode;
        struct policy_list rule_folders; /* further rules of analysis */
        struct policy_list rules[POLICY_RULE_LANGUAGES][POLICY_RULE_LISTS];
        enum policy_store store_code;
        bool sealed; /* later layers can only tighten */
        enum policy_records records_mode;
        uint64_t interval_ms; /* between two samples that are told */
        /* Percent of a limit at which a warning is told; 0: never. */
        uint64_t warn_timeout, warn_cpu_time, warn_memory, warn_processes, warn_disk;
};

struct policy_language {
        char *name;    /* owned; as written in the file */
        size_t line;   /* where it stands in the file, so that an unknown language can be named */
        size_t column; /* with its place; 0 where it did not come from a file */
        struct policy_values values;
};

enum policy_layer {
        LAYER_DEFAULT,
        LAYER_LANGUAGE, /* what the language file says suits the language: below every policy */
        LAYER_PROFILE,
        LAYER_FILE,
        LAYER_ENVIRONMENT,
        LAYER_REQUEST
};

/* One layer: the general values and those for single languages. */
struct policy {
        enum policy_layer layer;
        char *name; /* owned; of the file or profile, for a person; NULL where there is none */
        struct policy_values general;
        struct policy_language *languages;
        size_t language_count;
        size_t language_capacity;
};

/* A layer that says nothing but that those after it can only tighten. */
extern const struct policy policy_seal;

void policy_init(struct policy *policy);
void policy_done(struct policy *policy);
void policy_values_done(struct policy_values *values);
int policy_copy(struct policy *to, const struct policy *from, struct error *err);

/* Fills every field with its default (limits.def, and LC_ALL=C.UTF-8 in env). */
int policy_defaults(struct policy_values *values, struct error *err);
/* Lays what `over` gives over `base`. Environment variables and mounts add up by name and target,
 * lists that say so are added to, the rest replaces. */
int policy_merge(struct policy_values *base, const struct policy_values *over, struct error *err);
/* defaults < each layer's general block and block for `language` (may be NULL) in turn. `language`
 * is the canonical name; a block's name matches it without regard to case. The layers stand in the
 * order of enum policy_layer: the limits of a language file are the first. A layer above a sealed
 * one that widens something is SBX_EPOLICY. */
int policy_effective(const struct policy *const *layers, size_t layer_count, const char *language,
                     struct policy_values *ret_values, struct error *err);
/* Adds the paths, as they are written, that a layer lets programs write to, in any language: its
 * workspaces, and the sources of its writable mounts. What a later layer takes back was writable in
 * other runs all the same, and holds what those have left. */
int policy_add_writable(const struct policy *layer, struct strlist *paths, struct error *err);

/* policy_yaml.c: adds what a policy file says. Errors carry "name:line:column". Unknown and
 * repeated keys, wrong types, impossible values, aliases, more than one document are errors. */
int policy_load_yaml(struct policy *policy, const char *text, size_t length, const char *name,
                     struct error *err);
/* policy_reader.c: whether the bytes can be a policy of any form: size, byte order mark, NUL,
 * UTF-8. */
int policy_check_text(const char *text, size_t length, const char *name, struct error *err);
/* policy_toml.c: the same as policy_load_yaml() for TOML, from the text and the record that
 * sandbox-toml made of it, whose bytes are changed. */
int policy_load_toml(struct policy *policy, const char *text, size_t length, char *events,
                     size_t events_length, const char *name, struct error *err);
/* policy_env.c: adds what SANDBOX_* variables of `environment` say. SANDBOX_POLICY is the caller's.
 */
int policy_load_environment(struct policy *policy, char *const *environment, struct error *err);
/* policy_set.c: sets one value by its dotted name in the file, "limits.timeout" to "2s". A bare
 * number counts in `bare_unit` bytes for sizes. */
int policy_set(struct policy_values *values, const char *key, const char *value, struct error *err);
int policy_add_preload(struct policy_values *values, const char *module, struct error *err);
int policy_add_mount(struct policy_values *values, const char *source, const char *target,
                     const char *mode, struct error *err);
int policy_add_env(struct policy_values *values, const char *name, const char *value,
                   struct error *err);

/* policy_show.c: the effective policy as "yaml" (loadable again) or "json"; the JSON Schema. NULL
 * when out of memory. Caller frees. */
char *policy_show(const struct policy_values *values, const char *form);
char *policy_schema(void);
/* policy_explain.c: for each of the effective values the layer that set it, and where, as JSON: a
 * list of { key, value, text, layer, source, line, column, language }. `values` are what the layers
 * make effective. NULL when out of memory. Caller frees. */
char *policy_explain(const struct policy *const *layers, size_t layer_count, const char *language,
                     const struct policy_values *values);

/* The policies that are built in; see policies/. The list ends with an entry without a name. */
struct policy_profile {
        const char *name, *what, *text;
};
extern const struct policy_profile policy_profiles[];
/* policy_profiles.c: NULL where there is none of that name. */
const struct policy_profile *policy_profile_find(const char *name);
/* Reads a profile into an empty layer. An unknown name is SBX_EINVAL. */
int policy_load_profile(struct policy *policy, const char *name, struct error *err);
/* A list of { name, what } as JSON. NULL when out of memory. Caller frees. */
char *policy_profiles_json(void);

/* Whether a block for this language makes sense in a policy, be it in this build or not: the names
 * of the languages that policies can speak of. */
bool policy_knows_language(const char *name);

/* What analysis forbids in a language; never NULL for one that policy_knows_language(). */
const struct strlist *policy_rules(const struct policy_values *values, const char *language,
                                   enum policy_rule rule);

const char *policy_backend_name(enum policy_backend backend);
const char *policy_network_name(enum policy_network mode);
/* Refuses rules about the network that cannot hold together, in values that are effective. */
int policy_check_network(const struct policy_values *values, struct error *err);
const char *policy_enforcement_name(enum policy_enforcement enforcement);

#endif
