#include "historian/historian.h"
#include "base/mem.h"

#include <signal.h>
#include <string.h>

enum takes {
        TAKES_ID = 1u << 0,
        TAKES_FILTERS = 1u << 1,
        TAKES_LIMIT = 1u << 2,
        TAKES_FORM = 1u << 3,
        TAKES_SVG = 1u << 4,
        TAKES_PRUNING = 1u << 5,
};

static const struct action {
        const char *name;
        int (*run)(struct archive *archive, struct error *err);
        unsigned takes;
} actions[] = {
        { "list", history_list, TAKES_FILTERS | TAKES_LIMIT | TAKES_FORM },
        { "show", history_show, TAKES_ID | TAKES_FORM },
        { "code", history_code, TAKES_ID },
        { "rerun", history_rerun, TAKES_ID },
        { "stats", history_stats, TAKES_FILTERS | TAKES_LIMIT | TAKES_FORM | TAKES_SVG },
        { "follow", history_follow, TAKES_FILTERS | TAKES_FORM },
        { "export", history_export, TAKES_FILTERS | TAKES_LIMIT | TAKES_FORM },
        { "verify", history_verify, 0 },
        { "prune", history_prune, TAKES_FILTERS | TAKES_PRUNING },
};

/* To which of them each option belongs: one that would be passed over is refused, since `prune`
 * without a filter that was given removes what was to stay. */
static const struct {
        const char *name;
        unsigned belongs;
} belongings[] = {
        { "lang", TAKES_FILTERS },       { "status", TAKES_FILTERS },
        { "backend", TAKES_FILTERS },    { "since", TAKES_FILTERS },
        { "until", TAKES_FILTERS },      { "user", TAKES_FILTERS },
        { "name", TAKES_FILTERS },       { "text", TAKES_FILTERS },
        { "limit", TAKES_LIMIT },        { "output", TAKES_FORM },
        { "json", TAKES_FORM },          { "svg", TAKES_SVG },
        { "older-than", TAKES_PRUNING }, { "keep-errors", TAKES_PRUNING },
        { "max-size", TAKES_PRUNING },   { "dry-run", TAKES_PRUNING },
};

/* An option that is in no row belongs to nothing, and is refused. */
static unsigned belonging(const char *option)
{
        for (size_t i = 0; i < ARRAY_SIZE(belongings); i++)
                if (strcmp(belongings[i].name, option) == 0)
                        return belongings[i].belongs;
        return 0;
}

bool history_is_filter(const char *option)
{
        return belonging(option) == TAKES_FILTERS;
}

static int check_options(const struct action *action, const struct options *options,
                         struct error *err)
{
        for (size_t i = 0; i < options->use_count; i++) {
                const char *name = options->uses[i].option->name;
                AUTO_STRBUF struct strbuf takers = { 0 };
                int r;

                if (action->takes & belonging(name))
                        continue;
                for (size_t j = 0; j < ARRAY_SIZE(actions); j++)
                        if (actions[j].takes & belonging(name))
                                strbuf_addf(&takers, "%s%s", takers.length ? ", " : "",
                                            actions[j].name);
                r = error_set(err, SBX_EINVAL, "history %s: takes no option '--%s'", action->name,
                              name);
                error_hint(err, "it belongs to: %s", takers.data ? takers.data : "none");
                return r;
        }
        return 0;
}

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
                r = check_words(&archive, actions[i].takes & TAKES_ID, err);
                if (r == 0)
                        r = check_options(&actions[i], options, err);
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
        const struct option *known = is_top ? top_options : history_options;
        struct cli cli = { { false } };
        struct error err = { 0 };
        int r;

        /* A reader that has seen enough, such as head(1), is no mistake: end as other tools do.
         * What started us may have had the signal ignored. */
        (void)signal(SIGPIPE, SIG_DFL);
        r = options_parse(&options, known, argc > 2 ? argc - 2 : 0, argv + (argc > 2 ? 2 : argc),
                          &err);
        if (r == 0)
                r = is_top ? top_main(&cli, &options, &err)
                           : history_main(&cli, argv[0], &options, &err);
        if (r >= 0)
                return r;
        options_hint(known, is_top ? "top" : "history", &err);
        report_error(&err);
        return EXIT_NOT_RUN;
}
