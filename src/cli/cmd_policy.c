/* `sandbox policy show | list | check | schema`. */
#include "cli/run.h"
#include "cli/table.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static const struct option policy_options[] = {
        OPTION_HEADING("Options"),
        { "policy", 0, "NAME|FILE", true, false, "show: the policy; else SANDBOX_POLICY" },
        { "sealed", 0, NULL, false, false, "show: what follows can only tighten" },
        { "lang", 'l', "NAME", false, false, "show: as it stands for this language" },
        { "explain", 0, NULL, false, false, "show: which layer set each value" },
        { "json", 0, NULL, false, false, "show, list: as JSON" },
        OPTION_HELP,
        OPTION_END,
};

/* ---- show ---- */

/* The flag of `sandbox run` that sets the key, or NULL. */
static const char *flag_of(const char *key)
{
        if (strcmp(key, "filesystem.mounts") == 0)
                return "volume";
        if (strcmp(key, "limits.stderr") == 0)
                key = "limits.stdout";
        for (const struct option *option = run_options; option->help; option++) {
                size_t length = option->key ? strlen(option->key) : 0;

                if (length && (strcmp(option->key, key) == 0 || (option->key[length - 1] == '.' &&
                                                                 str_has_prefix(key, option->key))))
                        return option->name;
        }
        return strcmp(key, "sealed") == 0 ? "sealed" : NULL;
}

/* "p.yaml:3", "profile strict:7", "environment SANDBOX_TYPE", "flag --timeout", "default". */
static void add_origin(struct strbuf *out, const json_t *row)
{
        const char *layer = json_string_value(json_object_get(row, "layer"));
        const char *source = json_string_value(json_object_get(row, "source"));
        const char *language = json_string_value(json_object_get(row, "language"));
        const char *flag = flag_of(json_string_value(json_object_get(row, "key")));
        json_int_t line = json_integer_value(json_object_get(row, "line"));

        if (strcmp(layer, "request") == 0)
                strbuf_addf(out, "flag%s%s", flag ? " --" : "", flag ? flag : "");
        else if (strcmp(layer, "file") == 0)
                strbuf_adds(out, source ? source : "file");
        else
                strbuf_addf(out, "%s%s%s", layer, source ? " " : "", source ? source : "");
        if (line)
                strbuf_addf(out, ":%lld", (long long)line);
        if (language)
                strbuf_addf(out, " (block for %s)", language);
}

/* A table of key, origin and value from the library's explanation. */
static int write_explanation(const struct cli *cli, const char *text, struct error *err)
{
        static const char *const columns[] = { "key", "from", "value" };
        AUTO_STRBUF struct strbuf out = { 0 };
        json_t *rows = json_loads(text, 0, NULL), *row;
        size_t index;

        json_array_foreach(rows, index, row)
        {
                AUTO_STRBUF struct strbuf origin = { 0 };

                add_origin(&origin, row);
                if (origin.failed || json_object_set(row, "value", json_object_get(row, "text")) ||
                    json_object_set_new(row, "from", json_string(origin.data)))
                        out.failed = true;
        }
        table_format(rows, columns, ARRAY_SIZE(columns), &out);
        json_decref(rows);
        return out.failed ? error_set_nomem(err) : report_write(cli, out.data, out.length, err);
}

/* The language's own name, by which policies know it; NULL where none was asked for. */
static int find_language(const char *name, char **ret_name, struct error *err)
{
        AUTO_ENGINE sbx_engine *engine = NULL;
        sbx_error *failure = NULL;
        int r = name ? setup_engine(NULL, SETUP_NO_RUN, &engine, err) : 0;

        *ret_name = NULL;
        if (r < 0 || !name)
                return r;
        *ret_name = sbx_language_name(engine, name, &failure);
        if (*ret_name)
                return 0;
        r = report_take(err, failure);
        error_prefix(err, "option '--lang'");
        return r;
}

/* What holds for a run with these options; `profile` is a word of the command, or NULL. */
static int effective_text(const struct options *options, const struct options *run,
                          const char *profile, const char *form, char **ret_text, struct error *err)
{
        AUTO_POLICY sbx_policy *policy = NULL;
        AUTO_REQUEST sbx_request *req = sbx_request_new(NULL, NULL);
        const struct option named = { .name = "policy" };
        struct option_use use = { .option = &named, .value = profile };
        struct options word = { .uses = &use, .use_count = profile ? 1 : 0 };
        sbx_error *failure = NULL;
        char *language = NULL;
        int r = req ? setup_policy(profile ? &word : options, run, &policy, err)
                    : error_set_nomem(err);

        if (r == 0 && sbx_request_set_policy(req, policy, &failure) < 0)
                r = report_take(err, failure);
        if (r == 0)
                r = options_apply(run, req, err);
        if (r < 0)
                return r;
        r = find_language(options_value(options, "lang"), &language, err);
        if (r < 0)
                return r;
        *ret_text = sbx_request_show_policy(req, language, form, &failure);
        sbx_string_free(language);
        return *ret_text ? 0 : report_take(err, failure);
}

static int policy_show(const struct cli *cli, const struct options *options, struct error *err)
{
        AUTO_OPTIONS struct options run = { 0 };
        const char *profile = options->word_count > 1 ? options->words[1] : NULL;
        bool json = options_given(options, "json"), explain = options_given(options, "explain");
        char *text = NULL;
        int r;

        if (options->word_count > 2)
                return error_set(err, SBX_EINVAL, "policy show: unexpected word '%.200s'",
                                 options->words[2]);
        if (profile && (options_given(options, "policy") || options_given(options, "sealed")))
                return error_set(err, SBX_EINVAL,
                                 "policy show: a name does not go with '--policy' or '--sealed'");
        r = options_parse(&run, run_options, (int)options->rest_count, options->rest, err);
        if (r == 0 && run.word_count + run.rest_count > 0)
                r = error_set(err, SBX_EINVAL,
                              "policy show: after '--' stand options of run, not '%.200s'",
                              run.word_count ? run.words[0] : run.rest[0]);
        if (r == 0)
                r = effective_text(options, &run, profile,
                                   explain ? "explain" : (json ? "json" : "yaml"), &text, err);
        if (r < 0)
                return r;
        if (!explain || json)
                return report_write_taken(cli, text, err);
        r = write_explanation(cli, text, err);
        sbx_string_free(text);
        return r;
}

/* ---- list ---- */

static int policy_list(const struct cli *cli, const struct options *options, struct error *err)
{
        static const char *const columns[] = { "name", "what" };
        AUTO_STRBUF struct strbuf out = { 0 };
        sbx_error *failure = NULL;
        json_t *rows;
        char *text;

        if (options->word_count > 1 || options->rest_count > 0 ||
            options->use_count > (size_t)options_given(options, "json"))
                return error_set(err, SBX_EINVAL, "policy list: takes '--json' and nothing else");
        text = sbx_policy_profiles_json(&failure);
        if (!text)
                return report_take(err, failure);
        if (options_given(options, "json"))
                return report_write_taken(cli, text, err);
        rows = json_loads(text, 0, NULL);
        sbx_string_free(text);
        table_format(rows, columns, ARRAY_SIZE(columns), &out);
        json_decref(rows);
        return out.failed ? error_set_nomem(err) : report_write(cli, out.data, out.length, err);
}

/* ---- check and schema ---- */

/* Says "FILE: ok", or the error on stderr; whether it was ok. */
static int check_file(const struct cli *cli, const char *path, bool *ret_ok, struct error *err)
{
        AUTO_POLICY sbx_policy *policy = sbx_policy_new();
        AUTO_ENGINE sbx_engine *engine = NULL;
        AUTO_STRBUF struct strbuf line = { 0 };
        sbx_error *failure = NULL;
        struct error found = { 0 };
        char shown[512];
        int r = policy ? setup_engine(NULL, SETUP_NO_RUN, &engine, err) : error_set_nomem(err);

        if (r < 0)
                return r;
        *ret_ok = setup_policy_load(policy, path, &found) == 0;
        if (*ret_ok && sbx_engine_check_policy(engine, policy, &failure) < 0) {
                (void)report_take(&found, failure); /* its code is of no use here */
                *ret_ok = false;
        }
        if (!*ret_ok) {
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
                { "list", policy_list },
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
        error_hint(err, "sandbox policy show, list, check FILE... or schema");
        return r;
}

const struct command cmd_policy = {
        .name = "policy",
        .summary = "show and explain the effective policy, validate files, print the schema",
        .synopsis = "show [NAME|FILE] [--explain] [--lang L] [--json] [-- OPTIONS OF RUN] | list | "
                    "check NAME|FILE... | schema",
        .options = policy_options,
        .notes = "show: what holds for a run with those options. list: the policies that need no "
                 "file;\na file of such a name is written ./NAME. "
                 "check: 'FILE: ok' or the error with line and column; exit 0 when all are ok, "
                 "else 125.\n",
        .run = policy_main,
};
