/*
 * From what is allowed (policy) and how a language works to the order for one step of a run. The
 * draft owns the strings that had to be made; the rest is borrowed from policy and language, which
 * must outlive it.
 */
#ifndef PLAN_BUILD_H
#define PLAN_BUILD_H

#include "base/error.h"
#include "base/mem.h"
#include "languages/languages.h"
#include "plan/plan.h"
#include "policy/policy.h"

#include <stdbool.h>

enum plan_step { PLAN_STEP_COMPILE, PLAN_STEP_RUN };

struct plan_input {
        enum plan_kind kind;
        enum plan_step step;
        const struct policy_values *policy; /* paths in it are absolute and resolved */
        const struct limits *limits;        /* of this step */
        const struct language *language;
        const char *tool;    /* "" where the language needs none */
        bool self_contained; /* a program without a loader: sees no path of the system */
        const struct strlist *arguments;
        const char *scratch;  /* local: the directory that holds everything */
        const char *resolver; /* host network: the host's resolv.conf, or NULL */
        /* What is put at {file} or {output}: bytes, a file of the host, or else the plan's first
         * file descriptor. */
        const char *program_data;
        const char *program_path;
        size_t program_bytes;
};

struct plan_draft {
        struct plan plan;
        struct plan_mount *mounts; /* owned */
        struct plan_file *files;   /* owned */
        struct strlist arguments;
        struct strlist environment;
        struct strlist strings; /* other strings the plan points to */
};

int plan_build(const struct plan_input *input, struct plan_draft *draft, struct error *err);
void plan_draft_done(struct plan_draft *draft);

#endif
