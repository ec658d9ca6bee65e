/*
 * `sandbox history` and `sandbox top`. The work is done by a program of its own, sandbox-history,
 * which has SQLite and zstd: so that `sandbox run` starts as fast as without them. This program
 * checks the options and executes that one, which reads them again.
 */
#ifndef CLI_HISTORY_H
#define CLI_HISTORY_H

#include "cli/options.h"

extern const struct option history_options[];
extern const struct option top_options[];

#endif
