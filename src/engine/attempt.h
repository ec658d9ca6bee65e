/* What a step is started with and ends with. */
#ifndef ENGINE_ATTEMPT_H
#define ENGINE_ATTEMPT_H

#include "engine/nests.h"
#include "engine/passage.h"

struct attempt {
        struct backend_input input;
        struct backend_host host;
        struct lodging lodging; /* its nest is NULL where the run has none */
        struct run run;
        bool is_open; /* it was started, and has not ended */
};

/* Starts the step in a nest of its kind; false where there is none that does. */
bool attempt_in_nest(struct passage *passage, struct attempt *attempt, struct plan_draft *draft,
                     struct error *err);
/* Its sandbox may be taken down; nothing of it is looked at any more. */
void attempt_let_go(struct attempt *attempt);
/* No process of the program's is left. Has the rest taken down by others where they can, and waits
 * for it where not. */
void attempt_settle(struct passage *passage, struct attempt *attempt);
/* Waits until everything of it is gone. */
void attempt_end(struct passage *passage, struct attempt *attempt);

#endif
