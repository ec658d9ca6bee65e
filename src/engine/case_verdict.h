/* What a case deserves, from how its run ended and what it wrote. */
#ifndef ENGINE_CASE_VERDICT_H
#define ENGINE_CASE_VERDICT_H

#include "base/error.h"
#include "cases/cases.h"
#include "result/result.h"

/* The verdict on a case that was run. */
int verdict_fill(struct result_case *verdict, const struct test_case *one,
                 const struct result *result, struct error *err);
/* On one that never began. */
int verdict_not_run(struct result_case *verdict, enum outcome fate, const char *message,
                    struct error *err);

#endif
