/* Landlock: a second wall over the same file rules, from the kernel's own view of a path. */
#ifndef KERNEL_LANDLOCK_H
#define KERNEL_LANDLOCK_H

#include <stdbool.h>

enum landlock_access {
        LANDLOCK_LIST,   /* list directories */
        LANDLOCK_READ,   /* read, list and execute */
        LANDLOCK_DEVICE, /* read and write existing files and devices */
        LANDLOCK_WRITE,  /* everything but making devices */
};

/* The kernel's Landlock version; 0 where there is none. */
int landlock_abi(void);
/* A rule set that refuses every right this kernel knows; with `scope`, also signals and abstract
 * sockets that leave the sandbox (version 6). With `deny_tcp`, TCP too (version 4). Descriptor or
 * -1. */
int landlock_new(int abi, bool scope, bool deny_tcp);
/* Allows `access` below `path`; a path that does not exist is nothing. 0 or -1 with errno. */
int landlock_allow(int ruleset, int abi, const char *path, enum landlock_access access);
/* The same for what was handed in, which others may write to: a link on its way leads to something
 * else, and is nothing either. */
int landlock_allow_handed_in(int ruleset, int abi, const char *path, enum landlock_access access);
/* Puts the rule set in force for the calling process and closes nothing. 0 or -1 with errno. */
int landlock_apply(int ruleset);

#endif
