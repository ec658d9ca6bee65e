/*
 * The keys of a policy, once: reader, setter, merge, `policy show` and the schema walk one table.
 *
 * Private to the policy module. The order of the table is the order in which a policy is shown. A
 * key is written with dots ("limits.timeout"); what stands before a dot is a mapping in the file.
 */
#ifndef POLICY_POLICY_KEYS_H
#define POLICY_POLICY_KEYS_H

#include "base/units.h"
#include "policy/policy.h"

enum policy_kind {
        KIND_VERSION,     /* 1, and nothing else */
        KIND_DURATION,    /* uint64_t, milliseconds */
        KIND_SIZE,        /* uint64_t, bytes */
        KIND_COUNT,       /* uint64_t */
        KIND_THOUSANDTHS, /* uint64_t, thousandths */
        KIND_CHOICE,      /* an enum, by one of `names` */
        KIND_BOOLEAN,     /* bool */
        KIND_BACKENDS,    /* a choice or a list of them */
        KIND_PATH,        /* char *, may be null */
        KIND_ALLOW,       /* list of network destinations */
        KIND_MODULES,     /* list of names of modules */
        KIND_FOLDERS,     /* list of paths */
        KIND_DENY,        /* another one, which only grows */
        KIND_MOUNTS,      /* list of mappings */
        KIND_ENV,         /* mapping of names to values */
        KIND_RULES,       /* lists of analysis rules for one language */
        KIND_LANGUAGES,   /* mapping of language names to blocks like the general one */
        KINDS
};

/* What "tighter" means for a key. policy_seal.c has a function for each. */
enum policy_tighten {
        TIGHTEN_FREE,     /* says nothing about what is allowed */
        TIGHTEN_SMALLER,  /* a number, or a choice whose names go from narrow to wide */
        TIGHTEN_LARGER,   /* a choice whose names go from wide to narrow; true instead of false */
        TIGHTEN_FIXED,    /* cannot be changed */
        TIGHTEN_BACKENDS, /* some of those allowed */
        TIGHTEN_FALLBACK, /* the same or none */
        TIGHTEN_DNS,      /* not where it was not */
        TIGHTEN_ALLOW,    /* some of those allowed */
        TIGHTEN_MODULES,  /* some of those named */
        TIGHTEN_DENY,     /* all of those denied, and more */
        TIGHTEN_PATH,     /* the same or none */
        TIGHTEN_MOUNTS,   /* some of those allowed, read-only instead of writable */
        TIGHTEN_ENV,      /* no variable is added or changed */
        TIGHTEN_RULES,    /* more of them */
        TIGHTEN_FOLDERS,  /* the same for one list */
        TIGHTENS
};
extern const char *const policy_tighten_words[TIGHTENS]; /* for a person */

enum {
        POLICY_FILE_MAX = 1 << 20,    /* bytes of a policy file */
        POLICY_DEPTH_MAX = 32,        /* nesting of a policy file */
        POLICY_KEY_MAX = 1024,        /* bytes of a key in a file */
        POLICY_ENV_NAME_MAX = 255,    /* bytes of a variable's name */
        POLICY_PATH_MAX = 4095,       /* bytes of a path: the kernel's own maximum */
        POLICY_ENV_MAX = 12000,       /* variables */
        POLICY_ALLOW_MAX = 1024,      /* network destinations */
        POLICY_PRELOAD_MAX = 64,      /* modules */
        POLICY_LANGUAGES_MAX = 64,    /* blocks for single languages */
        POLICY_FOLDERS_MAX = 16,      /* folders of analysis rules */
        POLICY_RULES_MAX = 1024,      /* analysis rules in one list */
        POLICY_RULE_LENGTH_MAX = 1024 /* bytes of one of them */
};

struct policy_key {
        const char *key;
        enum policy_kind kind;
        enum policy_field field;     /* FIELD_COUNT: nothing is kept */
        size_t offset;               /* of the value in struct policy_values */
        uint64_t initial;            /* default of numbers, choices and booleans */
        uint64_t min, max;           /* of numbers; of choices, the first and last index allowed */
        const char *const *names;    /* of choices, by the value of the enum */
        bool per_language;           /* allowed in a block for one language */
        enum policy_tighten tighten; /* how a layer above a sealed one may change it */
        const char *what;            /* a sentence for a person */
};

extern const struct policy_key policy_keys[];
extern const size_t policy_key_count; /* at most 64, so that a set of keys fits a word */

/* The lists of an analysis block. */
extern const char *const policy_rule_lists[POLICY_RULE_LISTS];

static inline uint64_t policy_field_bit(enum policy_field field)
{
        return field < FIELD_COUNT ? UINT64_C(1) << field : 0;
}

static inline bool policy_gives(const struct policy_values *values, enum policy_field field)
{
        return (values->given & policy_field_bit(field)) != 0;
}

/* Where the key's value lies. */
static inline void *policy_slot(struct policy_values *values, const struct policy_key *key)
{
        return (char *)values + key->offset;
}

static inline const void *policy_slot_const(const struct policy_values *values,
                                            const struct policy_key *key)
{
        return (const char *)values + key->offset;
}

/* The lists of an analysis block: POLICY_RULE_LISTS of them. */
static inline struct policy_list *policy_lists_of(struct policy_values *values,
                                                  const struct policy_key *key)
{
        return policy_slot(values, key);
}

static inline const struct policy_list *policy_lists_of_const(const struct policy_values *values,
                                                              const struct policy_key *key)
{
        return policy_slot_const(values, key);
}

/* By the dotted name; NULL when unknown. */
const struct policy_key *policy_key_find(const char *dotted);
/* The length of the word of `key` that follows `prefix` ("" or "limits."), or 0 where the key does
 * not lie beneath it. `*ret_leaf` tells whether the key ends there. */
size_t policy_key_word(const struct policy_key *key, const char *prefix, bool *ret_leaf);

/* Whether `wrong` is a likely misspelling of `right`; smaller is nearer, negative is not. */
int policy_distance(const char *wrong, const char *right, size_t right_length);
/* Puts "did you mean 'x'?" or the list of what is known into the hint. */
void policy_hint_word(struct error *err, const char *wrong, const char *prefix, bool per_language);
void policy_hint_names(struct error *err, const char *wrong, const char *const *names,
                       size_t count);

/* policy_set.c: sets a value of a kind that one text can say. Messages do not name the key. */
int policy_key_set(struct policy_values *values, const struct policy_key *key, const char *text,
                   struct error *err);
int policy_add_backend(struct policy_values *values, const char *name, struct error *err);
/* A number of this kind for a person: "30s", "512 MiB". Returns `buffer`. */
const char *policy_format_number(enum policy_kind kind, uint64_t value,
                                 char buffer[UNITS_TEXT_MAX]);

/* policy.c: the block for a language, without regard to case, or NULL; a new one, or NULL when out
 * of memory; one whole layer over another. */
struct policy_language *policy_language_find(const struct policy *policy, const char *name);
struct policy_language *policy_language_add(struct policy *policy, const char *name);
int policy_merge_all(struct policy *base, const struct policy *over, struct error *err);

/* policy_seal.c: whether `wanted` is nowhere wider than `ceiling`; both are effective and settled.
 * Messages name the key, what was wanted and the ceiling. */
int policy_check_tighter(const struct policy_values *ceiling, const struct policy_values *wanted,
                         const struct policy_key **ret_key, struct error *err);

/* policy_env.c: the variable that sets the key, or NULL. */
const char *policy_env_variable(const char *key);

/* policy_check.c */
int policy_add_allow(struct policy_values *values, const char *destination, struct error *err);
int policy_add_deny(struct policy_values *values, const char *destination, struct error *err);
int policy_check_path(const char *path, struct error *err);
/* The index of the variable in the list, or its count. */
size_t policy_env_find(const struct strlist *env, const char *name, size_t length);
/* The mount at this (normal) target, or NULL. */
struct policy_mount *policy_mount_find(const struct policy_values *values, const char *target);

#endif
