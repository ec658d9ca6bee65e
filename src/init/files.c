/* The files of a run: small texts that travel with the plan, and parts of descriptors. */
#include "init/init.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static int copy_part(int from, const struct plan_file *file, int to)
{
        off_t offset = (off_t)file->offset, end = offset + (off_t)file->size;

        while (offset < end) {
                ssize_t n = sendfile(to, from, &offset, (size_t)(end - offset));

                if (n == 0)
                        errno = EPROTO; /* shorter than the plan says */
                if (n <= 0)
                        return -1;
        }
        return 0;
}

static int part_of(const struct init *init, const struct plan_file *file)
{
        if (file->fd_number > 0 && (int)file->fd_number <= init->file_fd_count)
                return init->file_fds[file->fd_number - 1];
        errno = EPROTO;
        return -1;
}

static int make_link(const struct init *init, const struct plan_file *file, int at,
                     const char *path)
{
        char target[PATH_MAX];
        int from = part_of(init, file);

        if (from < 0)
                return -1;
        if (file->size >= sizeof(target) ||
            pread(from, target, file->size, (off_t)file->offset) != (ssize_t)file->size) {
                errno = EPROTO;
                return -1;
        }
        target[file->size] = '\0';
        return symlinkat(target, at, path);
}

static int make_file(const struct init *init, const struct plan_file *file, int at,
                     const char *path)
{
        int way = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        AUTO_CLOSE int fd = -1;
        int from;

        if (S_ISLNK(file->mode))
                return make_link(init, file, at, path);
        fd = openat(at, path, way, file->mode);
        if (fd < 0)
                return -1;
        if (file->fd_number == 0)
                return fd_write_all(fd, file->data, file->length);
        from = part_of(init, file);
        return from < 0 ? -1 : copy_part(from, file, fd);
}

/* Makes the folders that a file goes into; those that are there stay as they are. */
static int make_folders(const char *path)
{
        char folder[PATH_MAX];
        size_t length = strlen(path);

        if (length >= sizeof(folder)) {
                errno = ENAMETOOLONG;
                return -1;
        }
        memcpy(folder, path, length + 1);
        for (char *slash = folder; (slash = strchr(slash + 1, '/'));) {
                *slash = '\0';
                if (mkdir(folder, 0755) < 0 && errno != EEXIST)
                        return -1;
                *slash = '/';
        }
        return 0;
}

/* In what was handed in. */
static int make_placed_file(const struct init *init, const struct plan_file *file)
{
        const char *name;
        AUTO_CLOSE int parent = place_open_parent(init, file->path, &name);

        return parent < 0 ? -1 : make_file(init, file, parent, name);
}

static int make_own_file(const struct init *init, const struct plan_file *file, const char *path)
{
        if (make_file(init, file, AT_FDCWD, path) == 0)
                return 0;
        return errno != ENOENT || make_folders(path) < 0 ? -1
                                                         : make_file(init, file, AT_FDCWD, path);
}

int files_make(struct init *init, bool below)
{
        for (uint32_t i = 0; i < init->plan.file_count; i++) {
                const struct plan_file *file = &init->plan.files[i];

                /* A nest has the files of /etc already. */
                if (file->by_guest || (init->is_hatched && strncmp(file->path, "/code/", 6) != 0))
                        continue;
                report_detail(init, file->path);
                if (below && !place_is_own(init, file->path)
                            ? make_placed_file(init, file) < 0
                            : make_own_file(init, file, file->path + below) < 0)
                        return -1;
        }
        init->report.detail[0] = '\0';
        return 0;
}

int root_files(struct init *init)
{
        return files_make(init, true);
}

/* In a workspace that is kept, a file of an earlier run may stand in the place: it is replaced. */
static int make_guest_file(const struct init *init, const struct plan_file *file)
{
        if (make_file(init, file, AT_FDCWD, file->path) == 0)
                return 0;
        if (errno == ENOENT ? make_folders(file->path) < 0
                            : errno != EEXIST || unlink(file->path) < 0)
                return -1;
        return make_file(init, file, AT_FDCWD, file->path);
}

/* By the guest itself, with its own rights: whatever stands in a workspace that is kept, a link for
 * example, leads no further than the guest may go. */
int guest_files(struct init *init)
{
        for (uint32_t i = 0; i < init->plan.file_count; i++) {
                const struct plan_file *file = &init->plan.files[i];

                if (!file->by_guest)
                        continue;
                report_detail(init, file->path);
                if (make_guest_file(init, file) < 0)
                        return -1;
                init->report.io_write_bytes += file->size; /* ours, not the program's */
        }
        init->report.detail[0] = '\0';
        return 0;
}
