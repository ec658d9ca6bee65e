/*
 * From what is allowed (policy) and how a language works to the order for one step of a run. The
 * draft owns the strings that had to be made; the rest is borrowed from policy and language, which
 * must outlive it.
 */
#ifndef PLAN_BUILD_H
#define PLAN_BUILD_H

#include "base/bundle.h"
#include "base/error.h"
#include "base/mem.h"
#include "languages/languages.h"
#include "plan/plan.h"
#include "policy/policy.h"

#include <stdbool.h>

enum plan_step { PLAN_STEP_PREPARE, PLAN_STEP_DEPS, PLAN_STEP_COMPILE, PLAN_STEP_RUN };

/* Files that are put below a place: "/code", where the program can only read them, or "/workspace",
 * where they are its own. */
struct plan_bundle {
        const struct bundle *bundle;
        const char *place;
        uint32_t fd_number; /* 1 + its index among the plan's file descriptors */
};

enum { PLAN_BUNDLES_MAX = 3 };

struct plan_input {
        enum plan_kind kind;
        enum plan_step step;
        const struct policy_values *policy; /* paths in it are absolute and resolved */
        const struct limits *limits;        /* of this step */
        const struct language *language;
        const char *tool;    /* "" where the language needs none */
        const char *runtime; /* what runs the tool; NULL or "" where nothing does */
        const struct language_compile *build; /* how this step builds; NULL where it runs */
        const char *const *command;           /* with placeholders */
        const struct language_park *park; /* how an interpreter is parked for such a run, or NULL */
        const char *source_place;         /* where the code is: "/code" or "/workspace" */
        const char *file;                 /* {file}: its path below that */
        const char *module;            /* {module}: its name, where it is started as one; or NULL */
        const struct strlist *sources; /* {sources}: paths of all of the language's files there */
        const char *output;            /* {output}: what the compiler makes; "" where none is */
        const char *prepared;          /* {prepared}: a directory of the host, or NULL */
        const char *deps;              /* {deps}: a directory of the host, or NULL */
        const struct strlist *extra_env;   /* "K=V" of this step as they are, or NULL */
        const struct strlist *extra_paths; /* of the system, at their own places; or NULL */
        uint32_t proxy_port, proxy_fd;     /* its only way out, as in the plan; 0: none */
        uint32_t report_fd;                /* what a worker keeps, as in the plan; 0: none */
        const struct plan_mount *parts;    /* of a worker of ours, read-only; or NULL */
        size_t part_count;
        const char *docker;  /* as in the plan, or NULL */
        bool self_contained; /* a program without a loader: sees no path of the system */
        const struct strlist *arguments;
        const char *scratch;  /* local: the directory that holds everything */
        const char *resolver; /* host network: the host's resolv.conf, or NULL */
        /* A single piece of code is put at {file}: bytes, a file of the host, or the plan's first
         * file descriptor. */
        bool has_program;
        const char *program_data;
        const char *program_path;
        size_t program_bytes;
        struct plan_bundle bundles[PLAN_BUNDLES_MAX];
        size_t bundle_count;
};

/* The interpreter that stands ready for a run. */
struct plan_park {
        const struct language_park *way; /* borrowed */
        struct strlist arguments;        /* empty: there is none; see plan_park_words() */
        uint64_t launched; /* bit per argument: the launcher's text has yet to be put into it */
        struct strlist environment;
        const char *preload; /* modules that it loads, with commas between them; "": none */
        const char *program; /* the path that it would open */
};

struct plan_draft {
        struct plan plan;
        struct plan_mount *mounts; /* owned */
        struct plan_file *files;   /* owned */
        struct strlist arguments;
        struct strlist environment;
        struct plan_park park;
        struct strlist strings; /* other strings the plan points to */
};

int plan_build(const struct plan_input *input, struct plan_draft *draft, struct error *err);
void plan_draft_done(struct plan_draft *draft);
/* The arguments with the launcher's text, which is long and the same for all runs of a language, in
 * them. 0, or -1 without memory. */
int plan_park_words(const struct plan_park *park, struct strlist *ret_words);

#endif
