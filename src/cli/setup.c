#include "cli/cli.h"
#include "base/str.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *setup_keeper_path(void)
{
        const char *chosen = getenv("SANDBOX_KEEPER"), *runtime = getenv("XDG_RUNTIME_DIR");
        const char *home = getenv("HOME");
        AUTO_STRBUF struct strbuf path = { 0 };

        if (chosen && strcmp(chosen, "off") == 0)
                return NULL;
        if (chosen && *chosen)
                return mem_strdup(chosen);
        if (geteuid() == 0)
                return mem_strdup("/run/sandbox/keeper.sock");
        if (runtime && runtime[0] == '/')
                strbuf_addf(&path, "%s/sandbox/keeper.sock", runtime);
        else if (home && home[0] == '/' && home[1]) /* as after `su -`, in a container, by cron */
                strbuf_addf(&path, "%s/.local/state/sandbox/keeper/keeper.sock", home);
        else
                return NULL;
        return strbuf_take(&path);
}

/* None of the profiles has it run elsewhere. */
static bool names_policy_file(const struct options *options)
{
        const char *named = getenv("SANDBOX_POLICY");

        for (size_t i = 0; i < options->use_count; i++)
                if (strcmp(options->uses[i].option->name, "policy") == 0 &&
                    !sbx_policy_is_profile(options->uses[i].value))
                        return true;
        return named && *named && !sbx_policy_is_profile(named);
}

enum setup_use setup_use_of_run(const struct options *options, sbx_policy **ret_policy)
{
        const char *backend = options_value(options, "backend");
        struct error err = { 0 };

        if (!backend)
                backend = getenv("SANDBOX_TYPE");
        /* What is wrong with a file is told where it is read again, after the other options. */
        if (!backend && names_policy_file(options) &&
            setup_policy(options, NULL, ret_policy, &err) == 0)
                backend = sbx_policy_backend(*ret_policy);
        return str_equal(backend, "docker") ? SETUP_RUN_ELSEWHERE : SETUP_RUN;
}

/* Of use to tests and measurements: a run waits until it can start warm. */
static unsigned warm_slots(void)
{
        const char *waits = getenv("SANDBOX_WARM_WAIT");

        return waits && *waits && !str_equal(waits, "0") ? 1 : 0;
}

int setup_engine(const char *languages_dir, enum setup_use use, sbx_engine **ret_engine,
                 struct error *err)
{
        sbx_engine_options options = { .size = sizeof(options),
                                       .languages_dir = languages_dir,
                                       .early_start = use == SETUP_RUN,
                                       .warm_slots = warm_slots(),
                                       .warm_waits = true };
        AUTO_FREE char *keeper = use == SETUP_NO_RUN ? NULL : setup_keeper_path();
        sbx_error *failure = NULL;
        sbx_engine *engine;

        options.keeper_path = keeper;
        engine = sbx_engine_new(&options, &failure);
        if (!engine)
                return report_take(err, failure);
        *ret_engine = engine;
        return 0;
}

/* A word alone names a profile; so a file of that name is written "./strict". */
int setup_policy_load(sbx_policy *policy, const char *word, struct error *err)
{
        sbx_error *failure = NULL;
        int r = sbx_policy_is_profile(word) ? sbx_policy_load_profile(policy, word, &failure)
                                            : sbx_policy_load_file(policy, word, &failure);

        return r == 0 ? 0 : report_take(err, failure);
}

static int add_policies(const struct options *options, sbx_policy *policy, struct error *err)
{
        sbx_error *failure = NULL;
        int r = 0;

        for (size_t i = 0; r == 0 && i < options->use_count; i++) {
                const struct option_use *use = &options->uses[i];

                if (strcmp(use->option->name, "policy") == 0)
                        r = setup_policy_load(policy, use->value, err);
                else if (strcmp(use->option->name, "sealed") == 0 &&
                         sbx_policy_seal(policy, &failure) < 0)
                        r = report_take(err, failure);
        }
        return r;
}

int setup_policy(const struct options *options, const struct options *more, sbx_policy **ret_policy,
                 struct error *err)
{
        AUTO_POLICY sbx_policy *policy = sbx_policy_new();
        const char *named = getenv("SANDBOX_POLICY");
        bool given = options_given(options, "policy") || (more && options_given(more, "policy"));
        sbx_error *failure = NULL;
        int r = policy ? add_policies(options, policy, err) : error_set_nomem(err);

        if (r == 0 && more)
                r = add_policies(more, policy, err);
        /* It belongs to the environment: above a seal of the command line, below its own values. */
        if (r == 0 && !given && named && *named)
                r = setup_policy_load(policy, named, err);
        if (r < 0)
                return r;
        if (sbx_policy_load_environment(policy, environ, &failure) < 0)
                return report_take(err, failure);
        *ret_policy = policy;
        policy = NULL;
        return 0;
}

int setup_refuse_words(const struct options *options, struct error *err)
{
        char shown[160];
        const char *word = options->word_count   ? options->words[0]
                           : options->rest_count ? options->rest[0]
                                                 : NULL;

        if (!word)
                return 0;
        (void)error_set(err, SBX_EINVAL, "unexpected word '%s'",
                        str_printable(word, shown, sizeof(shown)));
        error_hint(err, "this command takes options alone; --help lists them");
        return SBX_EINVAL;
}
