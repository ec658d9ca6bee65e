/*
 * One analysis: source in, report out. Runs in sandbox-analyze (main.c has the theory of
 * operation), and in the fuzz targets.
 *
 * The way: the source is parsed (unit.c), walked once to learn names and once more to find facts
 * (walk.c): imports, calls, references, commands. A name means what it was bound to (scope.c),
 * an expression is folded where it is constant (value.c). Each fact is compared with the rules in
 * force (match.c), and becomes a finding (report.c). Patterns are compared with the tokens
 * (tokens.c) and queries with the tree (query.c; the built-in ones by plain.c). Text that is code
 * again, as the argument of eval or of `sh -c`, is a unit of its own within.
 */
#ifndef ANALYSIS_ANALYSIS_H
#define ANALYSIS_ANALYSIS_H

#include "analysis/arena.h"
#include "analysis/grammar.h"
#include "analysis/names.h"
#include "analysis/order.h"
#include "analysis/rules.h"

#include <jansson.h>

enum {
        SOURCE_MAX = ANALYZE_SOURCE_MAX, /* bytes that are analysed; more is skipped */
        STEPS_MAX = 64 << 20,            /* nodes looked at, in all */
        FINDINGS_MAX = 500,              /* that are reported; more are counted */
        LIGHT_FINDINGS_MAX = 400,        /* of those, at which only grave ones still get in */
        FACTS_MAX = 1000,                /* imports, calls and commands that are listed, each */
        ERRORS_MAX = 50,                 /* syntax errors that are listed */
        UNITS_MAX = 100,                 /* texts within that are parsed again, in all */
        UNIT_DEPTH_MAX = 3,              /* of them within each other */
        UNIT_BYTES_MAX = 256 << 10,      /* of each */
        VALUE_DEPTH_MAX = 40,            /* expressions within each other that are folded */
        VALUE_BYTES_MAX = 64 << 10,      /* of a folded text */
        ALTERNATIVES_MAX = 8,            /* meanings of one name */
        LINE_SHOWN_MAX = 200,            /* bytes of a source line in a finding */
        NAME_SHOWN_MAX = 200,            /* bytes of a name in a finding */
};

/* What an expression is known to be. */
enum value_kind {
        VALUE_UNKNOWN,
        VALUE_LOCAL, /* something of the program's own */
        VALUE_NAME,  /* what the dotted name means: "os.system" */
        VALUE_TEXT   /* a constant */
};

struct value {
        enum value_kind kind;
        bool guess;       /* folded or one of several meanings: likely, not certain */
        const char *text; /* NUL-terminated after length, in the arena */
        size_t length;
};

/* A piece of source and how it is read: the file itself, or text within that is code again. */
/* A node that a walk stops at. */
struct visit {
        TSNode node;
        uint32_t end; /* the number of the first visit after all that lie within */
        TSFieldId field;
        uint8_t role : 7;  /* its own */
        bool is_wrong : 1; /* an error of syntax */
        uint8_t around;    /* its parent's role */
};

enum { NAMED_FIELDS_MAX = 32 };

/* Fields of a grammar that were asked for by their names, which are constants. */
struct named_fields {
        const char *names[NAMED_FIELDS_MAX];
        TSFieldId ids[NAMED_FIELDS_MAX];
        unsigned count;
};

struct unit {
        const struct grammar *grammar;
        const char *text;
        uint32_t length;
        TSTree *tree; /* owned by the analysis' list */
        uint32_t symbol_count;
        const uint8_t *roles;                   /* by symbol */
        const uint8_t *naming;                  /* by field: what it names is not used there */
        const TSFieldId (*fields)[ROLE_FIELDS]; /* by symbol */
        struct named_fields *named;
        struct names *verdicts;   /* to struct verdict: of the names of this language */
        const struct unit *outer; /* or NULL */
        TSNode place;             /* in it; counts for what is found here */
        bool is_verbatim;         /* the text is the place's own: lines and columns are real */
        unsigned depth;
        const struct visit *visits;
        size_t visit_count;
        const TSNode *roots; /* nodes at which a plain pattern may begin */
        size_t root_count;
};

/* Where something was found, in the file itself. */
struct place {
        TSPoint start, end;
        uint32_t byte;
};

struct finding {
        const struct rule *rule;
        enum rule_list list; /* RULE_LISTS: a query */
        const char *what;    /* the import, function, command or pattern, as resolved */
        struct place place;
        bool guess;
        bool policy; /* of the policy's own lists */
        bool own;    /* of a rule that is not built in */
};

/* Names that the lists of rules forbid. Those with a "*" are found by their first part or, where
 * that is the "*", by their last, so that few are compared with each name. */
struct watch_item {
        const char *text;
        const struct rule *rule;
        bool is_asked_for;       /* of the policy's lists, of the caller's rules, or named */
        struct watch_item *next; /* with the same part */
};

struct watch {
        struct names exact, first, last; /* to struct watch_item */
        struct watch_item *others;       /* patterns, and what has neither */
};

struct query_text {
        const char *text; /* NULL: nothing of it is needed */
        const char *name; /* of its rule set, for messages */
        bool is_built_in;
        const struct plain *plain; /* or NULL */
};

struct fact_list {
        struct names seen;
        json_t *items;
};

enum { MEMORIES = 256 };

/* What a node was found to be; see value.c. */
struct memory {
        const void *id; /* of the node */
        struct value value;
        unsigned epoch, pick, depth; /* in which, and how deep within others, it was asked for */
        bool more;                   /* there is a further meaning */
        bool is_cut;                 /* something in it lay too deep */
};

struct analysis {
        struct arena arena;
        const struct grammar *grammar;
        const char *source;
        uint32_t length;
        uint32_t *lines; /* where each begins */
        size_t line_count;
        struct watch watches[RULE_LISTS];
        const struct rule **rules; /* in force, in order */
        size_t rule_count, rule_capacity;
        const char *const *named;   /* borrowed: ids that the policy forbids; ends with NULL */
        struct query_text *queries; /* of the rule sets in force */
        size_t query_count, query_capacity;
        bool *is_root; /* by symbol of the source's grammar: a plain pattern begins there; or NULL
                        */
        struct finding *findings;
        size_t finding_count, finding_capacity;
        size_t dropped;     /* findings beyond the maximum */
        struct names found; /* findings by rule and place, so that none comes twice */
        struct fact_list imports, calls, commands;
        json_t *errors;
        size_t error_count;
        /* walk.c */
        struct scope *scope; /* owned by the arena */
        bool learning;       /* the first walk: only names are learnt */
        unsigned branch;     /* depth of what may not happen */
        TSTreeCursor cursor; /* owned */
        bool has_cursor;
        unsigned pick; /* which meaning of a name with several is taken */
        bool more;     /* there is a further one */
        unsigned value_depth;
        bool is_cut;             /* something lay too deep to be folded */
        unsigned epoch;          /* changes when a name begins or ceases to mean something */
        struct memory *memories; /* MEMORIES of them, in the arena */
        unsigned units;          /* parsed so far */
        struct tables *tables;   /* roles and fields of each grammar used */
        TSTree **trees;          /* owned: all that were parsed */
        size_t tree_count, tree_capacity;
        TSParser *parser;            /* owned */
        TSQuery *query;              /* owned: the one that runs, or NULL */
        TSQueryCursor *query_cursor; /* owned, or NULL */
        bool skipped;                /* given up */
        struct error *err;           /* of rules that cannot be used */
};

/* What is asked. */
struct analysis_rules {
        const char *const *lists[RULE_LISTS]; /* of the policy, each ending with NULL; or NULL */
        const char *const *named;             /* ids that must be those of rules; or NULL */
        const struct rule_set *sets;          /* further ones; ends with one without a language */
        bool is_last; /* the process ends with this analysis: what it holds is not freed */
};

/* analysis.c: analyses it; a new reference to the report, or NULL: `err` says which rule is wrong,
 * SBX_EINVAL, or that there is no memory. */
json_t *analysis_run(const char *language, const char *source, size_t length,
                     const struct analysis_rules *rules, struct error *err);
/* The report of a source that was not analysed, and why. */
json_t *analysis_skipped(const char *reason);

/* unit.c */
void unit_parse(struct analysis *analysis, const struct grammar *grammar, const char *text,
                size_t length, struct unit *ret_unit);
/* Text within `outer`, at `place`, that is code again. */
void unit_within(struct analysis *analysis, const struct unit *outer, TSNode place,
                 const struct grammar *grammar, const char *text, size_t length);
/* Text that stands at `place` as it is. */
void unit_verbatim(struct analysis *analysis, const struct unit *outer, TSNode place,
                   const struct grammar *grammar, const char *text, size_t length);
struct place unit_place(const struct unit *unit, TSNode node);
static inline enum role unit_role(const struct unit *unit, TSNode node)
{
        TSSymbol symbol = ts_node_is_null(node) ? 0 : ts_node_symbol(node);

        /* The symbol of an error is beyond all others. */
        return symbol < unit->symbol_count ? (enum role)unit->roles[symbol] : ROLE_NONE;
}
/* Whether a name in the field is given to something; the left of two operands is used. */
static inline bool unit_is_naming(const struct unit *unit, enum role around, TSFieldId field)
{
        return unit->naming[field] && around != ROLE_CONCAT;
}
/* Named children; a null node has none. */
static inline uint32_t node_count(TSNode node)
{
        return ts_node_is_null(node) ? 0 : ts_node_named_child_count(node);
}
static inline TSNode node_child(TSNode node, uint32_t index)
{
        return ts_node_is_null(node) ? node : ts_node_named_child(node, index);
}
/* The node's field of the role's table, or a null node. */
TSNode unit_field(const struct unit *unit, TSNode node, unsigned field);
TSNode unit_named(const struct unit *unit, TSNode node, const char *field);
/* The source of the node; empty for a null node. */
const char *unit_text(const struct unit *unit, TSNode node, size_t *ret_length);
bool unit_is(TSNode node, const char *kind);

/* visits.c */
void visits_find(struct analysis *analysis, struct unit *unit);

/* scope.c */
void scope_enter(struct analysis *analysis);
void scope_leave(struct analysis *analysis);
/* Learns that the name means the value from the byte on. A value that may not happen, or one of
 * the program's own that comes after, leaves the earlier meanings standing. */
void scope_bind(struct analysis *analysis, const char *name, size_t length, struct value value,
                uint32_t byte);

/* value.c */
struct value value_of(struct analysis *analysis, const struct unit *unit, TSNode node);
struct value value_name(struct analysis *analysis, const struct unit *unit, const char *text,
                        size_t length, bool guess);
struct value value_text(struct analysis *analysis, const char *text, size_t length, bool guess);
struct value value_member(struct analysis *analysis, const struct unit *unit, struct value object,
                          const char *name, size_t length);
/* The texts of the node's children, put together; VALUE_UNKNOWN where one is none. */
struct value value_join(struct analysis *analysis, const struct unit *unit, TSNode node,
                        struct value separator);
/* Whether an assignment adds to what the name was: `x += y`. */
bool value_is_sum(const struct unit *unit, TSNode node);
/* The name of an identifier node, normal. */
struct value value_identifier(struct analysis *analysis, const struct unit *unit, TSNode node);
/* maker.c: a function of the program's own; whether its member is the one that makes functions of
 * text, or its prototype. */
struct value maker_function(const struct unit *unit);
bool maker_is_member(struct value object, const char *member, size_t length);
bool maker_is_prototype(struct value object, const char *member, size_t length);
/* What is called, which is Function where it is surely meant. */
struct value maker_called(struct analysis *analysis, const struct unit *unit, TSNode node,
                          struct value function, TSNode arguments);
/* known.c: what a call gives; and what it does, beyond being a call. */
struct value known_value(struct analysis *analysis, const struct unit *unit, struct value function,
                         TSNode node, TSNode arguments);
void known_effects(struct analysis *analysis, const struct unit *unit, struct value function,
                   TSNode node, TSNode arguments);
/* Whether the name is that of JavaScript's require() in one of its forms. */
bool known_is_import(struct analysis *analysis, const struct unit *unit, struct value function);
/* The nth argument that is not a comment, or a null node. */
TSNode known_argument(const struct unit *unit, TSNode arguments, unsigned index);
/* A method of a constant text, such as "".join(). */
struct value known_text_method(struct analysis *analysis, const struct unit *unit,
                               struct value text, const char *method, size_t length, TSNode node,
                               TSNode arguments);

/* text.c: what a literal says. */
struct value text_of_string(struct analysis *analysis, const struct unit *unit, TSNode node);
struct value text_unescape(struct analysis *analysis, const char *text, size_t length);
struct value text_base64(struct analysis *analysis, const char *text, size_t length);
struct value text_hex(struct analysis *analysis, const char *text, size_t length);
/* The source as Java reads it: \u0041 is an A before anything else is looked at. */
const char *text_translated(struct analysis *analysis, const char *text, size_t *length);
/* An identifier as the language compares it: look-alikes of letters, escapes. */
/* The source of C with words that go on in the next line put together, as long as it was. */
const char *text_spliced(struct analysis *analysis, const char *text, size_t length);
const char *text_normal(struct analysis *analysis, const char *text, size_t length,
                        size_t *ret_length);

/* walk.c */
void walk_unit(struct analysis *analysis, const struct unit *unit);

/* shell.c */
void shell_command(struct analysis *analysis, const struct unit *unit, TSNode node);
/* for x in words: what x is in turn. */
void shell_loop(struct analysis *analysis, const struct unit *unit, TSNode node);
/* What the grammar could not read, and a shell can. */
void shell_wrong(struct analysis *analysis, const struct unit *unit, TSNode node);
void shell_redirected(struct analysis *analysis, const struct unit *unit, TSNode node);
void shell_pipeline(struct analysis *analysis, const struct unit *unit, TSNode node);
/* The constant text of a shell word, of whatever form. */
struct value shell_word(struct analysis *analysis, const struct unit *unit, TSNode node);

/* match.c */
void match_prepare(struct analysis *analysis, const struct analysis_rules *rules);
void match_import(struct analysis *analysis, const struct unit *unit, TSNode node,
                  struct value module, const char *member, size_t member_length);
void match_call(struct analysis *analysis, const struct unit *unit, TSNode node,
                struct value function);
/* What there is to say of a name that is used. */
struct verdict {
        enum known known;
        /* shutil.os.system is os.system: where the name begins that counts. */
        size_t held;
        const struct matches *functions, *modules; /* rules that forbid it; or NULL */
};
const struct verdict *match_verdict(struct analysis *analysis, const struct unit *unit,
                                    struct value name);
/* Whether there is nothing to say of it, and nothing it is known to do. */
bool match_is_harmless(struct analysis *analysis, const struct unit *unit, struct value name);
/* A module whose name is not known, or a function that imports and is handed on. */
void match_computed_import(struct analysis *analysis, const struct unit *unit, TSNode node);
/* A name that is used without being called. */
void match_reference(struct analysis *analysis, const struct unit *unit, TSNode node,
                     struct value name);
void match_command(struct analysis *analysis, const struct unit *unit, TSNode node,
                   const char *name, size_t length, bool guess);
bool match_glob(const char *glob, const char *text);
bool match_is_policy(const struct rule *rule);
bool match_is_built_in(const struct rule *rule);
/* Whether the policy forbids the rule by its id. */
bool match_is_named(const struct analysis *analysis, const struct rule *rule);
/* By its id, or NULL. */
const struct rule *match_rule(const struct analysis *analysis, const char *id);

/* lexis.c: the next part of a text of C or C++. */
enum lexeme_kind {
        LEXEME_OTHER,
        LEXEME_WORD,
        LEXEME_NUMBER,
        LEXEME_LITERAL,
        LEXEME_RAW, /* R"(...)" */
        LEXEME_COMMENT,
};
struct lexeme {
        enum lexeme_kind kind;
        size_t end;
};
struct lexeme lexis_next(const char *text, size_t length, size_t at, bool is_cpp);
bool lexis_is_letter(char c);
/* The length of a backslash and a line end that it takes away, or 0. */
size_t lexis_splice(const char *text, size_t length);
/* Source of which the grammar reads what a compiler does: no comment begins in a text of a
 * directive, nor in one that its line leaves open, and C has raw texts as well. As long as before,
 * with the same lines. */
const char *lexis_mended(struct analysis *analysis, const char *text, size_t length, bool is_cpp);

/* words.c: names in a text that is not parsed, but those of `except`, count as used at the node. */
void words_match(struct analysis *analysis, const struct unit *unit, TSNode node, const char *text,
                 size_t length, TSNode except);
/* Which of the first named children of `names` is the name, or -1. */
int words_index(const struct unit *unit, TSNode names, const char *name, size_t length);

/* tokens.c, query.c */
void tokens_match(struct analysis *analysis, const struct unit *unit);
/* Paths in the tokens of a macro: a::b::c. */
void tokens_paths(struct analysis *analysis, const struct unit *unit, TSNode node);
/* Before the source is parsed. */
void query_prepare(struct analysis *analysis);
void query_run(struct analysis *analysis, const struct unit *unit);

/* report.c */
void report_finding(struct analysis *analysis, const struct rule *rule, enum rule_list list,
                    const char *what, struct place place, bool guess);
void report_fact(struct analysis *analysis, struct fact_list *list, const char *name,
                 struct place place, bool guess);
void report_error(struct analysis *analysis, const struct unit *unit, TSNode node);
json_t *report_whole(struct analysis *analysis);
/* A JSON string of bytes that may be anything; cut at a maximum. */
json_t *report_string(const char *text, size_t length, size_t max);

#endif
