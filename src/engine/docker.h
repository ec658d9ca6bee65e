/*
 * The engine's side of the docker backend: the order for sandbox-docker, which talks to the
 * container engine, and what it tells. The plan is a container's; what of it is the host's
 * (system paths, control groups) the helper passes over.
 */
#ifndef ENGINE_DOCKER_H
#define ENGINE_DOCKER_H

#include "base/error.h"
#include "languages/languages.h"
#include "plan/build.h"

#include <stdbool.h>
#include <stdint.h>

struct backend_host;
struct nest_kind;
struct passage;
struct result;
struct run;
struct step_order;

/* What one run needs; part of its passage. */
struct docker_passage {
        char *helper; /* owned: path of sandbox-docker */
        char *inside; /* owned: path of sandbox-inside */
        char *image;  /* owned */
        char *order;  /* owned: JSON for the helper */
};

void docker_init(struct docker_passage *docker);
void docker_done(struct docker_passage *docker);

/* Whether the passage runs on this backend. */
bool docker_is_used(const struct passage *passage);
/* Whether the image brings the language's tool, so that the machine's is not looked for. */
bool docker_is_wanted(const struct passage *passage);
/* 0 where the helper is there and the run asks for nothing that this backend cannot do;
 * SBX_EUNAVAILABLE else. The engine itself is not asked yet. */
int docker_check(struct passage *passage, struct error *err);
/* Turns a step into one for the helper. */
int docker_describe(struct passage *passage, const struct step_order *order,
                    struct plan_input *input, struct error *err);
/* How long the helper may take before the program starts. */
uint64_t docker_setup_ms(void);
/* Who starts the helper that is found there: the groups of a container engine are its own. */
struct backend_host docker_host(const char *helper);
/* docker_pool.c: whether a container that waits can be a run's, and which kind that is. */
bool docker_fits_pool(const struct plan *plan);
int docker_kind_make(const struct passage *passage, const struct plan_draft *draft,
                     struct nest_kind *ret_kind);
/* Waits until all that the program made is there. */
void docker_settle(struct run *run);
/* The version of its language that the image names, if it does. */
void docker_tell_version(const struct run *run, struct result *result);
/* Whether somebody listens where the engine is said to be: 0, or why not. */
int docker_reach(struct error *err);
/* What went wrong with the engine, with the remedy. */
int docker_failure(const struct run *run, struct error *err);

#endif
