/* The way of one run through the pipeline: what the stages hand on to one another. */
#ifndef ENGINE_PASSAGE_H
#define ENGINE_PASSAGE_H

#include "backend/backend.h"
#include "engine/analysis.h"
#include "engine/cache.h"
#include "engine/deps.h"
#include "engine/docker.h"
#include "engine/engine.h"
#include "engine/files.h"
#include "engine/templating.h"
#include "engine/wasm.h"
#include "history/running.h"
#include "monitor/monitor.h"
#include "plan/build.h"

#include <sys/stat.h>

struct passage {
        struct engine *engine;
        struct templating templating; /* stands between the caller's order and ours */
        const struct engine_order *order;
        const struct request *code; /* whose code is run: the order's own, or a program's */
        struct request own_code;    /* that, where the code in a file was copied: a view of it */
        int own_code_fd;            /* owned: the copy, or -1 */
        struct result *result;
        uint64_t started_ns;
        const struct language *language;
        struct language_tool tool;
        struct policy_values policy;   /* effective */
        struct strlist writable;       /* what programs can or could write to, resolved */
        char *workspace;               /* owned: resolved, or NULL */
        struct file_list files_before; /* in that workspace */
        unsigned workspace_mode;       /* of it, before the run */
        int counted_fds[POLICY_MOUNTS_MAX +
                        1]; /* owned: directories of the host that the guest can write;
                             * the workspace, if there is one, is the first */
        size_t counted_count;
        struct monitor_space counted_before; /* in them, before the run */
        bool disk_is_known;                  /* all of them could be measured */
        char *resolver;                      /* owned: the host's resolv.conf, or NULL */
        const struct backend *backend;
        /* The code is one piece, in one of three ways: */
        const char *program_data; /* bytes that travel with the plan, borrowed; or NULL */
        int program_fd;           /* owned: a file that is copied in; or -1 */
        char *program_path;       /* owned: a file of the host that is mounted; or NULL */
        size_t program_bytes;
        /* Or a project, whose files the request holds: */
        bool is_project;
        const char *entry;      /* the file that is run, borrowed; "" where the language knows */
        char *module;           /* owned: its name, where it is started as one; or NULL */
        bool is_package;        /* the whole project is one */
        struct bundle package;  /* a link with the name of the project, where that is a package */
        struct strlist sources; /* paths of the files of its language */
        /* What the compiler made from either: */
        struct cache_entry built;
        const struct bundle *program; /* that, or what was compiled before; NULL: there is none */
        bool made_workspace;          /* the workspace was not there before this run */
        char *prepared_path;          /* owned: the toolchain's directory; NULL where it has none */
        bool is_prepared;             /* that is there */
        struct result_step ready;     /* how readying it went */
        struct strbuf error_tail;     /* the end of a step's standard error */
        struct deps deps;             /* what the program needs beside its language */
        struct analysis_job analysis; /* of its source, under way beside the rest */
        struct request_rule_list rules; /* of the folders that the policy names */
        bool is_recorded;               /* the policy and the request want it */
        const char *turn_of;    /* borrowed: the id of the run that it was a turn of; or NULL */
        struct history history; /* where to; its path is the engine's */
        struct running running; /* its entry among those that are going on */
        struct history_artifacts artifacts;
        struct wasm_passage wasm;     /* of a run on that backend */
        struct docker_passage docker; /* the same */
        bool wants_details;           /* somebody looks at I/O and network */
        struct attempt *ending; /* owned: the last step, whose sandbox is taken down; or NULL */
        bool is_static;         /* the code is a program that needs no loader and no library */
};

/* stages, in the order of pipeline.c. 0, or the error that ends the run. */
int passage_identify(struct passage *passage, struct error *err);
int passage_allow(struct passage *passage, struct error *err);
/* The effective policy alone: nothing of the machine is looked at. */
int passage_policy(struct passage *passage, struct error *err);
int passage_analyse(struct passage *passage, struct error *err);
/* The analysis alone, whatever the mode. */
int passage_check(struct passage *passage, struct error *err);
/* Collects what an analysis beside the run has found. */
int passage_analysed(struct passage *passage, struct error *err);
void passage_forget_workspace(const struct passage *passage);
int passage_find_tool(struct passage *passage, struct error *err);
int passage_prepare(struct passage *passage, struct error *err);
int passage_install(struct passage *passage, struct error *err);
int passage_compile(struct passage *passage, struct error *err);
int passage_run(struct passage *passage, struct error *err);

/* own_code.c: code in a file that the run may write to is copied first. */
int passage_own_code(struct passage *passage, struct error *err);

/* prepare_trim.c: a readied toolchain is copied aside under a name with this, then renamed; its
 * folder's time says when it was last used. */
#define PREPARED_ASIDE ".new."
void prepared_note_use(const char *path);
void prepared_trim(const char *directory, int place);

/* step.c: one contained step, compiler or program. */
struct step_order {
        enum plan_step step;
        const struct language_compile *build; /* NULL where the program is run */
        const struct limits *limits;
        struct result_step *outcome;
        /* Called once every process of the step is dead and before its workspace goes. */
        int (*collect)(struct passage *passage, int workspace_fd, struct error *err);
};
/* step_plan.c: what the plan of a step is made from, and the descriptors of its files. */
struct step_files {
        int fds[2 + PLAN_BUNDLES_MAX];
        int count;
};
void step_describe(const struct passage *passage, const struct step_order *order,
                   const char *scratch, struct plan_input *ret_input, struct step_files *ret_files);
/* network.c: what answers for names and makes connections, where the plan wants that; else NULL is
 * left. The caller frees it. */
struct agent;
int step_open_network(const struct passage *passage, const struct plan *plan,
                      struct agent **ret_agent, struct error *err);
/* Runs it on the passage's backend. */
int step_run(struct passage *passage, const struct step_order *order, struct error *err);
/* Waits until nothing of the passage's last step is left. */
void step_end(struct passage *passage);

/* steps.c: runs a step on the first backend that can; once one has, later steps stay with it. */
int step_run_somewhere(struct passage *passage, const struct step_order *order, struct error *err);
/* The backend that is tried first; "auto" is resolved. */
enum policy_backend passage_first_backend(const struct passage *passage);
/* compile.c: limits of a step that builds. */
struct limits build_limits(const struct passage *passage, const struct language_compile *build);
/* How the code of this passage is compiled; its command is empty where it is not. */
const struct language_compile *build_of(const struct passage *passage);

/* project.c: which language a project is in, which of its files is run. */
int project_identify(struct passage *passage, struct error *err);
/* project_module.c: the file that a name such as "package.module" stands for; NULL: none. */
const char *project_find_module(const struct passage *passage, const char *name);
/* Whether the entry is started as a module, and under which name. */
int project_name_module(struct passage *passage, struct error *err);
/* Once the workspace is known: the link stands in /code, wherever the project does, so that its
 * parent is a folder that modules can be looked for in. */
int project_link_package(struct passage *passage, struct error *err);

/* memory_end.c: a runtime that ran into the limit it was told ends in its own way. */
void memory_end_listen(struct passage *passage, const struct step_order *order,
                       struct monitor_order *watch);
void memory_end_settle(struct passage *passage, const struct step_order *order);

/* inputs.c: what the guest was given in its workspace is none of its doing. */
int inputs_check(const struct plan_input *input, struct error *err);
int inputs_note(struct passage *passage, struct error *err);
void inputs_forgive(const struct passage *passage, int workspace_fd, struct file_list *after);

/* collect.c: copies what the request wants out of the workspace. */
int collect_files(struct passage *passage, int workspace_fd, const struct file_list *files,
                  struct error *err);

/* limits.c: what can be enforced, and what was. */
int limits_check(const struct passage *passage, const struct limits *limits, struct error *err);
uint64_t limits_machine_cpus(void);
uint32_t limits_pinned_cpus(const struct passage *passage, const struct limits *limits);
void limits_describe(struct passage *passage, const struct run *run, const struct limits *limits);
void limits_list(const struct limits *limits, struct result *result);
/* Lays what a language file gives over the limits. A timeout alone bounds the CPU time as well. */
void limits_lay_over(struct limits *limits, const struct language_limits *given);

/* events.c: what happens is told to whoever listens. */
void passage_tell(const struct passage *passage, const char *kind, const char *text);
void passage_tell_end(const struct passage *passage);
/* Whether somebody hears, or may look, what a run uses while it goes on. */
bool passage_tells_usage(const struct passage *passage);
void passage_listen(struct passage *passage, const struct step_order *order,
                    struct monitor_order *watch);

/* record.c: what is kept. None of it fails the run: what goes wrong is told as an event. */
void record_begin(struct passage *passage);
/* Files that the run made, while its workspace is there. */
void record_files(struct passage *passage, int workspace_fd);
/* How many bytes of each output that goes straight to the caller are kept all the same. */
uint64_t record_keeps_passed(const struct passage *passage);
void record_end(struct passage *passage);
/* What a turn came to becomes the result of the passage. */
int record_turn(struct passage *passage, const struct engine_turn *turn, struct error *err);

/* collect_tree.c: copies all of it, folders and links as they are. */
int collect_tree(struct passage *passage, int workspace_fd, struct error *err);
/* collect.c: no more than this is taken out. Holes count in the length of a file alone. */
struct collect_room {
        uint64_t file_bytes;  /* the length of one */
        uint64_t left;        /* data of all that are to come */
        uint64_t length_left; /* their lengths */
};
/* So much data, in one file or in many. */
struct collect_room collect_room_of(uint64_t bytes);
struct collect_room collect_room(const struct passage *passage);
bool collect_fits(const struct stat *st, const struct collect_room *room);
/* Writes one file that fits; -1 with errno, 1 where it has grown meanwhile and is left. */
int collect_write(int folder, const char *name, int from, const struct stat *st,
                  struct collect_room *room);
/* Copies one file; whether it was taken. -1 with errno where it could not be written. */
int collect_copy(int workspace_fd, const char *path, int folder, struct collect_room *room,
                 bool *ret_taken);

/* message.c: the sentence for a person. */
void message_compose(struct passage *passage);

#endif
