/* The files of a run: small texts that travel with the plan, and copies of descriptors. */
#include "init/init.h"
#include "base/fd.h"
#include "kernel/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static int copy_descriptor(int from, int to)
{
        struct stat st;
        off_t offset = 0;

        if (fstat(from, &st) < 0)
                return -1;
        while (offset < st.st_size)
                if (sendfile(to, from, &offset, (size_t)(st.st_size - offset)) <= 0)
                        return -1;
        return 0;
}

static int make_file(const struct init *init, const struct plan_file *file, const char *path)
{
        AUTO_CLOSE int fd = -1;

        fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, file->mode);
        if (fd < 0)
                return -1;
        if (file->fd_number == 0)
                return fd_write_all(fd, file->data, file->length);
        if ((int)file->fd_number > init->file_fd_count) {
                errno = EPROTO;
                return -1;
        }
        return copy_descriptor(init->file_fds[file->fd_number - 1], fd);
}

/* Makes the directory that a file below the current one goes into. */
static int make_folder(const char *path)
{
        char folder[PATH_MAX];
        size_t length = (size_t)(strrchr(path, '/') - path);

        memcpy(folder, path, length);
        folder[length] = '\0';
        return mount_make_directory(folder, 0755);
}

int files_make(struct init *init, bool below)
{
        for (uint32_t i = 0; i < init->plan.file_count; i++) {
                const struct plan_file *file = &init->plan.files[i];

                report_detail(init, file->path);
                if (make_file(init, file, file->path + below) == 0)
                        continue;
                if (!below || errno != ENOENT || make_folder(file->path) < 0 ||
                    make_file(init, file, file->path + 1) < 0)
                        return -1;
        }
        init->report.detail[0] = '\0';
        return 0;
}

int root_files(struct init *init)
{
        return files_make(init, true);
}
