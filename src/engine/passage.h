/* The way of one run through the pipeline: what the stages hand on to one another. */
#ifndef ENGINE_PASSAGE_H
#define ENGINE_PASSAGE_H

#include "backend/backend.h"
#include "engine/engine.h"
#include "engine/files.h"
#include "plan/build.h"

struct passage {
        struct engine *engine;
        const struct engine_order *order;
        struct result *result;
        uint64_t started_ns;
        const struct language *language;
        struct language_tool tool;
        struct policy_values policy;   /* effective */
        char *workspace;               /* owned: resolved, or NULL */
        struct file_list files_before; /* in that workspace */
        unsigned workspace_mode;       /* of it, before the run */
        int counted_fds[POLICY_MOUNTS_MAX +
                        1]; /* owned: directories of the host that the guest can write;
                             * the workspace, if there is one, is the first */
        size_t counted_count;
        uint64_t counted_before; /* bytes in them, before the run */
        bool disk_is_known;      /* all of them could be measured */
        char *resolver;          /* owned: the host's resolv.conf, or NULL */
        const struct backend *backend;
        /* The code, or what was compiled from it; in one of three ways: */
        const char *program_data; /* bytes that travel with the plan, borrowed; or NULL */
        int program_fd;           /* owned: a file that is copied in; or -1 */
        char *program_path;       /* owned: a file of the host that is mounted; or NULL */
        size_t program_bytes;
        bool is_static; /* the code is a program that needs no loader and no library */
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
        /* Called once every process of the step is dead and before its workspace goes. */
        int (*collect)(struct passage *passage, int workspace_fd, struct error *err);
};
/* Runs it on the passage's backend. */
int step_run(struct passage *passage, const struct step_order *order, struct error *err);

/* limits.c: what can be enforced, and what was. */
int limits_check(const struct passage *passage, const struct limits *limits, struct error *err);
uint32_t limits_pinned_cpus(const struct passage *passage, const struct limits *limits);
void limits_describe(struct passage *passage, const struct run *run, const struct limits *limits);
void limits_list(const struct limits *limits, struct result *result);
/* Lays what a language file gives over the limits. A timeout alone bounds the CPU time as well. */
void limits_lay_over(struct limits *limits, const struct language_limits *given);

/* message.c: the sentence for a person. */
void message_compose(struct passage *passage);

#endif
