/* Starting the helper; see child.c for the theory. */
#ifndef BACKEND_CHILD_H
#define BACKEND_CHILD_H

#include <sys/types.h>

/* Executes the helper with `socket` as its descriptor 3 and `hint` (or NULL) as its only argument. Its pid; 0 with errno when the exec failed
 * (the child is then to be reaped); -1 with errno when there is no child. */
pid_t child_start(const char *path, const char *hint, int socket, int *ret_pidfd);

#endif
