#include "cli/cli.h"
#include "cli/mcp.h"
#include "cli/program.h"

static int mcp_main(const struct cli *cli, const struct options *options, struct error *err)
{
        int r = setup_refuse_words(options, err);

        return r < 0 ? r : program_execute("sandbox-mcp", "mcp", "mcp", options, err);
}

const struct command cmd_mcp = {
        .name = "mcp",
        .summary = "Model Context Protocol server over standard input and output",
        .synopsis = "[options]",
        .options = mcp_options,
        .notes = "In an agent's configuration: {\"command\": \"sandbox\", \"args\": [\"mcp\"]}\n",
        .uses_groups = true,
        .run = mcp_main,
};
