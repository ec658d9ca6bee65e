/* Commands that are programs of their own, so that `sandbox run` need not carry their libraries. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include "cli/options.h"

/* Becomes the program `name`, which lies beside ours or, in a build tree, in the neighbouring
 * `folder`. It gets the path of ours, the command and the options as its words. Returns only where
 * that fails. */
int program_execute(const char *name, const char *folder, const char *command,
                    const struct options *options, struct error *err);

#endif
