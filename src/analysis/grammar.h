/*
 * How each language's tree is read: one table per language says what its kinds of nodes mean to
 * us. What the tables cannot say is done by the few functions they name.
 */
#ifndef ANALYSIS_GRAMMAR_H
#define ANALYSIS_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tree_sitter/api.h>

struct analysis;
struct unit;

/* What a node is to us. The fields in the table are named in this order. */
enum role {
        ROLE_NONE,
        ROLE_IDENTIFIER, /* a name */
        ROLE_MEMBER,     /* object, name */
        ROLE_INDEX,      /* object, index */
        ROLE_CALL,       /* function, arguments */
        ROLE_METHOD,     /* object, name, arguments: a call in one node */
        ROLE_STRING,     /* text with its quotes */
        ROLE_STRINGS,    /* strings side by side */
        ROLE_CONCAT,     /* left, right, operator */
        ROLE_WRAP,       /* means its first named child, or the field */
        ROLE_LAST,       /* means its last named child */
        ROLE_LIST,       /* a literal list */
        ROLE_BIND,       /* name, value, operator: of this scope */
        ROLE_ASSIGN,     /* name, value, operator: of this scope or one around it */
        ROLE_DEFINE,     /* name: a function or class that is the program's own; parameters */
        ROLE_LAMBDA,     /* a function without a name; parameters */
        ROLE_PARAMETERS, /* names right within are bound, not used */
        ROLE_GLOBAL,     /* names of the file's own scope */
        ROLE_SKIP,       /* nothing in it counts */
        ROLE_BRANCH,     /* what is in it may not happen */
        ROLE_IMPORT,     /* the grammar's import() */
        ROLE_EXPORT,     /* the same, and what is in it counts too */
        ROLE_PATH,       /* a name as it is written, dots included */
        ROLE_COMMENT,
        ROLE_INTERPOLATION, /* code within a string */
        ROLE_COMMAND,       /* shell: a simple command */
        ROLE_VARIABLE,      /* shell: $x */
        ROLE_WORD,          /* shell: a bare word with its escapes */
        ROLE_REDIRECTED,    /* shell: a statement with redirections */
        ROLE_PIPELINE,      /* shell */
        ROLE_TOKENS,        /* tokens of a macro, not parsed further */
        ROLES
};

enum { ROLE_FIELDS = 3 };

struct grammar_role {
        const char *kind; /* of the node, in the grammar's own words */
        enum role role;
        const char *fields[ROLE_FIELDS];
};

/* What a call of a known function means. */
enum known {
        KNOWN_NOTHING,
        KNOWN_IMPORT,    /* imports what the text says, and gives the module */
        KNOWN_MEMBER,    /* gives the member of the first that the second names */
        KNOWN_NAMESPACE, /* gives a mapping of all names */
        KNOWN_SAME,      /* gives its first argument */
        KNOWN_NAME,      /* gives what the text names */
        KNOWN_NAME_SECOND,
        KNOWN_CHARACTERS, /* gives the characters with these numbers */
        KNOWN_BASE64,
        KNOWN_HEX,
        KNOWN_CODE,    /* runs the text as code of the same language */
        KNOWN_SHELL,   /* gives the text to a shell */
        KNOWN_COMMAND, /* runs the program that the first argument or its first item names */
        KNOWN_REQUIRE, /* gives a function that imports */
        KNOWN_COMMAND_SECOND,
        KNOWN_TOKENS, /* gives the texts of a macro's tokens, put together */
        KNOWN_WORDS,  /* uses the names in the text */
        KNOWN_APPLY,  /* calls the first argument with what the last one lists */
};

struct grammar_known {
        const char *name; /* as resolved */
        enum known known;
};

struct grammar {
        const char *name; /* of the language in languages/ */
        const TSLanguage *(*language)(void);
        const char *const *rule_folders;   /* ends with NULL */
        const struct grammar_role *roles;  /* ends with one without a kind */
        const struct grammar_known *known; /* ends with one without a name; or NULL */
        const char *const *transparent;    /* first parts of names that mean nothing, or NULL */
        const char *const *opaque;         /* names that keep those parts; or NULL */
        bool strips_before_classes;        /* those parts mean nothing only before a capital */
        const char *const *suffixes;       /* last parts that mean nothing: ".call"; or NULL */
        const char *separators;            /* what else than "." separates names: ":"; or NULL */
        const char *const *held;           /* modules that others have as a member; or NULL */
        bool calls_by_method;              /* f.call(this, x) calls f(x) */
        bool has_full_names;               /* a full name needs no import */
        void (*import)(struct analysis *analysis, const struct unit *unit, TSNode node);
};

const struct grammar *grammar_find(const char *language);
extern const struct grammar *const grammars[]; /* ends with NULL */
extern const struct grammar grammar_python, grammar_javascript, grammar_typescript, grammar_shell,
        grammar_go, grammar_rust, grammar_java, grammar_c, grammar_cpp;

#endif
