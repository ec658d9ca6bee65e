/*
 * Memory of the processes of a run, summed where no control group counts it: what is their own, and
 * shared memory once. Pages of files on a disk are not in it: the kernel takes them back when
 * memory is short, as it does in a control group.
 */
#include "monitor/watch.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum {
        STATUS_BYTES = 8192,
        SMAPS_LINES_MAX = 200000, /* of all processes in one look; the rest is taken as it looks */
        LINE_MAX_BYTES = 4608     /* a path, and what is before it; a guest can make longer ones */
};

/* The number of kibibytes behind a name at the start of a line, in bytes; 0 where there is none. */
static uint64_t bytes_of(const char *text, const char *name)
{
        const char *line = strstr(text, name);

        return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

/* What the kernel tells everybody: cheap, and pages that processes share count for each. Page
 * tables are memory too, and grow without any page being resident. */
static void add_plainly(struct memory *memory, int proc, long pid)
{
        char path[32], text[STATUS_BYTES];

        (void)snprintf(path, sizeof(path), "%ld/status", pid);
        if (fd_read_file_at(proc, path, text, sizeof(text)) <= 0)
                return; /* it has ended meanwhile */
        memory->own += bytes_of(text, "\nRssAnon:") + bytes_of(text, "\nVmSwap:") +
                       bytes_of(text, "\nVmPTE:");
        memory->shared += bytes_of(text, "\nRssShmem:");
}

struct memory memory_plain(int proc, const long *pids, size_t count)
{
        struct memory memory = { 0 };

        for (size_t i = 0; i < count; i++)
                add_plainly(&memory, proc, pids[i]);
        return memory;
}

/* Pages that processes share count by their share. A process that may not be looked into counts
 * plainly. */
static void add_shares(struct memory *memory, int proc, long pid)
{
        char path[48], text[STATUS_BYTES];

        (void)snprintf(path, sizeof(path), "%ld/smaps_rollup", pid);
        if (fd_read_file_at(proc, path, text, sizeof(text)) <= 0 || !strstr(text, "\nPss_Anon:")) {
                if (errno != ESRCH && errno != ENOENT)
                        add_plainly(memory, proc, pid);
                return;
        }
        memory->own += bytes_of(text, "\nPss_Anon:") + bytes_of(text, "\nSwapPss:");
        memory->shared += bytes_of(text, "\nPss_Shmem:");
        (void)snprintf(path, sizeof(path), "%ld/status", pid);
        if (fd_read_file_at(proc, path, text, sizeof(text)) > 0)
                memory->own += bytes_of(text, "\nVmPTE:");
}

/* What was understood so far of the lines of one process. */
struct reading {
        bool is_cut;     /* the line goes on: what comes next is a part of a name */
        bool is_counted; /* the mapping's file is */
        uint64_t share;
        uint64_t twice; /* bytes that are counted as files too */
};

static void read_line(struct reading *reading, const char *line, const struct held *held)
{
        bool goes_on = reading->is_cut;
        unsigned high, low;
        unsigned long long inode;

        reading->is_cut = !strchr(line, '\n');
        if (goes_on)
                return; /* a guest chose the name, which can look like any line */
        if (sscanf(line, "%*x-%*x %*4s %*x %x:%x %llu", &high, &low, &inode) == 3) {
                reading->is_counted = inode != 0 && held_has(held, makedev(high, low), inode);
        } else if (reading->is_counted && strncmp(line, "Pss:", 4) == 0) {
                reading->share = bytes_of(line, "Pss:");
        } else if (reading->is_counted && strncmp(line, "Anonymous:", 10) == 0) {
                reading->twice += watch_less(reading->share, bytes_of(line, "Anonymous:"));
        }
}

/* The shares of mappings whose files are counted as files already. What was copied from them when
 * it was written is the process's own. False where the process has ended meanwhile: it has nothing
 * any more. */
static bool counted_twice(int proc, long pid, const struct held *held, size_t *lines,
                          uint64_t *ret_bytes)
{
        char path[32], line[LINE_MAX_BYTES];
        struct reading reading = { 0 };
        bool has_lines = false;
        int fd;
        FILE *smaps;

        *ret_bytes = 0;
        (void)snprintf(path, sizeof(path), "%ld/smaps", pid);
        fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        smaps = fd >= 0 ? fdopen(fd, "re") : NULL;
        if (!smaps) {
                has_lines = fd >= 0 || (errno != ESRCH && errno != ENOENT);
                fd_close(fd);
                return has_lines;
        }
        while (++*lines < SMAPS_LINES_MAX && fgets(line, sizeof(line), smaps)) {
                has_lines = true;
                read_line(&reading, line, held);
        }
        (void)fclose(smaps);
        *ret_bytes = reading.twice;
        return has_lines || *lines >= SMAPS_LINES_MAX;
}

struct memory memory_exact(int proc, const long *pids, size_t count, const struct held *held)
{
        struct memory all = { 0 };
        size_t lines = 0;

        for (size_t i = 0; i < count; i++) {
                struct memory memory = { 0 };
                uint64_t twice = 0;

                add_shares(&memory, proc, pids[i]);
                if (memory.shared > 0 && !counted_twice(proc, pids[i], held, &lines, &twice))
                        continue;
                all.own += memory.own;
                all.shared += watch_less(memory.shared, twice);
        }
        return all;
}

uint64_t memory_shared_by_all(void)
{
        char text[STATUS_BYTES];

        return fd_read_file_at(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) > 0
                       ? bytes_of(text, "\nShmem:")
                       : 0;
}
