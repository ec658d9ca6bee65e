/* The cases of a result: made and freed. */
#include "result/result.h"

struct result_case *result_cases_new(size_t count)
{
        struct result_case *cases = mem_resize(NULL, count, sizeof(*cases));

        for (size_t i = 0; cases && i < count; i++)
                cases[i] = (struct result_case){ .number = i + 1, .exit_code = -1 };
        return cases;
}

void result_cases_free(struct result_case *cases, size_t count)
{
        for (size_t i = 0; cases && i < count; i++) {
                mem_free(cases[i].name);
                mem_free(cases[i].message);
                mem_free(cases[i].expected);
                mem_free(cases[i].got);
                strbuf_done(&cases[i].out.kept);
                strbuf_done(&cases[i].err.kept);
        }
        mem_free(cases);
}
