/* The disk: what a run may write where the host sees it is measured, before, while and after it
 * runs. */
#include "monitor/watch.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum {
        TREE_ENTRIES_MAX = 200000,
        TREE_DEPTH_MAX = 64,
        TMPFS = 0x01021994,
        DISK_PAUSE_NS = 1000000000
};

struct measure {
        struct monitor_space *space;
        unsigned entries;
        bool is_over;    /* the guest is dead: nothing changes under our hands */
        bool incomplete; /* too deep, too many, or closed to us: what is there cannot be told */
};

/* Opens a directory that can be listed and searched. */
static int open_tree(int dirfd, const char *name)
{
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        AUTO_CLOSE int fd = openat(dirfd, name, flags);

        return fd < 0 ? -1 : openat(fd, ".", flags);
}

/* By a bare name below another: a name that became a link is not followed. One that the guest
 * closed to us is opened up once it is dead. */
static int open_below(const struct measure *measure, int dirfd, const char *name)
{
        int fd = open_tree(dirfd, name);

        if (fd >= 0 || errno != EACCES || !measure->is_over)
                return fd;
        return tree_open_up(dirfd, name) < 0 ? -1 : open_tree(dirfd, name);
}

static void measure_tree(struct measure *measure, int fd, dev_t device, int depth);

/* Goes on below. While it lives, a guest may close what it goes on writing to. */
static void measure_below(struct measure *measure, int dirfd, const char *name, dev_t device,
                          int depth)
{
        int fd = open_below(measure, dirfd, name);

        if (fd >= 0)
                measure_tree(measure, fd, device, depth);
        else if (errno == EACCES && !measure->is_over)
                measure->space->has_closed = true;
        else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
                measure->incomplete = true;
}

/* Bytes below a directory that a guest may be changing: no link followed, no other file system.
 * Takes the descriptor. */
static void measure_tree(struct measure *measure, int fd, dev_t device, int depth)
{
        DIR *dir = depth > TREE_DEPTH_MAX ? NULL : fdopendir(fd);
        struct dirent *entry;

        if (!dir) {
                measure->incomplete = true;
                fd_close(fd);
                return;
        }
        while (!measure->incomplete && (entry = readdir(dir))) {
                struct stat st;

                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != device)
                        continue; /* removed meanwhile, or not of this disk */
                measure->incomplete = ++measure->entries > TREE_ENTRIES_MAX;
                measure->space->bytes += (uint64_t)st.st_blocks * 512;
                measure->space->full_files +=
                        S_ISREG(st.st_mode) && (uint64_t)st.st_size == measure->space->file_bytes;
                if (S_ISDIR(st.st_mode))
                        measure_below(measure, fd, entry->d_name, device, depth + 1);
        }
        (void)closedir(dir);
}

bool monitor_measure(const int *dir_fds, size_t count, bool is_over, struct monitor_space *space)
{
        struct measure measure = { .space = space, .is_over = is_over };

        for (size_t i = 0; i < count; i++) {
                struct stat st;

                if (fstat(dir_fds[i], &st) < 0) {
                        measure.incomplete = true;
                        break;
                }
                if (is_over && (st.st_mode & 0500) != 0500)
                        (void)fchmod(dir_fds[i], (st.st_mode & 07777) | 0700);
                measure_below(&measure, dir_fds[i], ".", st.st_dev, 0);
        }
        return !measure.incomplete;
}

/* What the file systems of the counted directories hold, whoever wrote it. */
static uint64_t filesystems_used(const struct monitor_order *order, int workspace_fd)
{
        dev_t seen[HELD_DEVICES_MAX] = { 0 };
        size_t seen_count = 0;
        uint64_t used = 0;

        for (size_t i = 0; i <= order->counted_count; i++) {
                int fd = i < order->counted_count ? order->counted_fds[i] : workspace_fd;
                struct statfs fs;
                struct stat st;
                size_t same = 0;

                if (fd < 0 || fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
                        continue;
                while (same < seen_count && seen[same] != st.st_dev)
                        same++;
                if (same < seen_count || seen_count == HELD_DEVICES_MAX)
                        continue;
                seen[seen_count++] = st.st_dev;
                used += (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
        }
        return used;
}

static uint64_t filesystems_used_now(const struct watch *watch)
{
        return filesystems_used(watch->order,
                                watch->order->counts_workspace ? watch->run->workspace_fd : -1);
}

uint64_t disk_before(const struct monitor_order *order)
{
        return filesystems_used(order, -1);
}

void disk_begin(struct watch *watch)
{
        /* A workspace that is new is seen no sooner than now. */
        watch->disk_before = watch->order->counts_workspace ? filesystems_used_now(watch)
                                                            : watch->order->disk_before;
}

/* What removed files hold that still live. Where some of them, or a directory that was closed,
 * cannot be measured, and not for a moment only, all that the disk grew by counts: others may have
 * written too, but who hides what he writes cannot ask to be told apart from them. */
static uint64_t removed_bytes(struct watch *watch, bool has_closed, uint64_t *ret_grown)
{
        AUTO_FREE struct held *held = mem_alloc(sizeof(*held));
        uint64_t used;

        *ret_grown = 0;
        if (!held)
                return 0;
        held->on_disk = true;
        for (size_t i = 0; i < watch->order->counted_count; i++)
                held_count_on(held, watch->order->counted_fds[i]);
        if (watch->order->counts_workspace && watch->run->workspace_fd >= 0)
                held_count_on(held, watch->run->workspace_fd);
        processes_hold(watch, held);
        watch->disk_unseen = held->has_unseen || has_closed ? watch->disk_unseen + 1 : 0;
        if (watch->disk_unseen < MONITOR_UNSEEN_LOOKS)
                return held->bytes;
        used = filesystems_used_now(watch);
        *ret_grown = used > watch->disk_before ? used - watch->disk_before : 0;
        return held->bytes;
}

uint64_t disk_pause(uint64_t took_ns)
{
        uint64_t pause = took_ns * 9;

        if (pause <= DISK_PAUSE_NS)
                return pause;
        return took_ns > DISK_PAUSE_NS ? took_ns : DISK_PAUSE_NS;
}

static void plan_next_look(struct watch *watch, uint64_t started, uint64_t used)
{
        uint64_t now = clock_now_ns(), took = now - started;

        watch->disk_ns = now + disk_pause(took);
        watch->disk_soonest_ns = now + took; /* half of our time, where the disk goes on growing */
        watch->disk_used_then = used;
}

/* Between two looks the file systems are asked, which costs next to nothing: once they grew by more
 * than was left, it may be the run's doing or that of others, and only a look can tell. */
bool disk_is_due(const struct watch *watch)
{
        uint64_t now = clock_now_ns();

        return now >= watch->disk_ns ||
               (now >= watch->disk_soonest_ns &&
                watch_less(filesystems_used_now(watch), watch->disk_used_then) >
                        watch_less(watch->order->disk_bytes, watch->disk_bytes));
}

bool disk_is_over(struct watch *watch)
{
        const struct monitor_order *order = watch->order;
        const struct monitor_space *before = &order->counted_before;
        struct monitor_space now = { .file_bytes = order->disk_bytes };
        uint64_t started = clock_now_ns(), grown = 0, used;
        bool complete;

        if (order->counted_count == 0 && !order->counts_workspace)
                return false;
        used = filesystems_used_now(watch); /* what is written while we look is after it */
        complete = monitor_measure(order->counted_fds, order->counted_count,
                                   run_is_over(watch->run), &now);
        if (order->counts_workspace && watch->run->workspace_fd >= 0)
                complete &= monitor_measure(&watch->run->workspace_fd, 1, run_is_over(watch->run),
                                            &now);
        if (!run_is_over(watch->run))
                now.bytes += removed_bytes(watch, now.has_closed, &grown);
        watch->disk_bytes = now.bytes > before->bytes ? now.bytes - before->bytes : 0;
        if (grown > watch->disk_bytes)
                watch->disk_bytes = grown;
        watch->file_is_full = now.full_files > before->full_files;
        plan_next_look(watch, started, used);
        /* It was complete before the run: what the run hid counts as too much. */
        return !complete || watch->disk_bytes > order->disk_bytes;
}

uint64_t disk_used(const struct watch *watch)
{
        struct statfs fs;

        if (watch->order->counted_count > 0 || watch->order->counts_workspace)
                return watch->disk_bytes;
        if (watch->run->workspace_fd < 0 || fstatfs(watch->run->workspace_fd, &fs) < 0 ||
            fs.f_type != TMPFS)
                return MONITOR_UNKNOWN;
        return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

bool disk_is_full(int workspace_fd)
{
        struct statfs fs;

        return workspace_fd >= 0 && fstatfs(workspace_fd, &fs) == 0 && fs.f_type == TMPFS &&
               (fs.f_bavail == 0 || fs.f_ffree == 0);
}
