/*
 * Copies a whole workspace of a run that is over into a directory of the caller's: files, folders,
 * and links as they are. Its names, links and depth are the guest's: every step is relative to an
 * open folder and follows nothing. What is beyond the bounds is left, and the result says so.
 */
#include "engine/passage.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64, ENTRIES_MAX = 1000000 };

struct taker {
        struct collect_room room;
        uint64_t entries; /* that may still come */
        bool missed;      /* something was left */
};

static int take_tree(struct taker *taker, int from, int to, unsigned depth);

static int take_file(struct taker *taker, int from, int to, const char *name)
{
        AUTO_CLOSE int source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat st;
        int r;

        if (source < 0 || fstat(source, &st) < 0 || !collect_fits(&st, &taker->room)) {
                taker->missed = true;
                return 0;
        }
        r = collect_write(to, name, source, &st, &taker->room);
        taker->missed |= r > 0;
        return r < 0 ? -1 : 0;
}

static int take_link(struct taker *taker, int from, int to, const char *name)
{
        char target[PATH_MAX];
        ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

        if (n < 0) {
                taker->missed = true;
                return 0;
        }
        target[n] = '\0';
        if (symlinkat(target, to, name) == 0)
                return 0;
        if (errno != EEXIST || unlinkat(to, name, 0) < 0)
                return -1;
        return symlinkat(target, to, name);
}

static int take_folder(struct taker *taker, int from, int to, const char *name, unsigned depth)
{
        AUTO_CLOSE int source = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        AUTO_CLOSE int target = -1;

        if (source < 0 || depth == DEPTH_MAX) {
                taker->missed = true;
                return 0;
        }
        if (mkdirat(to, name, 0755) < 0 && errno != EEXIST)
                return -1;
        target = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return target < 0 ? -1 : take_tree(taker, source, target, depth + 1);
}

static int take_entry(struct taker *taker, int from, int to, const char *name, unsigned depth)
{
        struct stat st;

        if (taker->entries == 0 || fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                taker->missed = true;
                return 0;
        }
        taker->entries--;
        if (S_ISREG(st.st_mode))
                return take_file(taker, from, to, name);
        if (S_ISLNK(st.st_mode))
                return take_link(taker, from, to, name);
        if (S_ISDIR(st.st_mode))
                return take_folder(taker, from, to, name, depth);
        taker->missed = true; /* a pipe, a socket */
        return 0;
}

static int take_tree(struct taker *taker, int from, int to, unsigned depth)
{
        int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *folder = again < 0 ? NULL : fdopendir(again);
        const struct dirent *entry;
        int r = 0;

        if (!folder) {
                fd_close(again);
                taker->missed = true; /* the program closed it */
                return depth > 0 && errno == EACCES ? 0 : -1;
        }
        while (r == 0 && (entry = readdir(folder)) != NULL)
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        r = take_entry(taker, from, to, entry->d_name, depth);
        (void)closedir(folder); /* it was only read */
        return r;
}

int collect_tree(struct passage *passage, int workspace_fd, struct error *err)
{
        struct taker taker = { .room = collect_room(passage), .entries = ENTRIES_MAX };

        if (take_tree(&taker, workspace_fd, passage->order->request->collect_fd, 0) < 0) {
                (void)error_set_errno(err, "collect what the program left");
                return err ? (err->code = SBX_EOUTPUT) : SBX_EOUTPUT;
        }
        passage->result->files_truncated |= taker.missed;
        return 0;
}
