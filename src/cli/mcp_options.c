/* The options of `mcp`: for the help, and for the program that does the work. */
#include "cli/mcp.h"

const struct option mcp_options[] = {
        OPTION_HEADING("What programs may do"),
        { "policy", 0, "NAME|FILE", true, false,
          "the policy of all runs: a built-in name, or YAML or TOML; a client can only tighten "
          "it" },
        { "sealed", 0, NULL, false, false, "the environment can only tighten those before it" },
        { "languages", 0, "NAMES|DIR", true, false,
          "only these languages, separated by commas; with a slash: a folder of further ones" },
        { "no-packages", 0, NULL, false, false, "no packages are installed for programs" },
        OPTION_HEADING("Sessions"),
        { "workspace-root", 0, "DIR", false, false,
          "where the workspaces of sessions are, and stay; else they go when the server ends" },
        { "max-sessions", 0, "N", false, false, "sessions at once (default 16)" },
        { "idle-timeout", 0, "T", false, false,
          "an interpreter that nobody used for so long is ended (default 10m)" },
        { "read-only", 0, NULL, false, false,
          "workspaces are not written: programs work on copies, and write_file is not offered" },
        OPTION_HELP,
        OPTION_END,
};
