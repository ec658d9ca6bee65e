/* A folder into a bundle. What lies there may be hostile: nothing is followed, everything capped.
 */
#include "base/bundle.h"
#include "base/fd.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
        struct bundle *bundle;
        struct bundle_bounds left;
        bool links;
        char path[BUNDLE_PATH_MAX + 256];
        struct error *err;
};

static int walk_folder(struct walk *walk, int dirfd, size_t prefix, int depth);

static int too_much(const struct walk *walk, const char *what)
{
        return error_set(walk->err, SBX_ETOOBIG, "the folder holds %s", what);
}

static int add_link(struct walk *walk, int dirfd, const char *name)
{
        char target[4096];
        ssize_t n = readlinkat(dirfd, name, target, sizeof(target));

        if (n <= 0 || n == (ssize_t)sizeof(target))
                return 0; /* gone meanwhile, or of no use */
        return bundle_add(walk->bundle, walk->path, S_IFLNK | 0777, target, (size_t)n, walk->err);
}

static int add_file(struct walk *walk, int dirfd, const char *name)
{
        AUTO_CLOSE int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        char shown[256];
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return error_set_errno(walk->err, "open '%s'",
                                       str_printable(walk->path, shown, sizeof(shown)));
        if (!S_ISREG(st.st_mode))
                return 0; /* exchanged meanwhile */
        if ((uint64_t)st.st_size > walk->left.bytes)
                return too_much(walk, "too many bytes");
        walk->left.bytes -= (uint64_t)st.st_size;
        return bundle_add_fd(walk->bundle, walk->path, st.st_mode & 0111 ? 0755 : 0644, fd,
                             walk->err);
}

static int walk_below(struct walk *walk, int dirfd, const char *name, size_t prefix, int depth)
{
        AUTO_CLOSE int below = -1;
        char shown[256];

        if (depth >= BUNDLE_DEPTH_MAX)
                return too_much(walk, "folders that are too deep");
        below = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
                return error_set_errno(walk->err, "open '%s'",
                                       str_printable(walk->path, shown, sizeof(shown)));
        walk->path[prefix] = '/';
        return walk_folder(walk, below, prefix + 1, depth + 1);
}

static int walk_entry(struct walk *walk, int dirfd, const char *name, size_t prefix, int depth)
{
        size_t length = strlen(name);
        struct stat st;

        if (prefix + length >= BUNDLE_PATH_MAX)
                return too_much(walk, "paths that are too long");
        if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0; /* gone meanwhile */
        memcpy(walk->path + prefix, name, length + 1);
        if (S_ISDIR(st.st_mode))
                return walk_below(walk, dirfd, name, prefix + length, depth);
        if (!S_ISREG(st.st_mode) && !(walk->links && S_ISLNK(st.st_mode)))
                return 0;
        if (walk->left.files-- == 0)
                return too_much(walk, "too many files");
        return S_ISLNK(st.st_mode) ? add_link(walk, dirfd, name) : add_file(walk, dirfd, name);
}

static int walk_folder(struct walk *walk, int dirfd, size_t prefix, int depth)
{
        int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
        struct dirent *entry;
        int r = 0;

        if (!dir) {
                fd_close(copy);
                return error_set_errno(walk->err, "read a folder");
        }
        while (r == 0 && (entry = readdir(dir)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        r = walk_entry(walk, dirfd, entry->d_name, prefix, depth);
        (void)closedir(dir);
        return r;
}

int bundle_add_tree(struct bundle *bundle, int dirfd, const char *prefix,
                    const struct bundle_bounds *bounds, bool links, struct error *err)
{
        struct walk walk = { .bundle = bundle, .left = *bounds, .links = links, .err = err };
        size_t length = strlen(prefix);

        if (length >= BUNDLE_PATH_MAX)
                return error_set(err, SBX_EINVAL, "the folder's name is too long");
        memcpy(walk.path, prefix, length);
        return walk_folder(&walk, dirfd, length, 0);
}
