/*
 * Building the root. What the caller handed in is first cloned, without following a link, as a
 * detached, hardened mount. Then a small tmpfs is mounted over /proc (the one directory every
 * machine has, and from which nothing is taken) and becomes the current directory, below which all
 * is put in place: paths of the system by plain binds, the clones, devices, /proc, workspace,
 * files.
 */
#include "init/init.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "kernel/mount.h"
#include "kernel/sys.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { ROOT_INODES = 4096, FOLDERS_MOST = 33, MEMORY_DEVICES = 1 };

static const struct {
        const char *path;
        unsigned minor; /* of the devices for memory */
} devices[] = {
        { "/dev/null", 3 },   { "/dev/zero", 5 },    { "/dev/full", 7 },
        { "/dev/random", 8 }, { "/dev/urandom", 9 },
};

static const struct {
        const char *path, *target;
} device_links[] = {
        { "dev/fd", "/proc/self/fd" },       { "dev/stdin", "/proc/self/fd/0" },
        { "dev/stdout", "/proc/self/fd/1" }, { "dev/stderr", "/proc/self/fd/2" },
        { "dev/ptmx", "pts/ptmx" },
};

/* Clones what the caller handed in and makes its owner the guest. Where the file system cannot do
 * that, what must be writable has to be so for everybody. */
static int clone_handed_in(struct init *init, const char *source, int owner_map,
                           enum mount_mode mode)
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

int root_make(struct init *init)
{
        const struct plan *plan = &init->plan;

        for (uint32_t i = 0; i < plan->mount_count; i++) {
                const struct plan_mount *mount = &plan->mounts[i];

                if (mount->kind == PLAN_MOUNT_SYSTEM)
                        continue;
                init->trees[i] = clone_handed_in(init, mount->source, init->owner_maps[i],
                                                 mount->kind == PLAN_MOUNT_WRITE ? MOUNT_WRITABLE
                                                                                 : MOUNT_READ_ONLY);
                if (init->trees[i] < 0)
                        return -1;
        }
        if (plan->workspace[0]) {
                init->trees[plan->mount_count] = clone_handed_in(
                        init, plan->workspace, init->owner_maps[plan->mount_count], MOUNT_WRITABLE);
                if (init->trees[plan->mount_count] < 0)
                        return -1;
        }
        init->report.detail[0] = '\0';
        if (mount_tmpfs("/proc", plan->root_bytes, ROOT_INODES + plan->file_count * FOLDERS_MOST,
                        0755) < 0)
                return -1;
        return chdir("/proc");
}

/* Makes what a path of this kind can be mounted on. */
static int make_mount_point(const char *target, mode_t kind)
{
        return S_ISDIR(kind) ? mount_make_directory(target, 0755) : mount_make_file(target);
}

/* Makes a symbolic link of the host again. Where the link leads is decided inside. */
static int copy_link(const char *source, const char *target)
{
        char link[PATH_MAX], parent[PATH_MAX];
        size_t length = (size_t)(strrchr(target, '/') - target);
        ssize_t n = readlink(source, link, sizeof(link) - 1);

        if (n < 0)
                return -1;
        link[n] = '\0';
        memcpy(parent, target, length);
        parent[length] = '\0';
        if (length > 0 && mount_make_directory(parent, 0755) < 0)
                return -1;
        /* It may be there already, or lie in a directory that is mounted read-only. */
        return symlink(link, target + 1) < 0 && errno != EEXIST && errno != EROFS ? -1 : 0;
}

int root_system(struct init *init)
{
        for (uint32_t i = 0; i < init->plan.mount_count; i++) {
                const struct plan_mount *mount = &init->plan.mounts[i];
                struct stat st;
                int r;

                if (mount->kind != PLAN_MOUNT_SYSTEM)
                        continue;
                report_detail(init, mount->target);
                if (lstat(mount->source, &st) < 0) {
                        if (errno == ENOENT || errno == ENOTDIR)
                                continue; /* a language lists what it may need */
                        return -1;
                }
                if (S_ISLNK(st.st_mode))
                        r = copy_link(mount->source, mount->target);
                else
                        r = make_mount_point(mount->target, st.st_mode) < 0
                                    ? -1
                                    : mount_bind_system(mount->source, mount->target + 1);
                if (r < 0)
                        return -1;
        }
        init->report.detail[0] = '\0';
        return 0;
}

int root_volumes(struct init *init)
{
        for (uint32_t i = 0; i < init->plan.mount_count; i++) {
                const struct plan_mount *mount = &init->plan.mounts[i];
                AUTO_CLOSE int place = -1;
                struct stat st;

                if (mount->kind == PLAN_MOUNT_SYSTEM)
                        continue;
                report_detail(init, mount->target);
                if (fstat(init->trees[i], &st) < 0 ||
                    (place = place_open(init, mount->target, st.st_mode)) < 0 ||
                    mount_attach_to(init->trees[i], place) < 0)
                        return -1;
                fd_close(init->trees[i]);
        }
        init->report.detail[0] = '\0';
        return 0;
}

/* What is mounted on; a nest has it already. */
static int make_place(const char *path)
{
        return mkdir(path, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

/* Programs written for other sandboxes know their workspace as /app. A mount of that name wins. */
static int alias_workspace(const struct init *init)
{
        for (uint32_t i = 0; i < init->plan.mount_count; i++)
                if (path_is_within(init->plan.mounts[i].target, "/app"))
                        return 0;
        return symlink("workspace", "app");
}

/* A manager of containers may let us make nodes that nobody can use. */
static bool can_be_used(const char *node)
{
        AUTO_CLOSE int fd = open(node, O_RDWR | O_CLOEXEC);

        return fd >= 0;
}

/* Nodes of the container's own, where the host lets us make and use them; false: there are none. */
static bool make_nodes(const struct init *init)
{
        size_t count = 0;

        if (init->plan.user_namespace)
                return false;
        while (count < ARRAY_SIZE(devices) &&
               mknod(devices[count].path + 1, S_IFCHR | 0666,
                     makedev(MEMORY_DEVICES, devices[count].minor)) == 0)
                count++;
        if (count == ARRAY_SIZE(devices) && mount_devices("dev") == 0) {
                if (can_be_used("dev/null"))
                        return true;
                (void)umount2("dev", MNT_DETACH);
        }
        while (count > 0)
                (void)unlink(devices[--count].path + 1);
        return false;
}

/* Those of the host. */
static int bind_nodes(struct init *init)
{
        for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
                report_detail(init, devices[i].path);
                if (mount_make_file(devices[i].path) < 0 ||
                    mount_bind_device(devices[i].path, devices[i].path + 1) < 0)
                        return -1;
        }
        init->report.detail[0] = '\0';
        return 0;
}

int root_devices(struct init *init)
{
        if (mkdir("dev", 0755) < 0 || mkdir("dev/pts", 0755) < 0 || mkdir("dev/shm", 0755) < 0)
                return -1;
        for (size_t i = 0; i < ARRAY_SIZE(device_links); i++)
                if (symlink(device_links[i].target, device_links[i].path) < 0)
                        return -1;
        if ((!make_nodes(init) && bind_nodes(init) < 0) || alias_workspace(init) < 0)
                return -1;
        return mount_devpts("dev/pts");
}

int root_proc(struct init *init)
{
        if (make_place("proc") < 0)
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
        if (make_place("workspace") < 0 || make_place("tmp") < 0)
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
                return mount_attach(init->trees[init->plan.mount_count], "/workspace");
        }
        return mount_bind("workspace/workspace", "workspace");
}

int root_places(struct init *init)
{
        static const char *const places[] = { "workspace", "tmp", "proc", "code" };

        (void)init;
        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                if (make_place(places[i]) < 0)
                        return -1;
        return 0;
}
