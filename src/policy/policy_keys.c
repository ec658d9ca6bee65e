#include "policy/policy_keys.h"
#include "base/str.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const backend_names[] = {
        "auto", "container", "local", "docker", "wasm", "none"
};
static const char *const enforcement_names[] = { "strict", "best-effort" };
static const char *const network_names[] = { "none", "localhost", "dns", "allowlist", "host" };
static const char *const analysis_names[] = { "off", "warn", "block" };
static const char *const records_names[] = { "on", "off" };
static const char *const store_names[] = { "never", "on_error", "always" };

const char *const policy_rule_lists[POLICY_RULE_LISTS] = {
        "forbidden_imports", "forbidden_functions", "forbidden_patterns", "forbidden_commands",
        "forbidden_rules"
};

#define AT(member) offsetof(struct policy_values, member)
#define RULES(index, language)                                                                     \
        {                                                                                          \
                "analysis." language, KIND_RULES, FIELD_RULES, AT(rules[index]), 0, 0, 0, NULL,    \
                        false, TIGHTEN_RULES, "what static analysis forbids in " language          \
        }

#define WARNING(limit, field, member)                                                              \
        {                                                                                          \
                "monitoring.warn_" limit, KIND_COUNT, field, AT(member), 90, 0, 100, NULL, true,   \
                        TIGHTEN_FREE,                                                              \
                        "percent of the limit of " limit " at which a warning is told; 0: never"   \
        }

const struct policy_key policy_keys[] = {
        { "version", KIND_VERSION, FIELD_COUNT, 0, 1, 1, 1, NULL, false, TIGHTEN_FREE,
          "version of this format" },
        { "backend", KIND_BACKENDS, FIELD_BACKEND, AT(backends), BACKEND_AUTO, BACKEND_AUTO,
          BACKEND_WASM, backend_names, false, TIGHTEN_BACKENDS,
          "what contains the program, or a list in order of preference" },
        { "fallback", KIND_CHOICE, FIELD_FALLBACK, AT(fallback), BACKEND_NONE, BACKEND_CONTAINER,
          BACKEND_NONE, backend_names, false, TIGHTEN_FALLBACK,
          "backend where the wanted one is not available" },
        { "enforcement", KIND_CHOICE, FIELD_ENFORCEMENT, AT(enforcement), ENFORCEMENT_STRICT,
          ENFORCEMENT_STRICT, ENFORCEMENT_BEST_EFFORT, enforcement_names, false, TIGHTEN_SMALLER,
          "whether a protection that cannot be had is a refusal" },
        { "sealed", KIND_BOOLEAN, FIELD_SEALED, AT(sealed), false, 0, 1, NULL, false,
          TIGHTEN_LARGER, "whether later layers can only tighten" },
#define X(member, name, unit, def, low, high, sentence)                                            \
        { "limits." name, KIND_##unit, FIELD_##member, AT(limits.member), def,     low,            \
          high,           NULL,        true,           TIGHTEN_SMALLER,   sentence },
#include "policy/limits.def"
#undef X
        { "network.mode", KIND_CHOICE, FIELD_NETWORK_MODE, AT(network_mode), NETWORK_NONE,
          NETWORK_NONE, NETWORK_HOST, network_names, true, TIGHTEN_SMALLER,
          "what the program can reach" },
        { "network.dns", KIND_BOOLEAN, FIELD_NETWORK_DNS, AT(network_dns), false, 0, 1, NULL, true,
          TIGHTEN_DNS, "whether names resolve" },
        { "network.allow", KIND_ALLOW, FIELD_NETWORK_ALLOW, AT(network_allow), 0, 0, 0, NULL, true,
          TIGHTEN_ALLOW,
          "destinations of mode allowlist: name, *.name, address or CIDR, with an optional port" },
        { "network.deny", KIND_DENY, FIELD_NETWORK_DENY, AT(network_deny), 0, 0, 0, NULL, true,
          TIGHTEN_DENY, "destinations that are refused even where they are allowed" },
        { "network.connections", KIND_COUNT, FIELD_NETWORK_CONNECTIONS, AT(network_connections),
          128, 1, 4096, NULL, true, TIGHTEN_SMALLER, "TCP connections at once in mode allowlist" },
        { "network.bytes", KIND_SIZE, FIELD_NETWORK_BYTES, AT(network_bytes), UINT64_C(1) << 42, 1,
          UINT64_C(1) << 42, NULL, true, TIGHTEN_SMALLER,
          "bytes in and out together in mode allowlist" },
        { "network.rate", KIND_SIZE, FIELD_NETWORK_RATE, AT(network_rate), UINT64_C(1) << 42, 1024,
          UINT64_C(1) << 42, NULL, true, TIGHTEN_SMALLER,
          "bytes a second in and out together in mode allowlist" },
        { "filesystem.workspace", KIND_PATH, FIELD_WORKSPACE, AT(workspace), 0, 0, 0, NULL, true,
          TIGHTEN_PATH, "folder that is kept between runs; null: a fresh one in memory" },
        { "filesystem.mounts", KIND_MOUNTS, FIELD_MOUNTS, AT(mounts), 0, 0, 0, NULL, true,
          TIGHTEN_MOUNTS, "folders and files of the host shown to the program" },
        { "env", KIND_ENV, FIELD_ENV, AT(env), 0, 0, 0, NULL, true, TIGHTEN_ENV,
          "environment of the program" },
        { "preload", KIND_MODULES, FIELD_PRELOAD, AT(preload), 0, 0, 0, NULL, true, TIGHTEN_MODULES,
          "modules that a parked interpreter has loaded before the program starts" },
        { "analysis.mode", KIND_CHOICE, FIELD_ANALYSIS_MODE, AT(analysis_mode), ANALYSIS_WARN,
          ANALYSIS_OFF, ANALYSIS_BLOCK, analysis_names, false, TIGHTEN_LARGER,
          "static analysis before the run" },
        { "analysis.rules", KIND_FOLDERS, FIELD_RULE_FOLDERS, AT(rule_folders), 0, 0, 0, NULL,
          false, TIGHTEN_FOLDERS,
          "folders of further rules: LANGUAGE/NAME.yaml, with a NAME.scm where it has queries" },
        RULES(0, "python"),
        RULES(1, "javascript"),
        RULES(2, "shell"),
        RULES(3, "typescript"),
        RULES(4, "c"),
        RULES(5, "cpp"),
        RULES(6, "go"),
        RULES(7, "rust"),
        RULES(8, "java"),
        { "records.store_code", KIND_CHOICE, FIELD_STORE_CODE, AT(store_code), STORE_ON_ERROR,
          STORE_NEVER, STORE_ALWAYS, store_names, false, TIGHTEN_FIXED,
          "when the record of a run keeps its code" },
        { "records.mode", KIND_CHOICE, FIELD_RECORDS_MODE, AT(records_mode), RECORDS_ON, RECORDS_ON,
          RECORDS_OFF, records_names, false, TIGHTEN_FIXED, "whether runs are recorded" },
        { "monitoring.interval", KIND_DURATION, FIELD_INTERVAL, AT(interval_ms), 100, 10, 3600000,
          NULL, true, TIGHTEN_FREE, "time between two samples of what a run uses" },
        WARNING("timeout", FIELD_WARN_TIMEOUT, warn_timeout),
        WARNING("cpu_time", FIELD_WARN_CPU_TIME, warn_cpu_time),
        WARNING("memory", FIELD_WARN_MEMORY, warn_memory),
        WARNING("processes", FIELD_WARN_PROCESSES, warn_processes),
        WARNING("disk", FIELD_WARN_DISK, warn_disk),
        { "languages", KIND_LANGUAGES, FIELD_COUNT, 0, 0, 0, 0, NULL, false, TIGHTEN_FREE,
          "what differs for single languages" },
};
const size_t policy_key_count = ARRAY_SIZE(policy_keys);

_Static_assert(ARRAY_SIZE(policy_keys) <= 64, "a set of keys must fit a word");
_Static_assert(FIELD_COUNT <= 64, "the mask of given fields must fit a word");

const struct policy_key *policy_key_find(const char *dotted)
{
        for (size_t i = 0; i < policy_key_count; i++)
                if (strcmp(policy_keys[i].key, dotted) == 0)
                        return &policy_keys[i];
        return NULL;
}

size_t policy_key_word(const struct policy_key *key, const char *prefix, bool *ret_leaf)
{
        const char *word;
        size_t length;

        if (!str_has_prefix(key->key, prefix))
                return 0;
        word = key->key + strlen(prefix);
        length = strcspn(word, ".");
        *ret_leaf = word[length] == '\0';
        return length;
}

enum { WORD_MAX = 40 }; /* longer than any key, so that a long word is no misspelling of one */

static int least(int a, int b)
{
        return a < b ? a : b;
}

/* The number of letters changed, left out, added or exchanged with their neighbour. */
static int edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
        int rows[WORD_MAX + 1][WORD_MAX + 1];

        for (size_t i = 0; i <= a_length; i++)
                rows[i][0] = (int)i;
        for (size_t j = 0; j <= b_length; j++)
                rows[0][j] = (int)j;
        for (size_t i = 1; i <= a_length; i++) {
                for (size_t j = 1; j <= b_length; j++) {
                        int changed = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

                        rows[i][j] = least(changed, 1 + least(rows[i - 1][j], rows[i][j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                rows[i][j] = least(rows[i][j], rows[i - 2][j - 2] + 1);
                }
        }
        return rows[a_length][b_length];
}

int policy_distance(const char *wrong, const char *right, size_t right_length)
{
        size_t length = strnlen(wrong, WORD_MAX + 1);
        int distance;

        if (length == 0 || length > WORD_MAX || right_length > WORD_MAX)
                return -1;
        distance = edit_distance(wrong, length, right, right_length);
        /* A third of the word wrong is another word, not a slip. */
        return distance <= 2 && (size_t)distance * 3 <= right_length + 1 ? distance : -1;
}

/* What a search for the nearest word has found so far, and the list of all words seen. */
struct nearest {
        const char *wrong;
        const char *word;
        size_t length;
        int distance;
        char known[256];
        size_t used;
};

static void nearest_offer(struct nearest *best, const char *word, size_t length)
{
        int distance = policy_distance(best->wrong, word, length);
        size_t left = sizeof(best->known) - best->used;

        if (distance >= 0 && (!best->word || distance < best->distance)) {
                best->word = word;
                best->length = length;
                best->distance = distance;
        }
        if (length + 3 < left)
                best->used += (size_t)snprintf(best->known + best->used, left, "%s%.*s",
                                               best->used ? ", " : "", (int)length, word);
}

static void nearest_hint(struct error *err, const struct nearest *best)
{
        if (best->word)
                error_hint(err, "did you mean '%.*s'?", (int)best->length, best->word);
        else
                error_hint(err, "known here: %s", best->known);
}

void policy_hint_word(struct error *err, const char *wrong, const char *prefix, bool per_language)
{
        struct nearest best = { .wrong = wrong };
        const char *last = "";
        size_t last_length = 0;

        for (size_t i = 0; i < policy_key_count; i++) {
                bool is_leaf;
                size_t length = policy_key_word(&policy_keys[i], prefix, &is_leaf);
                const char *word = policy_keys[i].key + strlen(prefix);

                if (!length || (per_language && !policy_keys[i].per_language))
                        continue;
                /* The keys of one mapping stand together, so each word is offered once. */
                if (length == last_length && memcmp(word, last, length) == 0)
                        continue;
                nearest_offer(&best, word, length);
                last = word;
                last_length = length;
        }
        nearest_hint(err, &best);
}

void policy_hint_names(struct error *err, const char *wrong, const char *const *names, size_t count)
{
        struct nearest best = { .wrong = wrong };

        for (size_t i = 0; i < count; i++)
                nearest_offer(&best, names[i], strlen(names[i]));
        nearest_hint(err, &best);
}

const char *policy_backend_name(enum policy_backend backend)
{
        assert(backend <= BACKEND_NONE);
        return backend_names[backend];
}

const char *policy_network_name(enum policy_network mode)
{
        assert(mode <= NETWORK_HOST);
        return network_names[mode];
}

const char *policy_enforcement_name(enum policy_enforcement enforcement)
{
        assert(enforcement <= ENFORCEMENT_BEST_EFFORT);
        return enforcement_names[enforcement];
}

/* The key of a language's analysis block, or NULL. */
static const struct policy_key *find_rules(const char *language)
{
        size_t prefix = strlen("analysis.");

        for (size_t i = 0; i < policy_key_count; i++)
                if (policy_keys[i].kind == KIND_RULES &&
                    strcasecmp(policy_keys[i].key + prefix, language) == 0)
                        return &policy_keys[i];
        return NULL;
}

bool policy_knows_language(const char *name)
{
        return find_rules(name) != NULL;
}

const struct strlist *policy_rules(const struct policy_values *values, const char *language,
                                   enum policy_rule rule)
{
        const struct policy_key *key = find_rules(language);

        return key ? &policy_lists_of_const(values, key)[rule].items : NULL;
}
