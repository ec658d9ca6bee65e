/*
 * Theory of operation: the library installs no handlers, so the program does. A handler only notes
 * the signal and cancels the request, which the library allows from a handler; the run then ends by
 * itself, cleans up, and main() leaves with 128 + the signal. The two variables are all the state
 * the program shares with its handlers.
 */
#include "cli/run.h"
#include "base/mem.h"

#include <stddef.h>

static volatile sig_atomic_t caught;
static sbx_request *volatile running; /* borrowed from cmd_run.c; NULL while nothing runs */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static void cancel_running(int number)
{
        sbx_request *req = running;

        caught = number;
        if (req)
                sbx_request_cancel(req);
}

void run_signals_catch(sbx_request *req)
{
        /* No SA_RESTART: whatever waits is to look at the signal. */
        const struct sigaction action = { .sa_handler = cancel_running };

        running = req;
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
                struct sigaction before;

                /* nohup and background jobs of a shell ignore some of them: that stays. */
                if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
                        continue;
                (void)sigaction(signals[i], &action, NULL); /* fails for bad numbers alone */
        }
}

void run_signals_forget(void)
{
        running = NULL;
        /* The run is gone and cleaned up: while its result is written, a signal may end us at once.
         */
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
                struct sigaction now;

                if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == cancel_running)
                        (void)signal(signals[i], SIG_DFL); /* fails for bad numbers alone */
        }
}

int run_signals_caught(void)
{
        return caught;
}
