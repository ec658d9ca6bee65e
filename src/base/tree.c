#include "base/tree.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The guest may have taken its own rights away: without them a directory can neither be read nor
 * moved. */
static void open_up(int parent, const char *name)
{
        struct stat st;

        if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
                (void)fchmodat(parent, name, 0700, 0);
}

/* Moves a directory up into `top` under the next number that is free there. */
static bool hoist(int top, int dir, const char *entry, unsigned *number)
{
        char name[32];

        open_up(dir, entry);
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
        char buffer[8192] __attribute__((aligned(8)));
        bool hoisted = false;
        long n;

        while ((n = syscall(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0)
                for (long at = 0; at < n;) {
                        const struct dirent *entry = (const struct dirent *)(buffer + at);

                        at += entry->d_reclen;
                        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                                continue;
                        if (unlinkat(dir, entry->d_name, 0) == 0 ||
                            unlinkat(dir, entry->d_name, AT_REMOVEDIR) == 0)
                                continue;
                        hoisted |= dir == top || hoist(top, dir, entry->d_name, number);
                }
        return hoisted;
}

/* Empties each directory directly below `top`; false once nothing changes any more. */
static bool empty_children(int top, unsigned *number)
{
        AUTO_CLOSE int list = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char buffer[8192] __attribute__((aligned(8)));
        bool progress = false;
        long n;

        while ((n = syscall(SYS_getdents64, list, buffer, sizeof(buffer))) > 0)
                for (long at = 0; at < n;) {
                        const struct dirent *entry = (const struct dirent *)(buffer + at);
                        AUTO_CLOSE int dir = -1;

                        at += entry->d_reclen;
                        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                                continue;
                        open_up(top, entry->d_name);
                        dir = openat(top, entry->d_name,
                                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                        if (dir >= 0)
                                (void)empty_directory(top, dir, number);
                        progress |= unlinkat(top, entry->d_name, dir >= 0 ? AT_REMOVEDIR : 0) == 0;
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
