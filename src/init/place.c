/*
 * Places of the new root, found and made without leaving it.
 *
 * Theory of operation. Until pivot_root our "/" is the host's, and our rights are those of the
 * caller. Volumes and a workspace that is kept hold what guests and others have put there, links
 * among it: a path that goes through such a link would be looked up on the host. So a path is taken
 * apart. Down to the first of these that it goes through, all is of our own making or the system's,
 * and links lead within the new root; below, none is followed.
 */
#include "init/init.h"
#include "base/fd.h"
#include "base/path.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t beneath = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_SYMLINKS;

/* How much of a path is of our own making. */
static size_t own_length(const struct init *init, const char *path)
{
        size_t least = path_is_below(path, "/workspace") ? strlen("/workspace") : strlen(path);

        for (uint32_t i = 0; i < init->plan.mount_count; i++) {
                const struct plan_mount *mount = &init->plan.mounts[i];

                if (mount->kind != PLAN_MOUNT_SYSTEM && path_is_below(path, mount->target) &&
                    strlen(mount->target) < least)
                        least = strlen(mount->target);
        }
        return least;
}

bool place_is_own(const struct init *init, const char *path)
{
        return own_length(init, path) == strlen(path);
}

static int open_folder(int at, const char *path, uint64_t resolve)
{
        return sys_openat2(at, path, O_PATH | O_DIRECTORY, resolve);
}

int place_open_parent(const struct init *init, const char *path, const char **ret_name)
{
        size_t own = own_length(init, path);
        const char *name = path + 1, *slash;
        char partial[PATH_MAX];
        int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

        while (fd >= 0 && (slash = strchr(name, '/'))) {
                size_t end = (size_t)(slash - path), start = (size_t)(name - path);
                bool is_own = end <= own;
                const char *way = partial + (is_own ? 1 : start);
                uint64_t resolve = is_own ? SYS_RESOLVE_IN_ROOT : beneath;
                int at = is_own ? AT_FDCWD : fd, next;

                if (end >= sizeof(partial)) {
                        fd_close(fd);
                        errno = ENAMETOOLONG;
                        return -1;
                }
                memcpy(partial, path, end);
                partial[end] = '\0';
                next = open_folder(at, way, resolve);
                if (next < 0 && errno == ENOENT && mkdirat(fd, partial + start, 0755) == 0)
                        next = open_folder(at, way, resolve);
                fd_close(fd);
                fd = next;
                name = slash + 1;
        }
        *ret_name = name;
        return fd;
}

int place_open(const struct init *init, const char *path, mode_t kind)
{
        const char *name;
        AUTO_CLOSE int parent = place_open_parent(init, path, &name);
        AUTO_CLOSE int place = -1;
        struct stat st;
        int r;

        if (parent < 0)
                return -1;
        r = S_ISDIR(kind) ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0644, 0);
        if (r < 0 && errno != EEXIST)
                return -1;
        place = sys_openat2(parent, name, O_PATH | O_NOFOLLOW, beneath);
        if (place < 0 || fstat(place, &st) < 0)
                return -1;
        if (S_ISLNK(st.st_mode) && !place_is_own(init, path)) {
                errno = ELOOP;
                return -1;
        }
        return fd_take(&place);
}
