#include "wasm/beneath.h"
#include "base/fd.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 8192, DEPTH_MAX = 128, LINKS_MAX = 40, TRIES = 16 };

/* Where a walk is: the directories above, held open, so that ".." leads to where it came from
 * whatever is renamed meanwhile; and the rest of the path. */
struct walk {
        int fds[DEPTH_MAX]; /* the first is the caller's */
        int depth;          /* of the last */
        int links;
        char rest[PATH_BYTES];
        char name[256];
        bool is_last;     /* nothing follows the name */
        bool must_be_dir; /* but a slash */
};

static int fail(int number)
{
        errno = number;
        return -1;
}

static int top(const struct walk *walk)
{
        return walk->fds[walk->depth];
}

/* Takes the next name off the path: 1, 0 at its end, -1 with errno. */
static int next_name(struct walk *walk)
{
        size_t skipped = strspn(walk->rest, "/"), length = strcspn(walk->rest + skipped, "/");
        const char *after = walk->rest + skipped + length;

        if (length == 0)
                return 0;
        if (length >= sizeof(walk->name))
                return fail(ENAMETOOLONG);
        memcpy(walk->name, walk->rest + skipped, length);
        walk->name[length] = '\0';
        walk->is_last = after[strspn(after, "/")] == '\0';
        walk->must_be_dir = walk->is_last && *after == '/';
        memmove(walk->rest, after, strlen(after) + 1);
        return 1;
}

/* Puts where a link leads before the rest of the path. */
static int follow(struct walk *walk, int link)
{
        char target[PATH_BYTES], joined[PATH_BYTES];
        ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);

        if (n < 0)
                return -1;
        target[n] = '\0';
        if (++walk->links > LINKS_MAX)
                return fail(ELOOP);
        if (target[0] == '/')
                return fail(EXDEV);
        n = snprintf(joined, sizeof(joined), "%s%s", target, walk->rest);
        if (n < 0 || (size_t)n >= sizeof(joined))
                return fail(ENAMETOOLONG);
        memcpy(walk->rest, joined, (size_t)n + 1);
        return 0;
}

/* Goes into the name, or to where it leads. */
static int enter(struct walk *walk)
{
        AUTO_CLOSE int fd = openat(top(walk), walk->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -1;
        if (S_ISLNK(st.st_mode))
                return follow(walk, fd);
        if (!S_ISDIR(st.st_mode))
                return fail(ENOTDIR);
        if (walk->depth + 1 == DEPTH_MAX)
                return fail(ENAMETOOLONG);
        walk->fds[++walk->depth] = fd_take(&fd);
        return 0;
}

static int leave(struct walk *walk)
{
        if (walk->depth == 0)
                return fail(EXDEV);
        fd_close(walk->fds[walk->depth--]);
        return 0;
}

/* Opens the last name; -2 where it is a link that is to be followed, and was. */
static int open_last(struct walk *walk, uint64_t flags, mode_t mode)
{
        bool follows = !(flags & O_NOFOLLOW) || walk->must_be_dir;

        if (follows && !(flags & O_EXCL)) {
                AUTO_CLOSE int link =
                        openat(top(walk), walk->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
                struct stat st;

                if (link >= 0 && fstat(link, &st) == 0 && S_ISLNK(st.st_mode))
                        return follow(walk, link) < 0 ? -1 : -2;
        }
        /* Were it a link by now, this says so. */
        return openat(top(walk), walk->name,
                      (int)(flags | O_NOFOLLOW | O_CLOEXEC | (walk->must_be_dir ? O_DIRECTORY : 0)),
                      mode);
}

static int go(struct walk *walk, uint64_t flags, mode_t mode)
{
        for (;;) {
                int r = next_name(walk);

                if (r < 0)
                        return -1;
                if (r == 0) /* the path ended in a directory that was entered */
                        return openat(
                                top(walk), ".",
                                (int)((flags & ~(uint64_t)(O_CREAT | O_NOFOLLOW)) | O_CLOEXEC));
                if (strcmp(walk->name, ".") == 0)
                        r = 0;
                else if (strcmp(walk->name, "..") == 0)
                        r = leave(walk);
                else if (!walk->is_last)
                        r = enter(walk);
                else {
                        r = open_last(walk, flags, mode);
                        if (r != -2)
                                return r;
                        r = 0;
                }
                if (r < 0)
                        return -1;
        }
}

int beneath_walk(int directory, const char *path, uint64_t flags, mode_t mode)
{
        struct walk walk;
        int fd;

        walk.depth = walk.links = 0;
        walk.fds[0] = directory;
        if (path[0] == '/')
                return fail(EXDEV);
        if (strlen(path) >= sizeof(walk.rest))
                return fail(ENAMETOOLONG);
        memcpy(walk.rest, path, strlen(path) + 1);
        fd = go(&walk, flags, mode);
        while (walk.depth > 0)
                fd_close(walk.fds[walk.depth--]);
        return fd;
}

int beneath_open(int directory, const char *path, uint64_t flags, mode_t mode)
{
        struct sys_open_how how = { .flags = flags | O_CLOEXEC,
                                    .mode = flags & O_CREAT ? mode : 0,
                                    .resolve = SYS_RESOLVE_BENEATH | SYS_RESOLVE_NO_MAGICLINKS };
        int fd = -1;

        /* The kernel asks for another try where something was renamed meanwhile. */
        for (int tries = 0; tries < TRIES; tries++) {
                fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
                if (fd >= 0 || errno != EAGAIN)
                        break;
        }
        if (fd < 0 && errno == ENOSYS)
                return beneath_walk(directory, path, flags, mode);
        return fd;
}
