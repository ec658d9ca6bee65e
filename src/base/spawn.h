/* Programs that work outside of a sandbox, as children of this process: helpers of ours, and tools
 * of the machine that are asked something. */
#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

struct spawn_fd {
        int fd;     /* of ours, above all targets; see spawn_move_up() */
        int target; /* what it is to the child */
};

/* Moves a descriptor of ours out of the way of those that a child gets; -1 with errno where that
 * fails, and where `fd` is -1. Closes `fd`. */
int spawn_move_up(int fd);
/* Starts it in a process group of its own, with an empty environment and the usual signals, and
 * with /dev/null for those of the first three descriptors that it is not given. 0, or an errno. */
int spawn_helper(const char *program, char *const *arguments, const struct spawn_fd *fds,
                 size_t count, pid_t *ret_pid);
/* The same for a tool of the machine, with an environment and in the root directory. */
int spawn_tool(char *const *arguments, char *const *environment, const struct spawn_fd *fds,
               size_t count, pid_t *ret_pid);
/* Ends it at once and waits for it. */
void spawn_end(pid_t pid);

#endif
