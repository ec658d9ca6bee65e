/* The way of one run through the pipeline: what the stages hand on to one another. */
#ifndef ENGINE_PASSAGE_H
#define ENGINE_PASSAGE_H

#include "backend/backend.h"
#include "engine/engine.h"
#include "plan/build.h"

struct file_list; /* files.h */

struct passage {
        struct engine *engine;
        const struct engine_order *order;
        struct result *result;
        uint64_t started_ns;
        const struct language *language;
        struct language_tool tool;
        struct policy_values policy;  /* effective */
        char *workspace;              /* owned: resolved, or NULL */
        char *resolver;               /* owned: the host's resolv.conf, or NULL */
        const struct backend *backend;
        int program_fd;               /* owned: the code, or what was compiled from it */
        size_t program_bytes;
};

/* stages, in the order of pipeline.c. 0, or the error that ends the run. */
int passage_identify(struct passage *passage, struct error *err);
int passage_allow(struct passage *passage, struct error *err);
int passage_find_tool(struct passage *passage, struct error *err);
int passage_compile(struct passage *passage, struct error *err);
int passage_run(struct passage *passage, struct error *err);

/* step.c: one contained step, compiler or program. */
struct step_order {
        enum plan_step step;
        const struct limits *limits;
        struct result_step *outcome;
};
/* Runs it on the passage's backend. On return the workspace of the step is still open in
 * `*ret_workspace_fd` (or -1), for what is to be fetched from it; the caller closes it. */
int step_run(struct passage *passage, const struct step_order *order, int *ret_workspace_fd,
             struct error *err);

/* limits.c: what can be enforced, and what was. */
int limits_check(const struct passage *passage, const struct limits *limits, struct error *err);
uint32_t limits_pinned_cpus(const struct passage *passage, const struct limits *limits);
void limits_describe(struct passage *passage, const struct run *run, const struct limits *limits);
void limits_list(const struct limits *limits, struct result *result);

/* message.c: the sentence for a person. */
void message_compose(struct passage *passage);

#endif
