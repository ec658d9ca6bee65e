/*
 * A guest that has put a socket into a poll set (epoll) before it connects expects to hear of it
 * there afterwards. A set knows what is in it by file and number; so when another file takes the
 * number, what the set knew must be said again for the new one.
 */
#ifndef KERNEL_POLL_MOVE_H
#define KERNEL_POLL_MOVE_H

#include <sys/types.h>

/* In every poll set that `thread` has open: what it knew of the file `old` under `number` it knows
 * of the file `new` from now on. `old` and `new` are descriptors of ours. Sets that cannot be
 * changed stay as they are, and so do all beyond the first 16: a guest could have thousands. */
void poll_move(pid_t thread, pid_t process, int number, int old, int new);

#endif
