/*
 * Building the root. Everything of the host that will be visible is first cloned as a detached,
 * hardened mount; then a small tmpfs is mounted over /proc (the one directory every machine has, and
 * from which nothing is taken) and becomes the current directory, below which all is put in place.
 */
#include "init/init.h"
#include "base/fd.h"
#include "base/mem.h"
#include "kernel/mount.h"
#include "kernel/sys.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

enum { ROOT_INODES = 4096, WORKSPACE_TREE = 0, DEVICE_TREES = 1 };

static const char *const devices[] = {
        "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
};

static const struct {
        const char *path, *target;
} device_links[] = {
        { "dev/fd", "/proc/self/fd" },
        { "dev/stdin", "/proc/self/fd/0" },
        { "dev/stdout", "/proc/self/fd/1" },
        { "dev/stderr", "/proc/self/fd/2" },
        { "dev/ptmx", "pts/ptmx" },
};

static int first_plan_tree(void)
{
        return DEVICE_TREES + (int)ARRAY_SIZE(devices);
}

/* Clones what the caller handed in and makes its owner the guest. Where the file system cannot do
 * that, what must be writable has to be so for everybody. */
static int clone_handed_in(struct init *init, const char *source, int owner_map, enum mount_mode mode)
{
        AUTO_CLOSE int fd = mount_clone(source, mode);
        struct stat st;

        report_detail(init, source);
        if (fd < 0)
                return -1;
        if (owner_map >= 0 && mount_map_owners(fd, owner_map) < 0 && mode == MOUNT_WRITABLE) {
                if (fstat(fd, &st) < 0)
                        return -1;
                if (!(st.st_mode & S_IWOTH)) {
                        errno = EACCES;
                        return -1;
                }
        }
        return fd_take(&fd);
}

/* A system path that is a symbolic link (/bin, /lib) or absent has no tree of its own. */
static int clone_plan_mount(struct init *init, uint32_t index)
{
        const struct plan_mount *mount = &init->plan.mounts[index];
        int fd;

        if (mount->kind != PLAN_MOUNT_SYSTEM)
                return clone_handed_in(init, mount->source, init->owner_maps[index],
                                       mount->kind == PLAN_MOUNT_WRITE ? MOUNT_WRITABLE : MOUNT_READ_ONLY);
        fd = mount_clone(mount->source, MOUNT_READ_ONLY);
        if (fd < 0) {
                report_detail(init, mount->source);
                if (errno == ENOENT || errno == ELOOP || errno == ENOTDIR)
                        return -2;
        }
        return fd;
}

int root_make(struct init *init)
{
        int next = first_plan_tree();

        for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
                init->trees[DEVICE_TREES + i] = mount_clone(devices[i], MOUNT_DEVICE);
                if (init->trees[DEVICE_TREES + i] < 0) {
                        report_detail(init, devices[i]);
                        return -1;
                }
        }
        for (uint32_t i = 0; i < init->plan.mount_count; i++) {
                int fd = clone_plan_mount(init, i);

                if (fd == -1)
                        return -1;
                init->trees[next++] = fd;
        }
        if (init->plan.workspace[0]) {
                init->trees[WORKSPACE_TREE] = clone_handed_in(init, init->plan.workspace,
                                                              init->owner_maps[init->plan.mount_count],
                                                              MOUNT_WRITABLE);
                if (init->trees[WORKSPACE_TREE] < 0)
                        return -1;
        }
        init->report.detail[0] = '\0';
        if (mount_tmpfs("/proc", init->plan.root_bytes, ROOT_INODES, 0755) < 0)
                return -1;
        return chdir("/proc");
}

/* Makes what to mount on (a directory or a file, as the source is) and puts the tree there. */
static int attach(int tree, const char *target)
{
        struct stat st;
        int r;

        if (fstat(tree, &st) < 0)
                return -1;
        if (S_ISDIR(st.st_mode))
                r = mount_make_directory(target, 0755);
        else
                r = mount_make_file(target);
        if (r < 0 || mount_attach(tree, target) < 0)
                return -1;
        fd_close(tree);
        return 0;
}

/* Makes a symbolic link of the host again. Where the link leads is decided inside. */
static int copy_link(const char *source, const char *target)
{
        char link[PATH_MAX];
        ssize_t n = readlink(source, link, sizeof(link) - 1);

        if (n < 0)
                return errno == EINVAL || errno == ENOENT || errno == ENOTDIR ? 0 : -1;
        link[n] = '\0';
        if (strrchr(target, '/') != target) {
                char parent[PATH_MAX];
                size_t length = (size_t)(strrchr(target, '/') - target);

                memcpy(parent, target, length);
                parent[length] = '\0';
                if (mount_make_directory(parent, 0755) < 0)
                        return -1;
        }
        /* It may be there already, or lie in a directory that is mounted read-only. */
        return symlink(link, target + 1) < 0 && errno != EEXIST && errno != EROFS ? -1 : 0;
}

static int attach_plan_mounts(struct init *init, bool system)
{
        int tree = first_plan_tree();

        for (uint32_t i = 0; i < init->plan.mount_count; i++, tree++) {
                const struct plan_mount *mount = &init->plan.mounts[i];

                if ((mount->kind == PLAN_MOUNT_SYSTEM) != system)
                        continue;
                report_detail(init, mount->target);
                if (init->trees[tree] < 0 ? copy_link(mount->source, mount->target) < 0 :
                                            attach(init->trees[tree], mount->target) < 0)
                        return -1;
        }
        init->report.detail[0] = '\0';
        return 0;
}

int root_system(struct init *init)
{
        return attach_plan_mounts(init, true);
}

int root_volumes(struct init *init)
{
        return attach_plan_mounts(init, false);
}

int root_devices(struct init *init)
{
        for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
                report_detail(init, devices[i]);
                if (attach(init->trees[DEVICE_TREES + i], devices[i]) < 0)
                        return -1;
        }
        init->report.detail[0] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(device_links); i++)
                if (symlink(device_links[i].target, device_links[i].path) < 0)
                        return -1;
        if (mkdir("dev/pts", 0755) < 0 || mkdir("dev/shm", 0755) < 0)
                return -1;
        return mount_devpts("dev/pts");
}

int root_proc(struct init *init)
{
        if (mkdir("proc", 0555) < 0)
                return -1;
        if (!init->plan.full_proc && mount_proc("proc", true) == 0)
                return 0;
        /* subset=pid came with Linux 5.8; what cannot be left out is covered. */
        if (mount_proc("proc", false) < 0)
                return -1;
        return mount_mask_proc("proc");
}

static int give_directory(const struct init *init, const char *path, unsigned mode)
{
        return mkdir(path, mode) < 0 || chown(path, init->guest_uid, init->guest_uid) < 0 ? -1 : 0;
}

/* One tmpfs for everything writable, so that there is one limit. It is mounted where the workspace
 * goes; its parts are bound to their places, the workspace's own over the top of it. */
int root_workspace(struct init *init)
{
        if (mkdir("workspace", 0755) < 0 || mkdir("tmp", 0755) < 0)
                return -1;
        if (mount_tmpfs("workspace", init->plan.disk_bytes, init->plan.disk_inodes, 0755) < 0)
                return -1;
        if (give_directory(init, "workspace/workspace", 0755) < 0 ||
            give_directory(init, "workspace/tmp", 01777) < 0 ||
            give_directory(init, "workspace/shm", 01777) < 0)
                return -1;
        if (mount_bind("workspace/tmp", "tmp") < 0 || mount_bind("workspace/shm", "dev/shm") < 0)
                return -1;
        if (init->plan.workspace[0]) {
                report_detail(init, init->plan.workspace);
                return mount_attach(init->trees[WORKSPACE_TREE], "/workspace");
        }
        return mount_bind("workspace/workspace", "workspace");
}

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

static int make_file(struct init *init, const struct plan_file *file, const char *path)
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

int files_make(struct init *init, bool below)
{
        for (uint32_t i = 0; i < init->plan.file_count; i++) {
                const struct plan_file *file = &init->plan.files[i];
                char parent[PATH_MAX];
                size_t length = (size_t)(strrchr(file->path, '/') - file->path);

                report_detail(init, file->path);
                memcpy(parent, file->path, length);
                parent[length] = '\0';
                if (below && length > 0 && mount_make_directory(parent, 0755) < 0)
                        return -1;
                if (make_file(init, file, file->path + below) < 0)
                        return -1;
        }
        init->report.detail[0] = '\0';
        return 0;
}

int root_files(struct init *init)
{
        return files_make(init, true);
}
