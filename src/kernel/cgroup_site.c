/*
 * Where this process may make groups. Its own groups are read from /proc/self/cgroup; where the
 * hierarchies are mounted is known on nearly every machine, and else found in /proc/self/mountinfo.
 */
#include "kernel/cgroup.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { CGROUP1_MAGIC = 0x27e0eb, CGROUP2_MAGIC = 0x63677270, MOUNTINFO_MAX = 16 << 20 };

static const char *const controller_names[CGROUP_CONTROLLERS] = {
        [CGROUP_MEMORY] = "memory",
        [CGROUP_PIDS] = "pids",
        [CGROUP_CPU] = "cpu",
        [CGROUP_CPUACCT] = "cpuacct",
};

/* Whether `word` stands in a list separated by commas or blanks, ended by NUL or a line's end. */
static bool list_has(const char *list, const char *word)
{
        size_t length = strlen(word);

        for (const char *p = list; *p && *p != '\n';) {
                size_t n = strcspn(p, ", \n");

                if (n == length && memcmp(p, word, n) == 0)
                        return true;
                p += n;
                p += *p == ',' || *p == ' ';
        }
        return false;
}

/* The process's own group in the hierarchy of `controller` ("" for version 2). */
static bool own_group(const char *self_cgroup, const char *controller, char *ret_path, size_t size)
{
        for (const char *line = self_cgroup; *line;) {
                const char *list = strchr(line, ':');
                const char *path = list ? strchr(list + 1, ':') : NULL;
                size_t length = strcspn(line, "\n");
                char names[256];

                if (path && (size_t)(path - list - 1) < sizeof(names)) {
                        memcpy(names, list + 1, (size_t)(path - list - 1));
                        names[path - list - 1] = '\0';
                        if (*controller ? list_has(names, controller) : !*names) {
                                (void)snprintf(ret_path, size, "%.*s",
                                               (int)(length - (size_t)(path + 1 - line)), path + 1);
                                return true;
                        }
                }
                line += length;
                line += *line == '\n';
        }
        return false;
}

/* Where hierarchies are mounted on nearly every machine, tried before the list of all mounts is
 * read. */
static bool find_usual_mount(const char *controller, char *ret_root, char *ret_place, size_t size)
{
        struct statfs fs;

        (void)snprintf(ret_root, size, "/");
        (void)snprintf(ret_place, size, "/sys/fs/cgroup%s%s", *controller ? "/" : "", controller);
        return statfs(ret_place, &fs) == 0 &&
               fs.f_type == (*controller ? CGROUP1_MAGIC : CGROUP2_MAGIC);
}

/* The mount of a hierarchy: its place, and which group of it is mounted there. */
static bool find_mount(const char *mountinfo, const char *type, const char *controller,
                       char *ret_root, char *ret_place, size_t size)
{
        char format[64];

        if (!mountinfo)
                return find_usual_mount(controller, ret_root, ret_place, size);
        (void)snprintf(format, sizeof(format), "%%*d %%*d %%*s %%%zus %%%zus", size - 1, size - 1);
        for (const char *line = mountinfo; *line;) {
                size_t length = strcspn(line, "\n");
                const char *dash = strstr(line, " - ");

                if (dash && dash < line + length) {
                        size_t type_length = strcspn(dash + 3, " ");
                        const char *options = strchr(dash + 3 + type_length + 1, ' ');

                        if (strlen(type) == type_length &&
                            memcmp(dash + 3, type, type_length) == 0 &&
                            (!*controller || (options && list_has(options + 1, controller))) &&
                            sscanf(line, format, ret_root, ret_place) == 2)
                                return true;
                }
                line += length;
                line += *line == '\n';
        }
        return false;
}

/* The directory of the process's own group: the mount's place and the group's path below its root.
 */
static bool own_directory(const char *mountinfo, const char *self_cgroup, const char *type,
                          const char *controller, char *ret_place, char *ret_path, size_t size)
{
        char root[PATH_MAX], group[PATH_MAX];
        const char *below = group;

        if (!find_mount(mountinfo, type, controller, root, ret_place, sizeof(root)) ||
            !own_group(self_cgroup, controller, group, sizeof(group)))
                return false;
        if (!str_equal(root, "/") && str_has_prefix(group, root))
                below = group + strlen(root);
        if (str_has_prefix(below, "/.."))
                return false; /* outside of what is mounted here */
        return (size_t)snprintf(ret_path, size, "%s%s", ret_place,
                                str_equal(below, "/") ? "" : below) < size;
}

static void open_v1(struct cgroup_site *site, const char *mountinfo, const char *self_cgroup)
{
        for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
                char place[PATH_MAX], path[PATH_MAX];

                if (!own_directory(mountinfo, self_cgroup, "cgroup", controller_names[i], place,
                                   path, sizeof(path)))
                        continue;
                if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0) {
                        (void)snprintf(site->reason, sizeof(site->reason),
                                       "this user may not make groups in the %s hierarchy",
                                       controller_names[i]);
                        continue;
                }
                site->parent_fds[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (site->parent_fds[i] >= 0)
                        site->version = CGROUP_V1;
        }
}

/* Whether groups below this directory get the controllers, after asking for it. */
static bool hands_down(int dir)
{
        char text[512];

        if (fd_read_file_at(dir, "cgroup.controllers", text, sizeof(text)) <= 0 ||
            !list_has(text, "memory") || !list_has(text, "pids"))
                return false;
        for (int i = 0; i < 2; i++) {
                if (fd_read_file_at(dir, "cgroup.subtree_control", text, sizeof(text)) >= 0 &&
                    list_has(text, "memory") && list_has(text, "pids") &&
                    (i || list_has(text, "cpu")))
                        return true;
                if (i == 0) {
                        /* Refused with EBUSY where processes live in the group itself. */
                        (void)fd_write_file_at(dir, "cgroup.subtree_control", "+memory +pids");
                        (void)fd_write_file_at(dir, "cgroup.subtree_control", "+cpu");
                }
        }
        return false;
}

static bool is_usable(const char *path, int *ret_fd)
{
        AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        /* To put a process into a group one must be able to write the common ancestor's members. */
        if (dir < 0 || faccessat(dir, ".", W_OK, AT_EACCESS) < 0 ||
            faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) < 0 || !hands_down(dir))
                return false;
        *ret_fd = fd_take(&dir);
        return true;
}

static void open_v2(struct cgroup_site *site, const char *mountinfo, const char *self_cgroup)
{
        char place[PATH_MAX], path[PATH_MAX], text[512];
        int fd = -1;

        if (!own_directory(mountinfo, self_cgroup, "cgroup2", "", place, path, sizeof(path)))
                return;
        /* From the own group upwards: a group with members cannot hand controllers down, unless it
         * is the machine's root, so this usually ends at the parent. */
        while (!is_usable(path, &fd)) {
                char *slash = strrchr(path, '/');

                if (strlen(path) <= strlen(place) || !slash) {
                        (void)snprintf(site->reason, sizeof(site->reason),
                                       "no control group that this user may use hands down memory "
                                       "and pids");
                        return;
                }
                *slash = '\0';
        }
        site->version = CGROUP_V2;
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                site->parent_fds[i] = i == 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (fd_read_file_at(fd, "cgroup.subtree_control", text, sizeof(text)) > 0 &&
            !list_has(text, "cpu")) {
                fd_close(site->parent_fds[CGROUP_CPU]);
                site->parent_fds[CGROUP_CPU] = -1;
        }
}

static int set_owner(struct cgroup_site *site, struct error *err)
{
        struct timespec now = { 0 };
        char space[64] = ""; /* "pid:[4026531836]"; to follow it would make an inode */
        const char *inode;
        uint32_t tag;

        if (readlink("/proc/self/ns/pid", space, sizeof(space) - 1) < 0 ||
            !(inode = strchr(space, '[')) || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
                return error_set_errno(err, "read /proc/self");
        /* A process may have several engines, made in the same second. */
        if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
                return error_set_errno(err, "read random bytes");
        (void)snprintf(site->owner, sizeof(site->owner), "%llu.%d.%llu.%08x",
                       strtoull(inode + 1, NULL, 10), (int)getpid(), (unsigned long long)now.tv_sec,
                       (unsigned)tag);
        return 0;
}

static int read_mounts(char **ret_text, struct error *err)
{
        AUTO_CLOSE int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        size_t length;

        if (fd < 0)
                return error_set_errno(err, "open /proc/self/mountinfo");
        return fd_read_all(fd, MOUNTINFO_MAX, "/proc/self/mountinfo", ret_text, &length, err);
}

int cgroup_site_open(struct cgroup_site *site, struct error *err)
{
        AUTO_FREE char *mountinfo = NULL;
        char self_cgroup[8192];
        int r;

        *site = (struct cgroup_site){ .version = CGROUP_NONE };
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                site->parent_fds[i] = -1;
        r = set_owner(site, err);
        if (r < 0)
                return r;
        if (fd_read_file_at(AT_FDCWD, "/proc/self/cgroup", self_cgroup, sizeof(self_cgroup)) <= 0) {
                (void)snprintf(site->reason, sizeof(site->reason),
                               "/proc does not show control groups");
                return 0;
        }
        open_v2(site, NULL, self_cgroup);
        if (site->version == CGROUP_NONE)
                open_v1(site, NULL, self_cgroup);
        if (site->version == CGROUP_NONE) {
                r = read_mounts(&mountinfo, err);
                if (r < 0)
                        return r;
                open_v2(site, mountinfo, self_cgroup);
                if (site->version == CGROUP_NONE)
                        open_v1(site, mountinfo, self_cgroup);
        }
        return 0;
}

bool cgroup_site_is_hybrid(const struct cgroup_site *site)
{
        return site->version == CGROUP_V1 &&
               access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0;
}

void cgroup_site_close(struct cgroup_site *site)
{
        for (int i = 0; i < CGROUP_CONTROLLERS; i++) {
                fd_close(site->parent_fds[i]);
                site->parent_fds[i] = -1;
        }
}
