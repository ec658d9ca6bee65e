/*
 * Nests: containers that were built before the run that they are for (src/init/nest.c says what is
 * in them). The engine keeps some; a run that fits one is hatched in it.
 */
#ifndef BACKEND_NEST_H
#define BACKEND_NEST_H

#include "backend/backend.h"
#include "backend/park.h"

struct nest {
        struct run run;      /* the nest itself: its helper, socket and control group */
        struct run *guest;   /* owned: a guest in it that waits for its program, or NULL */
        int ahead_fd;        /* a run in it that is not known yet, or -1; ... */
        uint64_t ahead_park; /* ... and the interpreter that its guest comes from; 0: none */
};

/* Starts building a nest for runs that share this plan but for program, arguments, environment and
 * files. It builds on its own; nest_wait() says when it is ready. */
int nest_start(const struct backend *backend, const struct backend_host *host, struct plan *plan,
               const struct cgroup_limits *limits, struct nest *nest, struct error *err);
/* Waits until it is built; -1 where that failed. */
int nest_wait(struct nest *nest);
/* Has it ready as much of its next run as can be before that is known; the nest is empty. With a
 * parked interpreter, the guest too, for runs of that very interpreter. 0, or -1 with errno. */
int nest_prepare(struct nest *nest, const struct park *park);
/* Closes our side of that: where nobody else has it, it ends. */
void nest_forget_ahead(struct nest *nest);
/* Ends it. */
void nest_call_off(struct nest *nest);
struct parcel;
/* Sends the run to a keeper that waits for it, or whose guest does: the plan, what the parcel has,
 * the files. */
int nest_send_hand(struct run *run, struct plan *plan, const struct backend_input *input,
                   struct parcel *parcel, struct error *err);
/* Hatches a run. It is watched like any other, and finished before the next one is hatched. With a
 * parked interpreter, the guest is a copy of that. */
int nest_hatch(const struct backend *backend, struct nest *nest, const struct park *park,
               struct plan *plan, const struct backend_input *input, struct run *run,
               struct error *err);
/* The same in a nest that prepares nothing: a container engine's, or of a guest that waits itself.
 */
int nest_hatch_whole(const struct backend *backend, struct nest *nest, struct plan *plan,
                     const struct backend_input *input, struct run *run, struct error *err);
/* Hatches a guest that is to wait for its program, and waits until it does; -1 where it did not
 * come so far. `library_fd` is what has it wait. */
int nest_place(const struct backend *backend, struct nest *nest, struct plan *plan, int library_fd);
/* Whether the guest that waits, or the nest where there is none, is alive. */
bool nest_lives(struct nest *nest);
/* Hands it its program: the run is the caller's to watch, and the last in this nest. */
int nest_hand_over(struct nest *nest, const struct backend *backend, struct plan *plan,
                   const struct backend_input *input, struct run *run, struct error *err);
/* Whether another run may perhaps be hatched after this one, of which processes of ours are left:
 * the program did nothing that rules it out. */
bool nest_may_renew(const struct nest *nest, const struct run *run);
/* Whether another run can be hatched after this one, which is finished: the nest is as it was, its
 * group empty and counting from zero. */
bool nest_renew(struct nest *nest, const struct run *run);
/* Whether nobody but the nest itself is in its group, which counts from zero again then. */
bool nest_is_empty(struct nest *nest);
void nest_end(struct nest *nest);

#endif
