/*
 * Files that exist only because a process holds them: memory files, which need not be mapped to
 * fill memory, and files of a disk that were removed, which no walk of a tree finds. A process
 * holds one by a descriptor, by a mapping, or by executing it, and all of these can be looked up.
 * A descriptor that was sent and not yet received cannot: that there is one is all that the kernel
 * tells. Nor can a mapping be measured without the rights for it. Then `has_unseen` is set, and
 * whoever asked takes what the whole file system, or the whole machine, grew by.
 */
#include "monitor/watch.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
        MAPS_LINES_MAX = 50000, /* of all processes in one look: what has more is not looked at */
        LINE_MAX_BYTES = 4608   /* a path, and what is before it; a guest can make longer ones */
};

static bool is_seen(const struct held *held, dev_t device, ino_t inode)
{
        for (size_t i = 0; i < held->count; i++)
                if (held->seen[i].device == device && held->seen[i].inode == inode)
                        return true;
        return false;
}

void held_count_on(struct held *held, int dir_fd)
{
        struct stat st;

        /* Without a device of its own, a file system may call its files' another in maps. */
        if (held->device_count == HELD_DEVICES_MAX || fstat(dir_fd, &st) < 0 ||
            major(st.st_dev) == 0)
                held->counts_everywhere = true;
        else
                held->devices[held->device_count++] = st.st_dev;
}

static bool is_counted_on(const struct held *held, dev_t device)
{
        for (size_t i = 0; i < held->device_count; i++)
                if (held->devices[i] == device)
                        return true;
        return held->counts_everywhere;
}

bool held_has(const struct held *held, dev_t device, uint64_t inode)
{
        return (held->memory_device != 0 && device == held->memory_device) ||
               is_seen(held, device, (ino_t)inode);
}

static void add_file(struct held *held, const struct stat *st)
{
        if (is_seen(held, st->st_dev, st->st_ino))
                return;
        if (held->count < HELD_FILES_MAX) {
                held->seen[held->count].device = st->st_dev;
                held->seen[held->count++].inode = st->st_ino;
        }
        held->bytes += (uint64_t)st->st_blocks * 512;
}

static bool is_removed(const struct stat *st)
{
        return S_ISREG(st->st_mode) && st->st_nlink == 0;
}

/* Whether descriptors wait in a socket's queue, or in that of a connection nobody accepted yet. */
static bool has_descriptors_in_flight(int proc, long pid, const char *number)
{
        char path[64], text[1024];
        const char *line;

        (void)snprintf(path, sizeof(path), "%ld/fdinfo/%.20s", pid, number);
        if (fd_read_file_at(proc, path, text, sizeof(text)) <= 0)
                return false; /* closed meanwhile */
        line = strstr(text, "scm_fds:");
        return line && strtoul(line + 8, NULL, 10) > 0;
}

static void add_descriptors(struct held *held, int proc, long pid)
{
        char path[32], link[64];
        int fd;
        DIR *dir;
        struct dirent *entry;

        (void)snprintf(path, sizeof(path), "%ld/fd", pid);
        fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        dir = fd >= 0 ? fdopendir(fd) : NULL;
        if (!dir) {
                held->has_unseen |= errno == EACCES || errno == EPERM;
                fd_close(fd);
                return;
        }
        while ((entry = readdir(dir))) {
                ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link));
                bool is_memory = n > 7 && memcmp(link, "/memfd:", 7) == 0;
                struct stat st;

                if (n > 7 && memcmp(link, "socket:", 7) == 0)
                        held->has_unseen |= has_descriptors_in_flight(proc, pid, entry->d_name);
                if (n <= 0 || link[0] != '/' || is_memory == held->on_disk ||
                    fstatat(dirfd(dir), entry->d_name, &st, 0) < 0)
                        continue;
                if (is_memory || is_removed(&st))
                        add_file(held, &st);
        }
        (void)closedir(dir);
}

/* A mapping of a removed file: measured where we may, which needs the rights of an administrator.
 * A line that was cut says at its end, which is not here, whether the file was removed.
 */
static void add_mapping(struct held *held, int proc, long pid, const char *line, bool is_cut)
{
        unsigned long start, end;
        unsigned high, low;
        unsigned long long inode;
        int path_at = 0;
        char path[80];
        const char *name;
        struct stat st;

        if (sscanf(line, "%lx-%lx %*4s %*x %x:%x %llu %n", &start, &end, &high, &low, &inode,
                   &path_at) < 5 ||
            inode == 0 || !is_counted_on(held, makedev(high, low)))
                return;
        name = line + path_at;
        /* What lies in memory is no file of a disk. */
        if ((!is_cut && !strstr(name, " (deleted)")) || strncmp(name, "/memfd:", 7) == 0 ||
            strncmp(name, "/SYSV", 5) == 0 || strcmp(name, "/dev/zero (deleted)\n") == 0 ||
            held_has(held, makedev(high, low), inode))
                return;
        (void)snprintf(path, sizeof(path), "%ld/map_files/%lx-%lx", pid, start, end);
        if (fstatat(proc, path, &st, 0) < 0)
                held->has_unseen = true;
        else if (is_removed(&st))
                add_file(held, &st);
}

static void add_mappings(struct held *held, int proc, long pid)
{
        char path[32], line[LINE_MAX_BYTES];
        bool is_cut = false;
        int fd;
        FILE *maps;

        (void)snprintf(path, sizeof(path), "%ld/maps", pid);
        fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        maps = fd >= 0 ? fdopen(fd, "re") : NULL;
        if (!maps) {
                held->has_unseen |= errno == EACCES || errno == EPERM;
                fd_close(fd);
                return;
        }
        while (held->lines < MAPS_LINES_MAX && fgets(line, sizeof(line), maps)) {
                bool goes_on = is_cut; /* the rest of a name, which can look like a line */

                held->lines++;
                is_cut = !strchr(line, '\n');
                if (!goes_on)
                        add_mapping(held, proc, pid, line, is_cut);
        }
        held->has_unseen |= held->lines == MAPS_LINES_MAX;
        (void)fclose(maps);
}

void held_add(struct held *held, int proc, long pid)
{
        char path[32];
        struct stat st;

        add_descriptors(held, proc, pid);
        if (!held->on_disk)
                return;
        (void)snprintf(path, sizeof(path), "%ld/exe", pid);
        if (fstatat(proc, path, &st, 0) == 0 && is_removed(&st))
                add_file(held, &st);
        add_mappings(held, proc, pid);
}
