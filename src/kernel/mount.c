#include "kernel/mount.h"
#include "kernel/sys.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* A caller inside a chroot has a root that is no mount, which the kernel wants for what follows.
 * With CAP_SYS_CHROOT a chroot is no wall: from a directory above one's root one climbs to the
 * namespace's. This is our own mount namespace, and no path is opened up there but the one that is
 * passed on. */
static int leave_chroot(void)
{
        AUTO_CLOSE int here = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct stat now, above;

        if (here < 0 || chroot("/proc") < 0 || fchdir(here) < 0)
                return -1;
        do
                if (stat(".", &now) < 0 || chdir("..") < 0 || stat(".", &above) < 0)
                        return -1;
        while (now.st_ino != above.st_ino || now.st_dev != above.st_dev);
        return chroot(".");
}

int mount_make_private(void)
{
        AUTO_CLOSE int root = -1;

        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
                return 0;
        if (errno != EINVAL)
                return -1;
        root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0 || leave_chroot() < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return -1;
        /* Back in: the paths of the plan are meant from there. */
        return fchdir(root) < 0 || chroot(".") < 0 ? -1 : 0;
}

static uint64_t attributes_of(enum mount_mode mode)
{
        return SYS_MOUNT_ATTR_NOSUID | SYS_MOUNT_ATTR_NODEV |
               (mode == MOUNT_READ_ONLY ? SYS_MOUNT_ATTR_RDONLY : 0);
}

int mount_clone(const char *path, enum mount_mode mode)
{
        AUTO_CLOSE int path_fd = sys_openat2(AT_FDCWD, path, O_PATH, SYS_RESOLVE_NO_SYMLINKS);
        AUTO_CLOSE int tree_fd = -1;
        struct sys_mount_attr attr = { .attr_set = attributes_of(mode) };

        if (path_fd < 0)
                return -1;
        tree_fd = sys_open_tree(path_fd, "",
                                SYS_OPEN_TREE_CLONE | SYS_AT_RECURSIVE | AT_EMPTY_PATH | O_CLOEXEC);
        if (tree_fd < 0)
                return -1;
        if (sys_mount_setattr(tree_fd, "", AT_EMPTY_PATH | SYS_AT_RECURSIVE, &attr) < 0)
                return -1;
        return fd_take(&tree_fd);
}

int mount_map_owners(int tree_fd, int user_namespace_fd)
{
        struct sys_mount_attr attr = { .attr_set = SYS_MOUNT_ATTR_IDMAP,
                                       .userns_fd = (uint64_t)user_namespace_fd };

        return sys_mount_setattr(tree_fd, "", AT_EMPTY_PATH, &attr);
}

int mount_attach(int tree_fd, const char *target)
{
        return sys_move_mount(tree_fd, "", AT_FDCWD, target + 1, SYS_MOVE_MOUNT_F_EMPTY_PATH);
}

int mount_attach_to(int tree_fd, int place_fd)
{
        return sys_move_mount(tree_fd, "", place_fd, "",
                              SYS_MOVE_MOUNT_F_EMPTY_PATH | SYS_MOVE_MOUNT_T_EMPTY_PATH);
}

int mount_tmpfs(const char *target, uint64_t bytes, uint64_t inodes, unsigned mode)
{
        char options[128];

        (void)snprintf(options, sizeof(options), "size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=%o",
                       bytes, inodes, mode);
        return mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

int mount_resize_tmpfs(const char *target, uint64_t bytes, uint64_t inodes)
{
        char options[128];

        (void)snprintf(options, sizeof(options), "size=%" PRIu64 ",nr_inodes=%" PRIu64, bytes,
                       inodes);
        return mount(NULL, target, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, options);
}

int mount_proc(const char *target, bool pids_only)
{
        return mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                     pids_only ? "subset=pid" : NULL);
}

/* What a full /proc must not show; directories are covered by an empty read-only tmpfs, files by
 * /dev/null. What a kernel does not have is skipped. */
static const char *const masked_directories[] = {
        "acpi", "asound", "bus", "driver",  "dynamic_debug", "fs",
        "irq",  "scsi",   "sys", "sysvipc", "tty",
};
static const char *const masked_files[] = {
        "config.gz",   "interrupts",  "iomem",         "ioports",  "kallsyms",
        "kcore",       "keys",        "key-users",     "kmsg",     "kpagecgroup",
        "kpagecount",  "kpageflags",  "latency_stats", "mtrr",     "pagetypeinfo",
        "sched_debug", "schedstat",   "slabinfo",      "softirqs", "sysrq-trigger",
        "timer_list",  "timer_stats", "vmallocinfo",   "zoneinfo", "modules",
        "swaps",       "partitions",  "diskstats",     "cmdline",  "buddyinfo",
};

int mount_mask_proc(const char *target)
{
        char path[PATH_MAX];

        for (size_t i = 0; i < ARRAY_SIZE(masked_directories); i++) {
                (void)snprintf(path, sizeof(path), "%s/%s", target, masked_directories[i]);
                if (mount("tmpfs", path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                          "size=4k,nr_inodes=2,mode=555") < 0 &&
                    errno != ENOENT)
                        return -1;
        }
        for (size_t i = 0; i < ARRAY_SIZE(masked_files); i++) {
                (void)snprintf(path, sizeof(path), "%s/%s", target, masked_files[i]);
                if (mount("dev/null", path, NULL, MS_BIND, NULL) < 0 && errno != ENOENT)
                        return -1;
        }
        return 0;
}

int mount_devpts(const char *target)
{
        return mount("devpts", target, "devpts", MS_NOSUID | MS_NOEXEC,
                     "newinstance,ptmxmode=0666,mode=0620,max=64");
}

int mount_bind(const char *source, const char *target)
{
        return mount(source, target, NULL, MS_BIND, NULL);
}

int mount_bind_system(const char *source, const char *target)
{
        struct sys_mount_attr attr = { .attr_set = attributes_of(MOUNT_READ_ONLY) };

        if (mount(source, target, NULL, MS_BIND | MS_REC, NULL) < 0)
                return -1;
        return sys_mount_setattr(AT_FDCWD, target, SYS_AT_RECURSIVE | AT_SYMLINK_NOFOLLOW, &attr);
}

int mount_bind_device(const char *source, const char *target)
{
        struct sys_mount_attr attr = { .attr_set = SYS_MOUNT_ATTR_RDONLY | SYS_MOUNT_ATTR_NOSUID |
                                                   SYS_MOUNT_ATTR_NOEXEC };

        if (mount_bind(source, target) < 0)
                return -1;
        return sys_mount_setattr(AT_FDCWD, target, 0, &attr);
}

int mount_devices(const char *directory)
{
        struct sys_mount_attr attr = { .attr_set = SYS_MOUNT_ATTR_RDONLY | SYS_MOUNT_ATTR_NOSUID |
                                                   SYS_MOUNT_ATTR_NOEXEC,
                                       .attr_clr = SYS_MOUNT_ATTR_NODEV };

        if (mount_bind(directory, directory) < 0)
                return -1;
        if (sys_mount_setattr(AT_FDCWD, directory, 0, &attr) == 0)
                return 0;
        (void)umount2(directory, MNT_DETACH);
        return -1;
}

int mount_pivot(void)
{
        AUTO_CLOSE int new_root = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

        /* The new root is put over the old one, which is then below us and is let go: no directory
         * for the old root is needed. */
        if (sys_pivot_root(".", ".") < 0 && (errno != EINVAL || leave_chroot() < 0 ||
                                             fchdir(new_root) < 0 || sys_pivot_root(".", ".") < 0))
                return -1;
        if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
                return -1;
        return mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
                     NULL);
}

/* Makes the directories above `path`, which begins with '/', below the current directory. */
static int make_parents(const char *path)
{
        char partial[PATH_MAX];
        size_t length = strlen(path);

        if (length >= sizeof(partial)) {
                errno = ENAMETOOLONG;
                return -1;
        }
        memcpy(partial, path, length + 1);
        for (size_t i = 1; i < length; i++) {
                if (partial[i] != '/')
                        continue;
                partial[i] = '\0';
                if (mkdir(partial + 1, 0755) < 0 && errno != EEXIST)
                        return -1;
                partial[i] = '/';
        }
        return 0;
}

/* Most parents are there already, so they are made only when they turn out to be missing. */
int mount_make_directory(const char *path, unsigned mode)
{
        if (mkdir(path + 1, mode) == 0 || errno == EEXIST)
                return 0;
        if (errno != ENOENT || make_parents(path) < 0)
                return -1;
        return mkdir(path + 1, mode);
}

int mount_make_file(const char *path)
{
        mode_t mode = S_IFREG | 0644;

        if (mknod(path + 1, mode, 0) == 0 || errno == EEXIST)
                return 0;
        if (errno != ENOENT || make_parents(path) < 0)
                return -1;
        return mknod(path + 1, mode, 0);
}
