/* Removing a directory tree that a guest filled: no link is followed, no depth is too deep. */
#ifndef BASE_TREE_H
#define BASE_TREE_H

/* Removes `path` and all below it. Nothing may be running that changes it. Allocates nothing.
 * 0, or -1 with errno of what stood in the way. */
int tree_remove(const char *path);
/* Gives a directory the rights of its owner that a guest may have taken away: without them it can
 * neither be read nor moved. 0, or -1 with errno. */
int tree_open_up(int parent, const char *name);

#endif
