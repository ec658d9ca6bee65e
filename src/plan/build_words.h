/* The parts of plan_build() that make strings; the draft owns them. NULL or -1: out of memory. */
#ifndef PLAN_BUILD_WORDS_H
#define PLAN_BUILD_WORDS_H

#include "base/str.h"
#include "plan/build.h"

/* Keeps `first` and `second` in one string. */
const char *words_keep(struct plan_draft *draft, const char *first, const char *second);
/* Where code and workspace are: fixed in a container, below the scratch directory in a local run.
 */
const char *words_place(const struct plan_input *input, struct plan_draft *draft, const char *path);
/* "place/name"; a name that ends in a slash without it, an empty one is the place itself. */
const char *words_placed(const struct plan_input *input, struct plan_draft *draft,
                         const char *where, const char *name);
/* The text with the placeholders' meanings. */
const char *words_expand(const struct plan_input *input, struct plan_draft *draft,
                         const char *text);
int words_add_arguments(const struct plan_input *input, struct plan_draft *draft);
/* Command, variables and program of the interpreter that stands ready for such a run. */
int words_add_park(const struct plan_input *input, struct plan_draft *draft);
int words_add_environment(const struct plan_input *input, struct plan_draft *draft);

#endif
