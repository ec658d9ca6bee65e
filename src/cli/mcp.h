/* What `sandbox mcp` and the program that does its work share. */
#ifndef CLI_MCP_H
#define CLI_MCP_H

#include "cli/options.h"

extern const struct option mcp_options[];

#endif
