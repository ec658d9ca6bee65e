#include "historian/historian.h"
#include "base/mem.h"

#include <signal.h>
#include <string.h>

static const struct {
        const char *name;
        int (*run)(struct archive *archive, struct error *err);
        bool takes_id;
} actions[] = {
        { "list", history_list, false },     { "show", history_show, true },
        { "code", history_code, true },      { "rerun", history_rerun, true },
        { "stats", history_stats, false },   { "follow", history_follow, false },
        { "export", history_export, false }, { "verify", history_verify, false },
        { "prune", history_prune, false },
};

static int check_words(struct archive *archive, bool takes_id, struct error *err)
{
        const struct options *options = archive->options;
        size_t wanted = takes_id ? 2 : 1;
        char shown[80];

        if (options->word_count > wanted)
                return error_set(err, SBX_EINVAL, "history %s: unexpected word '%s'",
                                 archive->words[0],
                                 str_printable(options->words[wanted], shown, sizeof(shown)));
        if (takes_id && options->word_count < 2) {
                int r = error_set(err, SBX_EINVAL, "history %s: no run given", archive->words[0]);

                error_hint(err, "'sandbox history list' shows their identifiers; 'last' is the "
                                "newest");
                return r;
        }
        return 0;
}

static int history_main(const struct cli *cli, const char *program, const struct options *options,
                        struct error *err)
{
        struct archive archive = {
                .cli = cli,
                .program = program,
                .options = options,
                .words = { options->word_count ? options->words[0] : "list",
                           options->word_count > 1 ? options->words[1] : NULL },
        };
        char shown[80];
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
                if (strcmp(actions[i].name, archive.words[0]) != 0)
                        continue;
                r = check_words(&archive, actions[i].takes_id, err);
                if (r < 0)
                        return r;
                history_init(&archive.history);
                r = archive_open(&archive, err);
                if (r == 0)
                        r = actions[i].run(&archive, err);
                archive_close(&archive);
                return r;
        }
        r = error_set(err, SBX_EINVAL, "history: unknown word '%s'",
                      str_printable(archive.words[0], shown, sizeof(shown)));
        error_hint(err, "list, show, code, rerun, stats, follow, export, verify or prune");
        return r;
}

int main(int argc, char **argv)
{
        AUTO_OPTIONS struct options options = { 0 };
        const char *command = argc > 1 ? argv[1] : "history";
        bool is_top = strcmp(command, "top") == 0;
        struct cli cli = { { false } };
        struct error err = { 0 };
        int r;

        (void)signal(SIGPIPE, SIG_IGN);
        r = options_parse(&options, is_top ? top_options : history_options, argc > 2 ? argc - 2 : 0,
                          argv + (argc > 2 ? 2 : argc), &err);
        if (r == 0)
                r = is_top ? top_main(&cli, &options, &err)
                           : history_main(&cli, argv[0], &options, &err);
        if (r >= 0)
                return r;
        report_error(&err);
        return EXIT_NOT_RUN;
}
