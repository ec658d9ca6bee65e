/* `sandbox policy show | check | schema`. */
#include "cli/cli.h"
#include "base/mem.h"

#include <string.h>

static const struct option policy_options[] = {
        OPTION_HEADING("Options"),
        { "policy", 0, "FILE", false, false, "show: the policy file; else SANDBOX_POLICY" },
        { "lang", 'l', "NAME", false, false, "show: as it stands for this language" },
        { "json", 0, NULL, false, false, "show: as JSON instead of YAML" },
        OPTION_HELP,
        OPTION_END,
};

static int policy_show(const struct cli *cli, const struct options *options, struct error *err)
{
        AUTO_POLICY sbx_policy *policy = NULL;
        sbx_error *failure = NULL;
        char *text;
        int r;

        if (options->word_count > 1) {
                r = error_set(err, SBX_EINVAL, "policy show: unexpected word '%.200s'",
                              options->words[1]);
                error_hint(err, "the file is given with --policy FILE");
                return r;
        }
        r = setup_policy(options_value(options, "policy"), &policy, err);
        if (r < 0)
                return r;
        text = sbx_policy_show(policy, options_value(options, "lang"),
                               options_given(options, "json") ? "json" : "yaml", &failure);
        return text ? report_write_taken(cli, text, err) : report_take(err, failure);
}

/* Says "FILE: ok", or the error on stderr; whether it was ok. */
static int check_file(const struct cli *cli, const char *path, bool *ret_ok, struct error *err)
{
        AUTO_POLICY sbx_policy *policy = sbx_policy_new();
        AUTO_ENGINE sbx_engine *engine = NULL;
        AUTO_STRBUF struct strbuf line = { 0 };
        sbx_error *failure = NULL;
        struct error found = { 0 };
        char shown[512];
        int r = policy ? setup_engine(NULL, false, &engine, err) : error_set_nomem(err);

        if (r < 0)
                return r;
        *ret_ok = sbx_policy_load_file(policy, path, &failure) == 0 &&
                  sbx_engine_check_policy(engine, policy, &failure) == 0;
        if (!*ret_ok) {
                (void)report_take(&found, failure); /* its code is of no use here */
                report_error(&found);
                return 0;
        }
        strbuf_addf(&line, "%s: ok\n", str_printable(path, shown, sizeof(shown)));
        if (line.failed)
                return error_set_nomem(err);
        return report_write(cli, line.data, line.length, err);
}

static int policy_check(const struct cli *cli, const struct options *options, struct error *err)
{
        bool all_ok = true;

        if (options->use_count > 0)
                return error_set(err, SBX_EINVAL, "policy check: takes no option '--%s'",
                                 options->uses[0].option->name);
        if (options->word_count < 2)
                return error_set(err, SBX_EINVAL, "policy check: no file given");
        for (size_t i = 1; i < options->word_count; i++) {
                bool ok = false;
                int r = check_file(cli, options->words[i], &ok, err);

                if (r < 0)
                        return r;
                all_ok = all_ok && ok;
        }
        return all_ok ? 0 : EXIT_NOT_RUN;
}

static int policy_schema(const struct cli *cli, const struct options *options, struct error *err)
{
        sbx_error *failure = NULL;
        char *text;

        if (options->use_count > 0 || options->word_count > 1)
                return error_set(err, SBX_EINVAL, "policy schema: takes neither words nor options");
        text = sbx_policy_schema(&failure);
        return text ? report_write_taken(cli, text, err) : report_take(err, failure);
}

static int policy_main(const struct cli *cli, const struct options *options, struct error *err)
{
        static const struct {
                const char *name;
                int (*run)(const struct cli *cli, const struct options *options, struct error *err);
        } actions[] = {
                { "show", policy_show },
                { "check", policy_check },
                { "schema", policy_schema },
        };
        const char *word = options->word_count ? options->words[0] : "";
        char shown[80];
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
                if (strcmp(word, actions[i].name) == 0)
                        return actions[i].run(cli, options, err);
        if (*word)
                r = error_set(err, SBX_EINVAL, "policy: unknown word '%s'",
                              str_printable(word, shown, sizeof(shown)));
        else
                r = error_set(err, SBX_EINVAL, "policy: nothing asked");
        error_hint(err,
                   "sandbox policy show, sandbox policy check FILE..., or sandbox policy schema");
        return r;
}

const struct command cmd_policy = {
        .name = "policy",
        .summary = "show the effective policy, validate files, print the schema",
        .synopsis = "show [--policy FILE] [--lang NAME] [--json] | check FILE... | schema",
        .options = policy_options,
        .notes = "check: 'FILE: ok' or the error with line and column; exit 0 when all are ok, "
                 "else 125.\n",
        .run = policy_main,
};
