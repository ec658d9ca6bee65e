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

bool match_is_built_in(const struct rule *rule)
{
        for (const struct rule_set *set = rules_builtin; set->language; set++)
                if (rule >= set->rules && rule < set->rules + set->count)
                        return true;
        return false;
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

/* The list of the entries that share the part of a name by which this one is found. */
static struct watch_item **item_slot(struct analysis *analysis, struct watch *watch,
                                     enum rule_list list, const char *item)
{
        size_t length = strlen(item), last = last_part(item, length);
        size_t first = strcspn(item, "./*");

        if (list == LIST_PATTERNS)
                return &watch->others;
        if (!strchr(item, '*'))
                return (struct watch_item **)names_put(&analysis->arena, &watch->exact, item,
                                                       length);
        if (first > 0 && item[first] != '*')
                return (struct watch_item **)names_put(&analysis->arena, &watch->first, item,
                                                       first);
        if (last < length && !strchr(item + last, '*'))
                return (struct watch_item **)names_put(&analysis->arena, &watch->last, item + last,
                                                       length - last);
        return &watch->others;
}

/* Goes to the end of its list: of the built-in ones, the first counts. */
static void watch(struct analysis *analysis, enum rule_list list, const char *item,
                  const struct rule *rule, bool is_asked_for)
{
        struct watch_item *entry = arena_alloc(&analysis->arena, sizeof(*entry));
        struct watch_item **end;

        item = normal_name(analysis, list, item);
        end = item_slot(analysis, &analysis->watches[list], list, item);
        while (*end)
                end = &(*end)->next;
        *entry = (struct watch_item){ item, rule, is_asked_for, NULL };
        *end = entry;
}

static void add_rule(struct analysis *analysis, const struct rule *rule, bool is_asked_for)
{
        ARENA_GROW(&analysis->arena, analysis->rules, analysis->rule_count,
                   analysis->rule_capacity);
        analysis->rules[analysis->rule_count++] = rule;
        for (unsigned list = 0; list < RULE_LISTS; list++)
                for (const char *const *item = rule->lists[list]; item && *item; item++)
                        watch(analysis, (enum rule_list)list, *item, rule, is_asked_for);
}

static bool is_for(const struct grammar *grammar, const char *folder)
{
        for (const char *const *own = grammar->rule_folders; *own; own++)
                if (strcmp(*own, folder) == 0)
                        return true;
        return false;
}

bool match_is_named(const struct analysis *analysis, const struct rule *rule)
{
        for (const char *const *id = analysis->named; id && *id; id++)
                if (strcmp(*id, rule->id) == 0)
                        return true;
        return false;
}

static void add_sets(struct analysis *analysis, const struct rule_set *sets)
{
        bool is_built_in = sets == rules_builtin;

        for (; sets && sets->language; sets++) {
                /* Commands are run from every language. */
                bool is_shell = strcmp(sets->language, "shell") == 0;
                bool is_own = is_for(analysis->grammar, sets->language);

                if (!is_own && !is_shell)
                        continue;
                for (size_t i = 0; i < sets->count; i++)
                        add_rule(analysis, &sets->rules[i],
                                 !is_built_in || match_is_named(analysis, &sets->rules[i]));
                if (!sets->queries || !is_own)
                        continue;
                ARENA_GROW(&analysis->arena, analysis->queries, analysis->query_count,
                           analysis->query_capacity);
                analysis->queries[analysis->query_count++] = (struct query_text){
                        .text = sets->queries, .name = sets->name, .is_built_in = is_built_in
                };
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
        analysis->named = rules->named;
        for (unsigned list = 0; list < RULE_LISTS; list++)
                for (const char *const *item = rules->lists[list]; item && *item; item++)
                        watch(analysis, (enum rule_list)list, *item, &policy_rules[list], true);
        add_sets(analysis, rules->sets);
        add_sets(analysis, rules_builtin);
        for (const char *const *id = rules->named; id && *id; id++)
                check_named(analysis, *id);
}

enum { ASKED_MAX = 16 }; /* rules that somebody asked for and that forbid one name */

/* The rules that forbid a name. All that the caller asked for count, whatever the built-in ones
 * know of the name; of those, one says enough. */
struct matches {
        const struct rule *asked[ASKED_MAX]; /* the policy's is the first */
        unsigned count;
        const struct rule *built_in; /* or NULL */
};

static void add_match(struct matches *matches, const struct watch_item *item)
{
        if (!item->is_asked_for) {
                matches->built_in = matches->built_in ? matches->built_in : item->rule;
                return;
        }
        for (unsigned i = 0; i < matches->count; i++)
                if (matches->asked[i] == item->rule)
                        return;
        if (matches->count < ASKED_MAX)
                matches->asked[matches->count++] = item->rule;
        if (match_is_policy(item->rule)) {
                const struct rule *first = matches->asked[0];

                matches->asked[0] = item->rule;
                matches->asked[matches->count - 1] = first;
        }
}

static void add_globs(struct matches *matches, void **slot, const char *name)
{
        for (const struct watch_item *item = slot ? *slot : NULL; item; item = item->next)
                if (match_glob(item->text, name))
                        add_match(matches, item);
}

static void find(const struct analysis *analysis, enum rule_list list, const char *name,
                 size_t length, struct matches *matches)
{
        const struct watch *watch = &analysis->watches[list];
        size_t first = strcspn(name, "./"), last = last_part(name, length);
        void **slot = names_find(&watch->exact, name, length);
        void *others = watch->others;

        for (const struct watch_item *item = slot ? *slot : NULL; item; item = item->next)
                add_match(matches, item);
        add_globs(matches, names_find(&watch->first, name, first), name);
        add_globs(matches, names_find(&watch->last, name + last, length - last), name);
        add_globs(matches, &others, name);
}

/* The module and those that it is part of: "os" forbids "os.path". */
static void find_module(struct analysis *analysis, const char *name, size_t length,
                        struct matches *matches)
{
        find(analysis, LIST_IMPORTS, name, length, matches);
        while ((length = last_part(name, length)) > 0) {
                length--;
                if (length > 0)
                        find(analysis, LIST_IMPORTS, arena_strndup(&analysis->arena, name, length),
                             length, matches);
        }
}

static bool has_policy(const struct matches *matches)
{
        return matches->count > 0 && match_is_policy(matches->asked[0]);
}

/* Where the policy has its say, what the built-in rules know adds nothing. */
static void report_matches(struct analysis *analysis, const struct matches *matches,
                           enum rule_list list, const char *what, struct place place, bool guess)
{
        for (unsigned i = 0; i < matches->count; i++)
                report_finding(analysis, matches->asked[i], list, what, place, guess);
        if (matches->built_in && !has_policy(matches))
                report_finding(analysis, matches->built_in, list, what, place, guess);
}

void match_import(struct analysis *analysis, const struct unit *unit, TSNode node,
                  struct value module, const char *member, size_t member_length)
{
        struct matches matches = { 0 };
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
        find_module(analysis, module.text, module.length, &matches);
        if (member && !has_policy(&matches)) {
                const char *whole = arena_format(&analysis->arena, "%s.%.*s", module.text,
                                                 (int)member_length, member);
                const struct rule *built_in = matches.built_in;
                unsigned asked = matches.count;

                find(analysis, LIST_IMPORTS, whole, strlen(whole), &matches);
                if (matches.count > asked || matches.built_in != built_in)
                        module.text = whole;
        }
        report_matches(analysis, &matches, LIST_IMPORTS, module.text, place, module.guess);
}

/* Where in the name one of a module begins that others hold, or 0. */
static size_t find_held(const struct grammar *grammar, const char *name)
{
        const char *dot = grammar->held ? strchr(name, '.') : NULL;

        for (; dot && name[0] != '?'; dot = strchr(dot + 1, '.')) {
                size_t length = strcspn(dot + 1, ".");

                for (const char *const *held = grammar->held; *held; held++)
                        if (strncmp(*held, dot + 1, length) == 0 && (*held)[length] == '\0')
                                return (size_t)(dot + 1 - name);
        }
        return 0;
}

static enum known find_known(const struct grammar *grammar, const char *name)
{
        for (const struct grammar_known *known = grammar->known; known && known->name; known++)
                if (match_glob(known->name, name))
                        return known->known;
        return KNOWN_NOTHING;
}

/* A copy for as long as the analysis, or NULL where there are none. */
static const struct matches *kept(struct analysis *analysis, const struct matches *matches)
{
        struct matches *copy;

        if (matches->count == 0 && !matches->built_in)
                return NULL;
        copy = arena_alloc(&analysis->arena, sizeof(*copy));
        *copy = *matches;
        return copy;
}

const struct verdict *match_verdict(struct analysis *analysis, const struct unit *unit,
                                    struct value name)
{
        void **slot = names_put(&analysis->arena, unit->verdicts, name.text, name.length);
        const struct grammar *grammar = unit->grammar;
        struct matches functions = { 0 }, modules = { 0 };
        struct verdict *verdict = *slot;
        const char *text;

        if (verdict)
                return verdict;
        verdict = arena_alloc(&analysis->arena, sizeof(*verdict));
        verdict->known = find_known(grammar, name.text);
        verdict->held = find_held(grammar, name.text);
        text = name.text + verdict->held;
        find(analysis, LIST_FUNCTIONS, text, name.length - verdict->held, &functions);
        /* Languages in which a full name needs no import: what the policy forbids to import is
         * forbidden to use. */
        if ((verdict->held || grammar->has_full_names) && text[0] != '?' &&
            (!grammar->has_full_names || strchr(text, '.')))
                find_module(analysis, text, name.length - verdict->held, &modules);
        modules.built_in = NULL;
        verdict->functions = kept(analysis, &functions);
        verdict->modules = kept(analysis, &modules);
        *slot = verdict;
        return verdict;
}

void match_computed_import(struct analysis *analysis, const struct unit *unit, TSNode node)
{
        static const char what[] = "import of a computed name";
        struct matches matches = { 0 };

        if (analysis->learning)
                return;
        find(analysis, LIST_FUNCTIONS, what, strlen(what), &matches);
        report_matches(analysis, &matches, LIST_FUNCTIONS, what, unit_place(unit, node), true);
}

bool match_is_harmless(struct analysis *analysis, const struct unit *unit, struct value name)
{
        const struct verdict *verdict = match_verdict(analysis, unit, name);

        return verdict->known == KNOWN_NOTHING && !verdict->functions && !verdict->modules;
}

/* Says what the rules have against a name. */
static void report_verdict(struct analysis *analysis, const struct verdict *verdict,
                           struct value name, struct place place)
{
        bool guess = name.guess || verdict->held > 0;
        const char *text = name.text + verdict->held;

        if (verdict->modules)
                report_matches(analysis, verdict->modules, LIST_IMPORTS, text, place, guess);
        if (verdict->functions)
                report_matches(analysis, verdict->functions, LIST_FUNCTIONS, text, place, guess);
}

void match_call(struct analysis *analysis, const struct unit *unit, TSNode node,
                struct value function)
{
        const struct verdict *verdict;
        struct place place;

        if (analysis->learning || function.kind != VALUE_NAME || function.length == 0)
                return;
        place = unit_place(unit, node);
        function.guess |= unit->outer != NULL;
        if (function.text[0] != '?' && function.text[0] != '#')
                report_fact(analysis, &analysis->calls, function.text, place, function.guess);
        verdict = match_verdict(analysis, unit, function);
        if (verdict->functions || verdict->modules)
                report_verdict(analysis, verdict, function, place);
}

void match_reference(struct analysis *analysis, const struct unit *unit, TSNode node,
                     struct value name)
{
        const struct verdict *verdict = match_verdict(analysis, unit, name);

        if (!verdict->functions && !verdict->modules)
                return;
        name.guess |= unit->outer != NULL;
        report_verdict(analysis, verdict, name, unit_place(unit, node));
}

void match_command(struct analysis *analysis, const struct unit *unit, TSNode node,
                   const char *name, size_t length, bool guess)
{
        struct matches matches = { 0 };
        struct place place;

        if (analysis->learning || length == 0)
                return;
        place = unit_place(unit, node);
        guess |= unit->outer != NULL;
        report_fact(analysis, &analysis->commands, name, place, guess);
        find(analysis, LIST_COMMANDS, name, length, &matches);
        report_matches(analysis, &matches, LIST_COMMANDS, name, place, guess);
}
