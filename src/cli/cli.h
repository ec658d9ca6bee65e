/*
 * The command line: outside words to calls of sandbox.h and back. Nothing else is known here.
 *
 * Every sub-command is one file with a constant descriptor. A command returns the exit code of the
 * process, or a negative SBX_E* with `err` filled, which main() prints and turns into 125.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/options.h"
#include "sandbox.h"

enum {
        EXIT_NOT_RUN = 125, /* the sandbox did not run it */
};

/* What main() found out about the process it runs in. */
struct cli {
        bool closed[3]; /* standard streams that were closed when we started */
};

struct command {
        const char *name;
        const char *summary;  /* one line */
        const char *synopsis; /* what follows the name */
        const struct option *options;
        const char *notes; /* further lines of the help, or NULL */
        bool uses_groups;  /* it starts sandboxes: see scope.c */
        int (*run)(const struct cli *cli, const struct options *options, struct error *err);
};

extern const struct command cmd_run;
extern const struct command cmd_check;
extern const struct command cmd_doctor;
extern const struct command cmd_languages;
extern const struct command cmd_templates;
extern const struct command cmd_policy;
extern const struct command cmd_bench;
extern const struct command cmd_history;
extern const struct command cmd_top;
extern const struct command cmd_keeper;
extern const struct command cmd_mcp;
extern const struct command cmd_images;

/* The name of the sub-command nearest to a misspelt word, or NULL. */
const char *command_nearest(const char *word);

/* scope.c: starts the command again in a scope of the user's service manager where that gives it
 * the right to make control groups. Returns where it does not, or is not possible. */
void scope_enter(const char *command, int argc, char **argv);

/* report.c: what is said to the person. */

/* "sandbox: <message>" and the hint on stderr. Failing to write there is nobody's business. */
void report_error(const struct error *err);
void report_line(const char *message, const char *hint); /* `hint` may be NULL */
/* Moves the library's error into `err`, frees it, and returns its code. */
int report_take(struct error *err, sbx_error *from);
/* Writes an answer to standard output, whole, or fails with SBX_EOUTPUT. */
int report_write(const struct cli *cli, const char *text, size_t length, struct error *err);
/* The same for text of the library, which is freed; a newline is added where it ends without. */
int report_write_taken(const struct cli *cli, char *text, struct error *err);
/* Whether colours are wanted on this descriptor. */
bool report_is_colored(int fd);

#define AUTO_ENGINE __attribute__((cleanup(cli_engine_free_p)))
#define AUTO_POLICY __attribute__((cleanup(cli_policy_free_p)))

static inline void cli_engine_free_p(sbx_engine **engine)
{
        sbx_engine_free(*engine);
}

static inline void cli_policy_free_p(sbx_policy **policy)
{
        sbx_policy_free(*policy);
}

/* setup.c: the engine and the policy as the options and the environment say. */

/* What an engine is for: no run; one that follows at once; the same in a container engine, for
 * which no helper of ours waits. */
enum setup_use { SETUP_NO_RUN, SETUP_RUN, SETUP_RUN_ELSEWHERE };

/* `languages_dir` may be NULL. */
int setup_engine(const char *languages_dir, enum setup_use use, sbx_engine **ret_engine,
                 struct error *err);
/* What it is for where something runs. A policy is read first only where it comes from a file,
 * which may name a backend; then it is in `ret_policy`, which is the caller's. */
enum setup_use setup_use_of_run(const struct options *options, sbx_policy **ret_policy);
/* The policies and seals that the options name, in their order; without any, SANDBOX_POLICY; then
 * the SANDBOX_* variables over them. `more` are further options, or NULL. */
int setup_policy(const struct options *options, const struct options *more, sbx_policy **ret_policy,
                 struct error *err);
/* One policy by the name of a profile or the path of a file. */
int setup_policy_load(sbx_policy *policy, const char *word, struct error *err);
/* Where the keeper of this user listens, if there is one; NULL where there can be none. Caller
 * frees. */
char *setup_keeper_path(void);
/* keeper_ask.c: what `sandbox keeper` does with one that is there at that path. */
bool keeper_is_asked(const struct options *options);
int keeper_ask(const struct cli *cli, const struct options *options, const char *path,
               struct error *err);
/* No words or arguments are taken by this command. */
int setup_refuse_words(const struct options *options, struct error *err);

#endif
