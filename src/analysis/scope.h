/* Names and what they mean at a place in the source; see scope.c. */
#ifndef ANALYSIS_SCOPE_H
#define ANALYSIS_SCOPE_H

#include "analysis/analysis.h"

enum { WILDCARDS_MAX = 8 };

struct binding {
        struct binding *older; /* of the same name */
        struct word *word;     /* the name */
        struct value value;
        unsigned level; /* 0: the file's own */
        uint32_t byte;  /* from here on */
        bool may_not_happen;
};

/* A name, and what it meant without any binding when somebody last asked. */
struct word {
        struct binding *latest;
        bool was_bound;
        const struct grammar *grammar; /* in which it was asked for; NULL: nobody did */
        unsigned wildcard_count;       /* of the scope, then */
        struct value *as_is;
        unsigned as_is_count;
        bool is_harmless; /* no rule is about any of those */
};

struct scope {
        struct names words;   /* to struct word */
        struct names globals; /* names that functions said are the file's own */
        struct binding **log; /* in the order of binding, so that a scope can be left */
        size_t log_count, log_capacity;
        unsigned level;
        const char *wildcards[WILDCARDS_MAX]; /* modules all of whose names were imported */
        unsigned wildcard_count;
};

/* Whether anything was ever bound to the name. */
bool scope_was_bound(const struct analysis *analysis, const char *name, size_t length);
/* Each walk learns its own names: the first those of the file, the second those of functions. */
bool scope_is_learnt(const struct analysis *analysis, const char *name, size_t length);
/* Whether no meaning that the name may have at the byte is one that a rule is about. */
bool scope_is_harmless(struct analysis *analysis, const struct unit *unit, const char *name,
                       size_t length, uint32_t byte);
void scope_add_wildcard(struct analysis *analysis, const char *module);
void scope_add_global(struct analysis *analysis, const char *name, size_t length);
/* All meanings the name may have at the byte, at most ALTERNATIVES_MAX; at least one. */
unsigned scope_alternatives(struct analysis *analysis, const struct unit *unit, const char *name,
                            size_t length, uint32_t byte, struct value *ret_values);

#endif
