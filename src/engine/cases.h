/* Runs a request once per case, several at once, and collects the verdicts. */
#ifndef ENGINE_CASES_H
#define ENGINE_CASES_H

#include "cases/cases.h"
#include "engine/engine.h"

enum { CASES_JOBS_MAX = 256 };

/* `jobs` at once, 0: as many as there are CPUs for us; one after another where they share something
 * that they can write. The order's event handler hears "execution.start", then "case" for each as
 * it ends, with its JSON as data, then "execution.complete"; from several threads, but never from
 * two at once. The result tells of all cases. */
int engine_run_cases(struct engine *engine, const struct engine_order *order,
                     const struct cases *cases, unsigned jobs, struct result **ret_result,
                     struct error *err);

#endif
