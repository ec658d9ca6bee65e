/* The parts of `sandbox run`, one file each. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/cli.h"

#include <signal.h>

#define AUTO_REQUEST __attribute__((cleanup(run_request_free_p)))
#define AUTO_RESULT  __attribute__((cleanup(run_result_free_p)))

static inline void run_request_free_p(sbx_request **req)
{
        sbx_request_free(*req);
}

static inline void run_result_free_p(sbx_result **result)
{
        sbx_result_free(*result);
}

/* run_options.c */
extern const struct option run_options[];
/* --entry and --rules, which `sandbox check` has too. */
int run_apply_entry(const struct option *option, const char *value, void *target,
                    struct error *err);
int run_apply_rules(const struct option *option, const char *value, void *target,
                    struct error *err);

enum output_form { OUTPUT_RAW, OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_JSONL };
int run_output_form(const struct options *options, enum output_form *ret_form, struct error *err);
/* Combinations that no single option can judge. */
int run_check_combinations(const struct options *options, struct error *err);

/* run_code.c: the code from exactly one source, and the program's standard input. */
struct run_code {
        char *data; /* owned; NULL where the code is in a file */
        size_t length;
        int fd;                /* owned: that file, or -1 */
        const char *file_name; /* borrowed; NULL where the code has no name */
        bool from_stdin;
        const char *project; /* borrowed: the path of a folder or of several files; or NULL */
};

/* run_files.c */
/* sbx_request_open(), once all options are applied; 1, with errno, where it cannot be opened. */
int run_open(sbx_request *req, const char *path, int flags, unsigned mode, int *ret_fd,
             struct error *err);
/* A folder, or several files, instead of one piece of code. */
bool run_is_project(const struct options *options, const char *path);
int run_add_project(const struct options *options, const char *path, sbx_request *req,
                    struct error *err);
/* What --input-file names. */
int run_add_inputs(const struct options *options, sbx_request *req, struct error *err);
/* What --collect-to names. */
int run_open_collect(const struct options *options, sbx_request *req, struct error *err);

/* `req` is that of the run, as for all that opens what was named. */
int run_code_read(const struct cli *cli, const struct options *options, sbx_request *req,
                  struct run_code *ret_code, struct error *err);
/* Gives the request what was read. */
int run_code_set(const struct options *options, const struct run_code *code, sbx_request *req,
                 struct error *err);
/* Opens what --stdin names; -1 where nothing is given and standard input stays empty. */
int run_stdin_open(const struct cli *cli, const struct options *options, sbx_request *req,
                   const struct run_code *code, int *ret_fd, struct error *err);

/* run_template.c: --template, --set and --set-file. */
int run_template_set(sbx_request *req, const struct options *options, struct error *err);
/* A regular file of at most `max` bytes. Caller frees `*ret_data`. */
int run_read_file(sbx_request *req, const char *path, size_t max, char **ret_data,
                  size_t *ret_length, struct error *err);

/* run_cases.c: --cases and --jobs. */
/* NULL where there are none. Caller frees `*ret_cases`. */
int run_cases_read(const struct options *options, sbx_request *req, sbx_cases **ret_cases,
                   struct error *err);
int run_cases_jobs(const struct options *options, unsigned *ret_jobs, struct error *err);
/* Who writes the verdicts: the userdata of run_cases_hear(). */
struct run_verdicts {
        sbx_request *req; /* borrowed; cancelled when a line cannot be written */
        int failure;      /* errno of the failed write, or 0 */
};
void run_cases_hear(const sbx_event *event, void *userdata);
/* "2 of 3 cases accepted", in the raw form; fails where a verdict could not be written. */
int run_cases_summary(const struct cli *cli, const struct run_verdicts *verdicts,
                      const sbx_result *result, struct error *err);

/* run_signals.c: SIGINT, SIGTERM and SIGHUP end the run in an orderly way. */
void run_signals_catch(sbx_request *req);
/* After the run: signals act as usual again, and the request may be freed. */
void run_signals_forget(void);
int run_signals_caught(void); /* the signal, or 0 */

/* run_events.c: the lines of `jsonl`. */
struct run_events {
        sbx_request *req;    /* borrowed; cancelled when a line cannot be written */
        struct strbuf queue; /* lines not yet taken by the reader */
        size_t queue_start;  /* what is before it has been written */
        struct {
                char bytes[4]; /* the beginning of a character that a chunk cut */
                size_t length;
        } held[2];    /* of stdout, of stderr */
        double time;  /* of the latest event */
        bool is_file; /* standard output never makes us wait */
        int failure;  /* errno of the failed write, or 0 */
};

void run_events_init(struct run_events *events, sbx_request *req);
void run_events_done(struct run_events *events);
void run_events_handle(const sbx_event *event, void *userdata);
/* Adds the last line and waits until all is written. `result_line` is the result's JSON. */
int run_events_complete(struct run_events *events, const char *result_line, struct error *err);

/* run_log.c: events as JSON lines for a log, and the warning that a run was not recorded. */
struct run_log {
        int fd;             /* owned where it is a file or a socket; -1: nothing is logged */
        const char *prefix; /* of each datagram; NULL: lines of a file */
        int facility;       /* of syslog, added to the priority */
        bool is_shared;     /* the descriptor is standard error's */
        struct strbuf not_recorded; /* why, or empty */
};

/* `where` may be NULL: nowhere; `req` where there is no run: every link is the caller's own. */
int run_log_open(struct run_log *log, sbx_request *req, const char *where, struct error *err);
void run_log_close(struct run_log *log);
void run_log_handle(const sbx_event *event, void *log);

/* run_report.c: what is told about a run that ended, on stderr. */
/* Which protections a run that accepts less went without. */
void run_report_missing(const sbx_result *result);
/* "sandbox: <message>" where the outcome needs words. */
void run_report_outcome(const sbx_result *result, enum output_form form, bool quiet);
/* For the raw form: what the compiler said, and that output was cut. */
int run_report_streams(const sbx_result *result, bool quiet, struct error *err);
/* What static analysis found, from "high" on. */
void run_report_warnings(const sbx_result *result);
/* The dim line of figures. */
void run_report_figures(const sbx_result *result);
/* Which backend, limits and protections there were. */
int run_report_details(const sbx_result *result, struct error *err);

#endif
