/* Capabilities and the other ways to privilege: given up for good, and the proof of it. */
#ifndef KERNEL_CAPS_H
#define KERNEL_CAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Empties all five sets and locks the secure bits. The caller needs CAP_SETPCAP in its user
 * namespace for the bounding set; `allow_bounding` accepts its absence (best effort without a user
 * namespace as an ordinary user: with no_new_privs nothing can be gained either). 0 or -1. */
int caps_drop_all(bool allow_bounding);
/* Keeps a single capability (number of linux/capability.h) in the permitted and effective set. */
int caps_keep_only(int capability);
/* The same for several: a bit each. Those that there are not are not gained. */
int caps_keep(uint64_t capabilities);
/* Whether the calling process has no capability in any set (the bounding set only where asked). */
bool caps_are_empty(bool check_bounding);
/* Whether they can be asked for, as caps_keep() and caps_become() must. Else errno. */
bool caps_are_known(void);
/* Becomes the ids, without groups, keeping capabilities for what is still to be set up. */
int caps_become(uid_t uid, gid_t gid);

#endif
