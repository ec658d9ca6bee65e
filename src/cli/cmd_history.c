#include "cli/history.h"
#include "cli/cli.h"
#include "cli/program.h"

static int history_main(const struct cli *cli, const struct options *options, struct error *err)
{
        return program_execute("sandbox-history", "historian", "history", options, err);
}

static int top_main(const struct cli *cli, const struct options *options, struct error *err)
{
        int r = setup_refuse_words(options, err);

        return r < 0 ? r : program_execute("sandbox-history", "historian", "top", options, err);
}

const struct command cmd_history = {
        .name = "history",
        .summary = "list, show, follow, prune, export, verify what has run",
        .synopsis = "[list | show ID | code ID | rerun ID | stats | follow | export | verify | "
                    "prune] [options]",
        .options = history_options,
        .notes = "ID is the identifier of a run, a beginning of it that no other has, or 'last'.\n",
        .run = history_main,
};

const struct command cmd_top = {
        .name = "top",
        .summary = "watch what is running",
        .synopsis = "[options]",
        .options = top_options,
        .notes = "Keys: up and down choose, k cancels the chosen run, q ends.\n",
        .run = top_main,
};
