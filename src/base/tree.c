#include "base/tree.h"
#include "base/entries.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* By a descriptor: something else may be put under the name meanwhile. */
int tree_open_up(int parent, const char *name)
{
        AUTO_CLOSE int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        char path[40];
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -1;
        if ((st.st_mode & 0700) == 0700)
                return 0;
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        return chmod(path, (st.st_mode & 07777) | 0700);
}

/* Moves a directory up into `top` under the next number that is free there. */
static bool hoist(int top, int dir, const char *entry, unsigned *number)
{
        char name[32];

        (void)tree_open_up(dir, entry); /* else it stays */
        do
                (void)snprintf(name, sizeof(name), ".sandbox-%u", (*number)++);
        while (renameat(dir, entry, top, name) < 0 && (errno == ENOTEMPTY || errno == EEXIST) &&
               *number);
        return faccessat(dir, entry, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

/* Removes what a directory holds. A subdirectory that is not empty is moved up into `top` under a
 * number, so that neither the depth nor the length of paths grows. Whether anything was left there.
 */
static bool empty_directory(int top, int dir, unsigned *number)
{
        struct entries entries;
        bool hoisted = false;
        const char *name;

        entries_begin(&entries, dir);
        while ((name = entries_next(&entries)))
                if (unlinkat(dir, name, 0) < 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0)
                        hoisted |= dir == top || hoist(top, dir, name, number);
        return hoisted;
}

/* Empties each directory directly below `top`; false once nothing changes any more. */
static bool empty_children(int top, unsigned *number)
{
        AUTO_CLOSE int list = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct entries entries;
        bool progress = false;
        const char *name;

        entries_begin(&entries, list);
        while ((name = entries_next(&entries))) {
                AUTO_CLOSE int dir = -1;

                (void)tree_open_up(top, name); /* else it stays */
                dir = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (dir >= 0)
                        (void)empty_directory(top, dir, number);
                progress |= unlinkat(top, name, dir >= 0 ? AT_REMOVEDIR : 0) == 0;
        }
        return progress;
}

int tree_remove(const char *path)
{
        AUTO_CLOSE int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        unsigned number = 0;

        if (top < 0)
                return errno == ENOENT ? 0 : -1;
        while (empty_directory(top, top, &number) && empty_children(top, &number))
                (void)lseek(top, 0, SEEK_SET); /* a directory can be read again */
        return rmdir(path);
}
