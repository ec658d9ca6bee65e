#include "cli/cli.h"

#include <stdlib.h>
#include <unistd.h>

int setup_engine(const char *languages_dir, bool early_start, sbx_engine **ret_engine,
                 struct error *err)
{
        sbx_engine_options options = { .size = sizeof(options),
                                       .languages_dir = languages_dir,
                                       .early_start = early_start };
        sbx_error *failure = NULL;
        sbx_engine *engine = sbx_engine_new(&options, &failure);

        if (!engine)
                return report_take(err, failure);
        *ret_engine = engine;
        return 0;
}

int setup_policy(const char *path, sbx_policy **ret_policy, struct error *err)
{
        AUTO_POLICY sbx_policy *policy = sbx_policy_new();
        sbx_error *failure = NULL;

        if (!policy)
                return error_set_nomem(err);
        if (!path)
                path = getenv("SANDBOX_POLICY");
        if (path && *path && sbx_policy_load_file(policy, path, &failure) < 0)
                return report_take(err, failure);
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
        return error_set(err, SBX_EINVAL, "unexpected word '%s'",
                         str_printable(word, shown, sizeof(shown)));
}
