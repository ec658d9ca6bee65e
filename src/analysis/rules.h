/*
 * Rules: what is worth a finding. Data, one list per language, embedded at build from rules/ and
 * read from further folders at run time by the same reader.
 *
 * A rule names imports, functions and commands, which are compared with what the source really
 * means (aliases resolved, constants folded), or has patterns in a .scm file, which are
 * tree-sitter queries and say `(#set! rule "id")`.
 */
#ifndef ANALYSIS_RULES_H
#define ANALYSIS_RULES_H

#include "base/error.h"

#include <stddef.h>

enum severity {
        SEVERITY_NONE,
        SEVERITY_LOW,
        SEVERITY_MEDIUM,
        SEVERITY_HIGH,
        SEVERITY_CRITICAL,
        SEVERITIES
};
extern const char *const severity_names[SEVERITIES];

/* What a rule or a policy can forbid by name. */
enum rule_list { LIST_IMPORTS, LIST_FUNCTIONS, LIST_COMMANDS, LIST_PATTERNS, RULE_LISTS };

struct rule {
        const char *id;
        enum severity severity;
        const char *sentence;                 /* what the code does: "starts other programs" */
        const char *recommendation;           /* what to do instead */
        const char *const *lists[RULE_LISTS]; /* each ends with NULL; or NULL */
};

/* The rules of one folder or of one file. */
struct rule_set {
        const char *language; /* the folder's name */
        const char *name;     /* for messages: "rules/python/rules" */
        const struct rule *rules;
        size_t count;
        const char *queries; /* text of the .scm file, or NULL */
};

/* Embedded; ends with one without a language. */
extern const struct rule_set rules_builtin[];

enum {
        RULE_FILE_MAX = 256 << 10, /* bytes of a file */
        RULES_MAX = 512,           /* rules in a file */
        RULE_ITEMS_MAX = 1024,     /* names in a list */
        RULE_TEXT_MAX = 1024       /* bytes of a text */
};

/* rules_yaml.c: the rules of a YAML text. Errors carry "name:line:column". The set and all it
 * points to is one owner's: rules_free(). */
struct rules_loaded;
int rules_load_yaml(const char *text, size_t length, const char *name,
                    struct rules_loaded **ret_loaded, struct error *err);
const struct rule *rules_loaded_list(const struct rules_loaded *loaded, size_t *ret_count);
void rules_free(struct rules_loaded *loaded);

#endif
