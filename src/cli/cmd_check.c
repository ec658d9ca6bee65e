/* `sandbox check`: static analysis without running. Exit 0, or 1 where --fail-on is reached. */
#include "cli/check.h"
#include "cli/run.h"
#include "base/fd.h"
#include "base/mem.h"

#include <string.h>

enum { EXIT_FINDINGS = 1 };

static const char *const levels[] = { "none", "low", "medium", "high", "critical" };

static const struct option check_options[] = {
        OPTION_HEADING("Code"),
        { "lang", 'l', "NAME", false, false,
          "language or alias; else by the file's extension or '#!' line" },
        { "code", 'c', "TEXT", false, true, "analyse TEXT" },
        { "file", 'f', "PATH", true, false,
          "the file PATH, as the word FILE does; '-' or nothing: standard input" },
        { "entry", 0, "PATH", false, false, "the file of a project that would be run",
          run_apply_entry },
        { "languages", 0, "DIR", false, false, "a folder of further language files" },
        OPTION_HEADING("Rules"),
        { "policy", 0, "NAME|FILE", false, false,
          "policy whose lists count as well; else SANDBOX_POLICY" },
        { "rules", 0, "DIR", true, false, "a folder of further rules", run_apply_rules },
        { "fail-on", 0, "LEVEL", false, false,
          "exit 1 from this level on: low, medium, high (default), critical, none" },
        OPTION_HEADING("Output"),
        { "output", 'o', "FORM", false, false, "text (default), json, sarif" },
        { "json", 0, NULL, false, false, "short for --output json" },
        OPTION_HELP,
        OPTION_END,
};

int check_level(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
                if (str_equal(name, levels[i]))
                        return (int)i;
        return -1;
}

/* What one call works on. */
struct check {
        const struct cli *cli;
        const struct options *options;
        const char *form;
        int fail_on; /* a level; 0: never */
        struct run_code code;
        sbx_request *req;
};

static int choose_form(struct check *check, struct error *err)
{
        const char *form = options_value(check->options, "output");
        char shown[80];
        int r;

        if (form && options_given(check->options, "json"))
                return error_set(err, SBX_EINVAL, "more than one of '--output', '--json'");
        check->form = options_given(check->options, "json") ? "json" : form ? form : "text";
        if (str_equal(check->form, "text") || str_equal(check->form, "json") ||
            str_equal(check->form, "sarif"))
                return 0;
        r = error_set(err, SBX_EINVAL, "option '--output': no such form '%s'",
                      str_printable(check->form, shown, sizeof(shown)));
        error_hint(err, "the forms are text, json and sarif");
        return r;
}

static int choose_level(struct check *check, struct error *err)
{
        const char *level = options_value(check->options, "fail-on");
        char shown[80];
        int r;

        check->fail_on = check_level(level ? level : "high");
        if (check->fail_on >= 0)
                return 0;
        r = error_set(err, SBX_EINVAL, "option '--fail-on': no such level '%s'",
                      str_printable(level, shown, sizeof(shown)));
        error_hint(err, "the levels are low, medium, high, critical and none");
        return r;
}

static int prepare(struct check *check, struct error *err)
{
        AUTO_POLICY sbx_policy *policy = NULL;
        sbx_error *failure = NULL;
        int r = choose_form(check, err);

        if (r == 0)
                r = choose_level(check, err);
        if (r == 0 && check->options->rest_given && check->options->rest_count > 0)
                r = error_set(err, SBX_EINVAL, "nothing runs: arguments have no meaning here");
        if (r == 0 && check->options->word_count > 1) {
                char shown[160];

                r = error_set(err, SBX_EINVAL, "one source at a time: unexpected '%s'",
                              str_printable(check->options->words[1], shown, sizeof(shown)));
                error_hint(err, "check each file by itself; those of one project are named "
                                "with '--file' each");
        }
        if (r == 0)
                r = setup_policy(check->options, NULL, &policy, err);
        if (r < 0)
                return r;
        check->req = sbx_request_new(options_value(check->options, "lang"), "");
        if (!check->req)
                return error_set_nomem(err);
        if (sbx_request_set_policy(check->req, policy, &failure) < 0)
                return report_take(err, failure);
        r = options_apply(check->options, check->req, err);
        if (r == 0)
                r = run_code_read(check->cli, check->options, check->req, &check->code, err);
        return r < 0 ? r : run_code_set(check->options, &check->code, check->req, err);
}

/* Whether the report reaches the level, or there is none. */
static bool fails(const struct check *check, const json_t *report)
{
        const char *risk = json_string_value(json_object_get(report, "risk"));

        if (check->fail_on == 0)
                return false;
        return !risk || check_level(risk) >= check->fail_on;
}

static int write_report(struct check *check, const char *text, const json_t *report,
                        struct error *err)
{
        struct check_report shown = { .report = report, .file = check->code.file_name };
        AUTO_STRBUF struct strbuf out = { 0 };

        if (str_equal(check->form, "json")) {
                char *indented = json_dumps(report, JSON_INDENT(2));

                strbuf_adds(&out, indented ? indented : text);
                strbuf_adds(&out, "\n");
                free(indented); /* jansson's own allocation */
        } else if (str_equal(check->form, "sarif")) {
                AUTO_FREE char *sarif = check_sarif(&shown);

                if (!sarif)
                        return error_set_nomem(err);
                strbuf_adds(&out, sarif);
                strbuf_adds(&out, "\n");
        } else {
                check_text(&shown, report_is_colored(1), &out);
        }
        if (out.failed)
                return error_set_nomem(err);
        return report_write(check->cli, out.data, out.length, err);
}

static int execute(struct check *check, struct error *err)
{
        AUTO_ENGINE sbx_engine *engine = NULL;
        sbx_error *failure = NULL;
        json_t *report;
        char *text;
        int r = setup_engine(options_value(check->options, "languages"), SETUP_NO_RUN, &engine,
                             err);

        if (r < 0)
                return r;
        text = sbx_check(engine, check->req, &failure);
        if (!text)
                return report_take(err, failure);
        report = json_loads(text, 0, NULL);
        r = report ? write_report(check, text, report, err) : error_set_nomem(err);
        if (r == 0 && fails(check, report))
                r = EXIT_FINDINGS;
        json_decref(report);
        sbx_string_free(text);
        return r;
}

static int check_main(const struct cli *cli, const struct options *options, struct error *err)
{
        struct check check = { .cli = cli, .options = options, .code = { .fd = -1 } };
        int r = prepare(&check, err);

        if (r == 0)
                r = execute(&check, err);
        sbx_request_free(check.req);
        mem_free(check.code.data);
        fd_close(check.code.fd);
        return r;
}

const struct command cmd_check = {
        .name = "check",
        .summary = "static security analysis, without running",
        .synopsis = "[options] [FILE | -]",
        .options = check_options,
        .notes = "Exit code: 0 nothing at or above --fail-on; 1 something, or it could not be "
                 "analysed;\n125 bad usage. Advice, not a wall: the container is the wall.\n",
        .run = check_main,
};
