/* Parked interpreters: started once, and copied for each run (src/park says how). */
#ifndef BACKEND_PARK_H
#define BACKEND_PARK_H

#include "backend/backend.h"

struct park {
        struct run run;         /* the interpreter itself: its helper and control group */
        int socket;             /* owned: keepers ask it for guests over a copy */
        uint64_t number;        /* of this interpreter among all of the engine's; not 0 */
        char home[256];         /* a folder of its own, which the helper removes ... */
        char variables[2][300]; /* ... and what tells of it */
};

/* Starts the interpreter; it comes up on its own. */
int park_start(const struct backend_host *host, struct plan *plan,
               const struct cgroup_limits *limits, struct park *park, struct error *err);
/* Waits until it is parked; -1 where it did not come so far. */
int park_wait(struct park *park, int timeout_ms);
/* Has the helper of one that somebody stopped see to it: who ends a guest of it waits until that
 * was reaped. */
void park_wake(const struct park *park);
void park_end(struct park *park);

#endif
