/*
 * Copies files out of the workspace of a run that is over into a directory of the caller's. The
 * guest chose the names and what stands behind them: nothing is followed on either side, only
 * regular files are taken, names that no caller should meet are left, and everything is bounded.
 */
#include "engine/passage.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
        COLLECT_FILES_MAX = 10000,
        STAT_BLOCK = 512,    /* what st_blocks counts in */
        LENGTHS_TO_DATA = 16 /* where the target knows no holes, lengths are what it holds */
};
static const uint64_t collect_bytes_max = UINT64_C(4) << 30;

/* Whether a folder on the way to the file is hidden. */
static bool is_in_hidden_folder(const char *path)
{
        for (const char *slash; (slash = strchr(path, '/')); path = slash + 1)
                if (path[0] == '.')
                        return true;
        return false;
}

/* As in a shell, what begins with a dot must be asked for by one: '*' is no wish for a
 * '.git/hooks/post-checkout' in the caller's folder. */
static bool is_wanted(const struct request *request, const char *path)
{
        const char *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;

        for (size_t i = 0; i < request->collect_patterns.count; i++) {
                const char *pattern = request->collect_patterns.items[i];

                if (strchr(pattern, '/')
                            ? fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0
                            : !is_in_hidden_folder(path) && fnmatch(pattern, name, FNM_PERIOD) == 0)
                        return true;
        }
        return false;
}

/* The folder that `path` goes into, made where it is missing; a descriptor or -1 with errno. */
static int open_folder_of(int top, const char *path, const char **ret_name)
{
        AUTO_CLOSE int folder = fcntl(top, F_DUPFD_CLOEXEC, 3);
        char part[NAME_MAX + 1];

        for (const char *slash; folder >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
                int below;

                memcpy(part, path, (size_t)(slash - path));
                part[slash - path] = '\0';
                if (mkdirat(folder, part, 0755) < 0 && errno != EEXIST)
                        return -1;
                below = openat(folder, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                fd_close(folder);
                folder = below;
        }
        *ret_name = path;
        return fd_take(&folder);
}

/* The next stretch of data of a file of this size, from `*start` on; false where there is none. A
 * file system that knows of no holes has one stretch. */
static bool next_data(int from, off_t size, off_t *start, off_t *ret_end)
{
        off_t data = lseek(from, *start, SEEK_DATA), hole;

        if (data < 0 && errno == ENXIO)
                return false;
        if (data < 0)
                data = *start;
        hole = lseek(from, data, SEEK_HOLE);
        *ret_end = hole > data && hole < size ? hole : size;
        *start = data;
        return data < size;
}

/* By what the file says of itself: to walk through one that is full of holes takes long, and a
 * program may leave it under thousands of names. The bound itself is kept by copy(). */
bool collect_fits(const struct stat *st, const struct collect_room *room)
{
        uint64_t length = (uint64_t)st->st_size, disk = (uint64_t)st->st_blocks * STAT_BLOCK;

        return length <= room->file_bytes && length <= room->length_left &&
               (disk < length ? disk : length) <= room->left;
}

static int copy_data(int from, int to, off_t offset, off_t end)
{
        if (lseek(to, offset, SEEK_SET) < 0)
                return -1;
        while (offset < end) {
                ssize_t n = sendfile(to, from, &offset, (size_t)(end - offset));

                if (n == 0)
                        break; /* nobody is left to have cut it */
                if (n < 0 && errno != EINTR)
                        return -1;
        }
        return 0;
}

/* Holes stay holes: written out, a file that took nothing would fill the caller's disk. 1 where
 * there is more than is left, in a workspace that others write to as well. */
static int copy(int from, int to, off_t size, struct collect_room *room)
{
        if (ftruncate(to, size) < 0)
                return -1;
        room->length_left -= (uint64_t)size;
        for (off_t start = 0, end; next_data(from, size, &start, &end); start = end) {
                if ((uint64_t)(end - start) > room->left)
                        return 1;
                room->left -= (uint64_t)(end - start);
                if (copy_data(from, to, start, end) < 0)
                        return -1;
        }
        return 0;
}

/* Written aside and renamed: what stood there before stays whole until the new one is. */
int collect_write(int folder, const char *name, int from, const struct stat *st,
                  struct collect_room *room)
{
        char id[CLOCK_ULID_MAX], aside[64];
        AUTO_CLOSE int to = -1;
        int r;

        if (clock_ulid(id) < 0)
                return -1;
        (void)snprintf(aside, sizeof(aside), ".sandbox-%s", id);
        to = openat(folder, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    st->st_mode & 0111 ? 0755 : 0644);
        if (to < 0)
                return -1;
        r = copy(from, to, st->st_size, room);
        if (r == 0)
                r = renameat(folder, aside, folder, name);
        if (r != 0) {
                int saved = errno;

                (void)unlinkat(folder, aside, 0);
                errno = saved;
        }
        return r;
}

int collect_copy(int workspace_fd, const char *path, int top, struct collect_room *room,
                 bool *ret_taken)
{
        AUTO_CLOSE int from = files_open(workspace_fd, path);
        AUTO_CLOSE int folder = -1;
        const char *name;
        struct stat st;
        int r;

        *ret_taken = false;
        if (from < 0 || fstat(from, &st) < 0 || !collect_fits(&st, room))
                return 0; /* a link, gone, or too large */
        folder = open_folder_of(top, path, &name);
        r = folder < 0 ? -1 : collect_write(folder, name, from, &st, room);
        *ret_taken = r == 0;
        return r < 0 ? -1 : 0;
}

struct collect_room collect_room_of(uint64_t bytes)
{
        return (struct collect_room){ .file_bytes = bytes,
                                      .left = bytes,
                                      .length_left = bytes * LENGTHS_TO_DATA };
}

/* No more is taken out than could be put in. A directory of the caller's may have held more before.
 */
struct collect_room collect_room(const struct passage *passage)
{
        uint64_t disk = passage->policy.limits.disk_bytes;
        uint64_t bytes = !passage->workspace && disk < collect_bytes_max ? disk : collect_bytes_max;

        return collect_room_of(bytes);
}

int collect_files(struct passage *passage, int workspace_fd, const struct file_list *files,
                  struct error *err)
{
        struct result *result = passage->result;
        struct collect_room room = collect_room(passage);
        char shown[256];

        for (size_t i = 0; i < files->count; i++) {
                const char *path = files->items[i].path;
                bool taken;

                if (!is_wanted(passage->order->request, path))
                        continue;
                if (bundle_refuse_path(path) || result->collected.count >= COLLECT_FILES_MAX) {
                        result->files_truncated = true;
                        continue;
                }
                if (collect_copy(workspace_fd, path, passage->order->request->collect_fd, &room,
                                 &taken) < 0) {
                        error_set_errno(err, "collect '%s'",
                                        str_printable(path, shown, sizeof(shown)));
                        return err ? (err->code = SBX_EOUTPUT) : SBX_EOUTPUT;
                }
                if (!taken)
                        result->files_truncated = true;
                else if (strlist_add(&result->collected, path) < 0)
                        return error_set_nomem(err);
        }
        return 0;
}
