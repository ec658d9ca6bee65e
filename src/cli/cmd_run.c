/*
 * `sandbox run`: code, options and policy become a request; the result becomes output and exit
 * code. Everything is checked before the engine is asked for anything, so that a mistake has run
 * nothing.
 */
#include "cli/run.h"
#include "base/fd.h"
#include "base/mem.h"

#include <unistd.h>

/* What one call of `sandbox run` works on. */
struct run {
        const struct cli *cli;
        const struct options *options;
        enum output_form form;
        bool quiet;
        struct run_code code;
        int stdin_fd; /* owned, or -1 */
        sbx_request *req;
        sbx_policy *policy; /* owned; NULL while it was not read */
        sbx_cases *cases;   /* owned, or NULL */
        unsigned jobs;
        struct run_verdicts verdicts;
        struct run_events events;
        struct run_log log;
};

static int set_code(struct run *run, struct error *err)
{
        sbx_error *failure = NULL;
        int r = run_code_set(run->options, &run->code, run->req, err);

        if (r < 0)
                return r;
        for (size_t i = 0; r == 0 && i < run->options->rest_count; i++)
                r = sbx_request_add_argument(run->req, run->options->rest[i], &failure);
        if (r == 0 && run->stdin_fd >= 0)
                r = sbx_request_set_stdin_fd(run->req, run->stdin_fd, &failure);
        return r < 0 ? report_take(err, failure) : 0;
}

static int set_policy(struct run *run, struct error *err)
{
        sbx_error *failure = NULL;
        int r = run->policy ? 0 : setup_policy(run->options, NULL, &run->policy, err);

        if (r < 0)
                return r;
        if (sbx_request_set_policy(run->req, run->policy, &failure) < 0)
                return report_take(err, failure);
        return options_apply(run->options, run->req, err);
}

/* The raw form belongs to the program: we speak only where a person sits or asked. */
static bool shows_warnings(const struct run *run)
{
        return run->form != OUTPUT_RAW ||
               (!run->quiet &&
                (isatty(2) || options_given(run->options, "check") ||
                 options_given(run->options, "rules") || options_given(run->options, "verbose")));
}

static int set_output(struct run *run, struct error *err)
{
        sbx_error *failure = NULL;
        int r = 0;

        if (run->cases && (run->form == OUTPUT_RAW || run->form == OUTPUT_TEXT)) {
                run->verdicts.req = run->req;
                r = sbx_request_set_event_handler(run->req, run_cases_hear, &run->verdicts,
                                                  &failure);
        } else if (run->form == OUTPUT_RAW) {
                r = sbx_request_set_output_fd(run->req, 1, 1, &failure);
                if (r == 0)
                        r = sbx_request_set_output_fd(run->req, 2, 2, &failure);
        } else if (run->form == OUTPUT_JSONL) {
                run_events_init(&run->events, run->req);
                r = sbx_request_set_event_handler(run->req, run_events_handle, &run->events,
                                                  &failure);
        }
        if (r == 0)
                r = sbx_request_set_warnings(run->req, shows_warnings(run), &failure);
        if (r == 0)
                r = sbx_request_set_log_handler(run->req, run_log_handle, &run->log, &failure);
        return r < 0 ? report_take(err, failure) : 0;
}

/* Everything that can be wrong with the request, before anything is started. */
static int prepare(struct run *run, struct error *err)
{
        int r = run_output_form(run->options, &run->form, err);

        if (r == 0)
                r = run_check_combinations(run->options, err);
        if (r == 0 && run->cli->closed[1])
                r = error_set(err, SBX_EOUTPUT, "standard output: closed");
        if (r < 0)
                return r;
        run->req = sbx_request_new(options_value(run->options, "lang"), "");
        if (!run->req)
                return error_set_nomem(err);
        /* Options before the code, which may come from a terminal: nobody types in vain. */
        r = set_policy(run, err);
        if (r == 0)
                r = run_add_inputs(run->options, run->req, err);
        if (r == 0)
                r = run_template_set(run->req, run->options, err);
        if (r == 0)
                r = run_cases_jobs(run->options, &run->jobs, err);
        if (r == 0)
                r = run_cases_read(run->options, run->req, &run->cases, err);
        if (r == 0)
                r = run_code_read(run->cli, run->options, run->req, &run->code, err);
        if (r == 0)
                r = run_stdin_open(run->cli, run->options, run->req, &run->code, &run->stdin_fd,
                                   err);
        if (r == 0)
                r = set_code(run, err);
        if (r == 0)
                r = run_log_open(&run->log, run->req, options_value(run->options, "log"), err);
        if (r == 0)
                r = run_open_collect(run->options, run->req, err);
        return r < 0 ? r : set_output(run, err);
}

static int write_result(struct run *run, const sbx_result *result, struct error *err)
{
        static const char *const forms[] = {
                [OUTPUT_TEXT] = "text",
                [OUTPUT_JSON] = "json",
                [OUTPUT_JSONL] = "jsonline",
        };
        sbx_error *failure = NULL;
        char *text;
        int r;

        text = sbx_result_format(result, forms[run->form], report_is_colored(1), &failure);
        if (!text)
                return report_take(err, failure);
        if (run->form != OUTPUT_JSONL)
                return report_write_taken(run->cli, text, err);
        r = run_events_complete(&run->events, text, err);
        sbx_string_free(text);
        return r;
}

static int report_result(struct run *run, const sbx_result *result, struct error *err)
{
        int r = run->form == OUTPUT_RAW ? run_report_streams(result, run->quiet, err)
                                        : write_result(run, result, err);

        if (r == 0 && run->cases && run->form == OUTPUT_RAW)
                r = run_cases_summary(run->cli, &run->verdicts, result, err);
        if (r < 0)
                return r;
        run_report_outcome(result, run->form, run->quiet);
        if (run->log.not_recorded.length > 0 && !run->quiet)
                report_line(run->log.not_recorded.data, NULL);
        if (run->form == OUTPUT_RAW && !run->quiet)
                run_report_missing(result);
        if (run->form == OUTPUT_RAW && shows_warnings(run))
                run_report_warnings(result);
        if (options_given(run->options, "verbose"))
                r = run_report_details(result, err);
        else if (run->form == OUTPUT_RAW && !run->quiet && isatty(2))
                run_report_figures(result);
        return r;
}

/* The end of the process gives its memory back faster than we can piece by piece; the sanitizers'
 * builds go the long way, and so does everything that still has something to write. */
static void end_quickly(const struct run *run, int code)
{
#ifndef __SANITIZE_ADDRESS__
        if (run->form == OUTPUT_RAW)
                _exit(code);
#else
        (void)run;
        (void)code;
#endif
}

static int execute(struct run *run, sbx_engine *engine, struct error *err)
{
        AUTO_RESULT sbx_result *result = NULL;
        sbx_error *failure = NULL;
        int r;

        run_signals_catch(run->req);
        result = run->cases ? sbx_run_cases(engine, run->req, run->cases, run->jobs, &failure)
                            : sbx_run(engine, run->req, &failure);
        run_signals_forget();
        if (!result)
                r = report_take(err, failure);
        else
                r = report_result(run, result, err);
        if (run_signals_caught())
                return 128 + run_signals_caught();
        if (r < 0)
                return r;
        end_quickly(run, sbx_result_process_exit_code(result));
        return sbx_result_process_exit_code(result);
}

static int run_main(const struct cli *cli, const struct options *options, struct error *err)
{
        struct run run = {
                .cli = cli,
                .options = options,
                .quiet = options_given(options, "quiet"),
                .code = { .fd = -1 },
                .stdin_fd = -1,
                .log = { .fd = -1 },
        };
        AUTO_ENGINE sbx_engine *engine = NULL;
        /* First of all: its helper starts up on another CPU while we read code and policy, unless
         * that is a file, which may have it run elsewhere. It runs nothing before it has its
         * order, and goes if there is none. */
        int r = setup_engine(options_value(options, "languages"),
                             setup_use_of_run(options, &run.policy), &engine, err);

        if (r == 0)
                r = prepare(&run, err);
        if (r == 0)
                r = execute(&run, engine, err);
        run_events_done(&run.events);
        run_log_close(&run.log);
        sbx_request_free(run.req);
        sbx_policy_free(run.policy);
        sbx_cases_free(run.cases);
        fd_close(run.stdin_fd);
        mem_free(run.code.data);
        fd_close(run.code.fd);
        return r;
}

const struct command cmd_run = {
        .name = "run",
        .summary = "run code, contained",
        .synopsis = "[options] [FILE | -] [-- ARGS...]",
        .uses_groups = true,
        .options = run_options,
        .notes = "Exit code: the program's own; 124 time limit or fuel used up; 125 the sandbox "
                 "did not run it; 126 "
                 "blocked by\nthe policy; 128 + N died of signal N (137: also the memory limit).\n",
        .run = run_main,
};
