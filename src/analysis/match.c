/* Facts against the rules in force. */
#include "analysis/analysis.h"
#include "base/str.h"

#include <string.h>

/* Policy's own lists, as rules. */
static const struct rule policy_rules[RULE_LISTS] = {
        [LIST_IMPORTS] = { "policy.import",
                           SEVERITY_HIGH,
                           "the policy forbids this import",
                           "do without it, or have the policy changed",
                           { NULL } },
        [LIST_FUNCTIONS] = { "policy.function",
                             SEVERITY_HIGH,
                             "the policy forbids this function",
                             "do without it, or have the policy changed",
                             { NULL } },
        [LIST_COMMANDS] = { "policy.command",
                            SEVERITY_HIGH,
                            "the policy forbids this command",
                            "do without it, or have the policy changed",
                            { NULL } },
        [LIST_PATTERNS] = { "policy.pattern",
                            SEVERITY_HIGH,
                            "the policy forbids this pattern",
                            "do without it, or have the policy changed",
                            { NULL } },
};

bool match_is_policy(const struct rule *rule)
{
        return rule >= policy_rules && rule < policy_rules + RULE_LISTS;
}

/* Only "*" is special, and stands for anything. */
bool match_glob(const char *glob, const char *text)
{
        const char *star = NULL, *retry = NULL;

        while (*text) {
                if (*glob == '*') {
                        star = ++glob;
                        retry = text;
                } else if (*glob == *text) {
                        glob++;
                        text++;
                } else if (star) {
                        glob = star;
                        text = ++retry;
                } else {
                        return false;
                }
        }
        while (*glob == '*')
                glob++;
        return *glob == '\0';
}

/* Names are written with dots, whatever the language writes. */
static const char *normal_name(struct analysis *analysis, enum rule_list list, const char *name)
{
        struct unit unit = { .grammar = analysis->grammar };

        if (list == LIST_PATTERNS || list == LIST_COMMANDS)
                return name;
        if (list == LIST_IMPORTS)
                name = str_has_prefix(name, "node:") ? name + strlen("node:") : name;
        if (list == LIST_IMPORTS && !analysis->grammar->separators)
                return name;
        return value_name(analysis, &unit, name, strlen(name), false).text;
}

/* Where the last part of a name begins. */
static size_t last_part(const char *name, size_t length)
{
        while (length > 0 && name[length - 1] != '.' && name[length - 1] != '/')
                length--;
        return length;
}

static struct watch_glob **glob_slot(struct analysis *analysis, struct watch *watch,
                                     enum rule_list list, const char *item)
{
        size_t length = strlen(item), last = last_part(item, length);
        size_t first = strcspn(item, "./*");

        if (list == LIST_PATTERNS)
                return &watch->others;
        if (first > 0 && item[first] != '*')
                return (struct watch_glob **)names_put(&analysis->arena, &watch->first, item,
                                                       first);
        if (last < length && !strchr(item + last, '*'))
                return (struct watch_glob **)names_put(&analysis->arena, &watch->last, item + last,
                                                       length - last);
        return &watch->others;
}

static void watch(struct analysis *analysis, enum rule_list list, const char *item,
                  const struct rule *rule)
{
        struct watch *watch = &analysis->watches[list];
        void **slot;

        item = normal_name(analysis, list, item);
        if (strchr(item, '*') || list == LIST_PATTERNS) {
                struct watch_glob **first = glob_slot(analysis, watch, list, item);
                struct watch_glob *glob = arena_alloc(&analysis->arena, sizeof(*glob));

                *glob = (struct watch_glob){ item, rule, *first };
                *first = glob;
                return;
        }
        slot = names_put(&analysis->arena, &watch->exact, item, strlen(item));
        /* The policy's word goes first. */
        if (!*slot || match_is_policy(rule))
                *slot = (void *)(uintptr_t)rule;
}

static void add_rule(struct analysis *analysis, const struct rule *rule)
{
        ARENA_GROW(&analysis->arena, analysis->rules, analysis->rule_count,
                   analysis->rule_capacity);
        analysis->rules[analysis->rule_count++] = rule;
        for (unsigned list = 0; list < RULE_LISTS; list++)
                for (const char *const *item = rule->lists[list]; item && *item; item++)
                        watch(analysis, (enum rule_list)list, *item, rule);
}

static bool is_for(const struct grammar *grammar, const char *folder)
{
        for (const char *const *own = grammar->rule_folders; *own; own++)
                if (strcmp(*own, folder) == 0)
                        return true;
        return false;
}

static void add_sets(struct analysis *analysis, const struct rule_set *sets)
{
        for (; sets && sets->language; sets++) {
                /* Commands are run from every language. */
                bool is_shell = strcmp(sets->language, "shell") == 0;
                bool is_own = is_for(analysis->grammar, sets->language);

                if (!is_own && !is_shell)
                        continue;
                for (size_t i = 0; i < sets->count; i++)
                        add_rule(analysis, &sets->rules[i]);
                if (!sets->queries || !is_own)
                        continue;
                ARENA_GROW(&analysis->arena, analysis->queries, analysis->query_count,
                           analysis->query_capacity);
                ARENA_GROW(&analysis->arena, analysis->query_names, analysis->query_count,
                           analysis->query_name_capacity);
                analysis->queries[analysis->query_count] = sets->queries;
                analysis->query_names[analysis->query_count++] = sets->name;
        }
}

const struct rule *match_rule(const struct analysis *analysis, const char *id)
{
        for (size_t i = 0; i < analysis->rule_count; i++)
                if (strcmp(analysis->rules[i]->id, id) == 0)
                        return analysis->rules[i];
        return NULL;
}

static void check_named(struct analysis *analysis, const char *id)
{
        char shown[80];

        if (match_rule(analysis, id))
                return;
        (void)error_set(analysis->err, SBX_EINVAL, "the policy names '%s': no rule has this id",
                        str_printable(id, shown, sizeof(shown)));
        arena_give_up(&analysis->arena, "a rule is wrong");
}

void match_prepare(struct analysis *analysis, const struct analysis_rules *rules)
{
        for (unsigned list = 0; list < RULE_LISTS; list++)
                for (const char *const *item = rules->lists[list]; item && *item; item++)
                        watch(analysis, (enum rule_list)list, *item, &policy_rules[list]);
        add_sets(analysis, rules->sets);
        add_sets(analysis, rules_builtin);
        for (const char *const *id = rules->named; id && *id; id++)
                check_named(analysis, *id);
}

static const struct rule *find_glob(void **slot, const char *name)
{
        for (const struct watch_glob *glob = slot ? *slot : NULL; glob; glob = glob->next)
                if (match_glob(glob->glob, name))
                        return glob->rule;
        return NULL;
}

static const struct rule *find(const struct analysis *analysis, enum rule_list list,
                               const char *name, size_t length)
{
        const struct watch *watch = &analysis->watches[list];
        void **slot = names_find(&watch->exact, name, length);
        size_t first = strcspn(name, "./"), last = last_part(name, length);
        const struct rule *rule;
        void *others = watch->others;

        if (slot)
                return *slot;
        rule = find_glob(names_find(&watch->first, name, first), name);
        if (!rule)
                rule = find_glob(names_find(&watch->last, name + last, length - last), name);
        return rule ? rule : find_glob(&others, name);
}

/* The module or one that it is part of: "os" forbids "os.path". */
static const struct rule *find_module(const struct analysis *analysis, const char *name,
                                      size_t length)
{
        const struct rule *rule = find(analysis, LIST_IMPORTS, name, length);

        while (!rule && length > 0) {
                while (length > 0 && name[length - 1] != '.' && name[length - 1] != '/')
                        length--;
                if (length > 0)
                        length--;
                if (length > 0) {
                        void **slot =
                                names_find(&analysis->watches[LIST_IMPORTS].exact, name, length);

                        rule = slot ? *slot : NULL;
                }
        }
        return rule;
}

void match_import(struct analysis *analysis, const struct unit *unit, TSNode node,
                  struct value module, const char *member, size_t member_length)
{
        const struct rule *rule;
        struct place place;

        if (analysis->learning || module.kind != VALUE_NAME || module.length == 0)
                return;
        if (strncmp(module.text, "node:", 5) == 0) {
                module.text += 5;
                module.length -= 5;
        }
        place = unit_place(unit, node);
        module.guess |= unit->outer != NULL;
        report_fact(analysis, &analysis->imports, module.text, place, module.guess);
        rule = find_module(analysis, module.text, module.length);
        if (member && !(rule && match_is_policy(rule))) {
                const char *whole = arena_format(&analysis->arena, "%s.%.*s", module.text,
                                                 (int)member_length, member);
                const struct rule *other = find(analysis, LIST_IMPORTS, whole, strlen(whole));

                /* The policy's word goes first. */
                if (other && (!rule || match_is_policy(other))) {
                        rule = other;
                        module.text = whole;
                }
        }
        if (rule)
                report_finding(analysis, rule, LIST_IMPORTS, module.text, place, module.guess);
}

void match_call(struct analysis *analysis, const struct unit *unit, TSNode node,
                struct value function)
{
        const struct rule *rule;
        struct place place;

        if (analysis->learning || function.kind != VALUE_NAME || function.length == 0)
                return;
        place = unit_place(unit, node);
        function.guess |= unit->outer != NULL;
        if (function.text[0] != '?')
                report_fact(analysis, &analysis->calls, function.text, place, function.guess);
        rule = find(analysis, LIST_FUNCTIONS, function.text, function.length);
        if (rule)
                report_finding(analysis, rule, LIST_FUNCTIONS, function.text, place,
                               function.guess);
}

void match_reference(struct analysis *analysis, const struct unit *unit, TSNode node,
                     struct value name)
{
        const struct rule *rule = find(analysis, LIST_FUNCTIONS, name.text, name.length);

        if (rule)
                report_finding(analysis, rule, LIST_FUNCTIONS, name.text, unit_place(unit, node),
                               name.guess || unit->outer);
}

void match_command(struct analysis *analysis, const struct unit *unit, TSNode node,
                   const char *name, size_t length, bool guess)
{
        const struct rule *rule;
        struct place place;

        if (analysis->learning || length == 0)
                return;
        place = unit_place(unit, node);
        guess |= unit->outer != NULL;
        report_fact(analysis, &analysis->commands, name, place, guess);
        rule = find(analysis, LIST_COMMANDS, name, length);
        if (rule)
                report_finding(analysis, rule, LIST_COMMANDS, name, place, guess);
}
