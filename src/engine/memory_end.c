/*
 * The kernel ends a program that takes more memory than it may have. But a runtime that was told
 * its part of the limit, or whose last wish was too large, gives up by itself and says so: that is
 * the memory limit as well, and no error of the program's.
 */
#include "engine/passage.h"
#include "base/str.h"
#include "languages/languages_errors.h"

static bool can_tell(const struct passage *passage, const struct step_order *order)
{
        return (order->step == PLAN_STEP_RUN || order->step == PLAN_STEP_COMPILE) &&
               passage->language->memory_errors[0];
}

void memory_end_listen(struct passage *passage, const struct step_order *order,
                       struct monitor_order *watch)
{
        strbuf_done(&passage->error_tail);
        /* Turns are told apart by who hears them. */
        if (can_tell(passage, order) && watch->turn_fd < 0)
                watch->error_tail = &passage->error_tail;
}

void memory_end_settle(struct passage *passage, const struct step_order *order)
{
        struct result_step *step = order->outcome;
        int exit_code = step->signal ? 128 + step->signal : step->exit_code;

        if (step->outcome != OUTCOME_FAILED && step->outcome != OUTCOME_SIGNALED)
                return;
        if (!can_tell(passage, order) || !passage->error_tail.data ||
            !language_is_out_of_memory(passage->language, passage->error_tail.data, exit_code))
                return;
        step->outcome = OUTCOME_MEMORY_LIMIT;
        result_add_violation(passage->result, "memory", "memory",
                             "the runtime had all that the limit gives it", 1);
}
