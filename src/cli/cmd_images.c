#include "cli/cli.h"
#include "cli/program.h"

static const struct option images_options[] = {
        OPTION_HEADING("Options"),
        { "base", 0, "IMAGE", false, false, "build: on this base, which the engine has" },
        { "no-packages", 0, NULL, false, false,
          "build: the language alone, without numpy, lodash and the like" },
        { "all", 0, NULL, false, false, "prune: the newest too, and what runs share" },
        { "json", 0, NULL, false, false, "list: as the engine tells it" },
        OPTION_HELP,
        OPTION_END,
};

static int images_main(const struct cli *cli, const struct options *options, struct error *err)
{
        return program_execute("sandbox-docker", "docker", "images", options, err);
}

const struct command cmd_images = {
        .name = "images",
        .summary = "build, list, prune the images of the backend docker",
        .synopsis = "[build [LANGUAGE...] | list | prune] [options]",
        .options = images_options,
        .notes = "LANGUAGE is python, javascript, shell, go, rust, java or c; none: all of them.\n",
        .run = images_main,
};
