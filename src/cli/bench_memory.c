/*
 * What waits, and how much memory it takes: the keeper's own process is the idle engine; each of
 * its children is the first process of a container that is kept ready or of a parked interpreter,
 * whose children are the copies that wait in those containers. Of those the share counts that the
 * kernel gives each of them in what it has together with others, so that all is counted once.
 */
#include "cli/bench.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAMILIES_MAX = 64, DEPTH_MAX = 8, SUMMARY_MAX = 4096 };

static const struct bench_row_kind warm_kind = { .name = "warm",
                                                 .language = "python",
                                                 .code = "pass",
                                                 .surroundings = BENCH_WITH_KEEPER,
                                                 .is_warm = true };

/* The sum of the lines of smaps_rollup that begin with `key`, in bytes, which is 0 for a process
 * that has ended; false where it is not ours to read. */
static bool read_memory(pid_t pid, const char *key, double *ret_bytes)
{
        char path[64], text[SUMMARY_MAX];
        double bytes = 0;

        (void)snprintf(path, sizeof(path), "/proc/%ld/smaps_rollup", (long)pid);
        text[0] = '\0';
        if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0 && errno == EACCES)
                return false;
        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (str_has_prefix(line, key) && strchr(line, ':'))
                        bytes += strtod(strchr(line, ':') + 1, NULL) * 1024;
        }
        *ret_bytes = bytes;
        return true;
}

static pid_t parent_of(pid_t pid)
{
        char path[64], text[512];
        const char *end;

        (void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
        if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return 0;
        end = strrchr(text, ')'); /* the name may hold anything */
        return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

/* The child of the keeper that a process descends from, or 0. */
static pid_t family_of(pid_t pid, pid_t keeper)
{
        for (int i = 0; i < DEPTH_MAX && pid > 1; i++) {
                pid_t parent = parent_of(pid);

                if (parent == keeper)
                        return pid;
                pid = parent;
        }
        return 0;
}

static bool is_helper(pid_t pid)
{
        char path[64], name[32] = "";

        (void)snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
        return fd_read_file_at(AT_FDCWD, path, name, sizeof(name)) > 0 &&
               str_has_prefix(name, "sandbox");
}

struct family {
        pid_t head;
        bool has_interpreter;
        double bytes;
        unsigned copies;
        double own_bytes; /* that its copies alone have */
};

static int add_process(pid_t pid, pid_t keeper, struct family *families, size_t *count,
                       struct error *err)
{
        pid_t head = family_of(pid, keeper);
        double bytes, own_bytes;
        bool is_copy;
        size_t i = 0;

        if (head == 0)
                return 0;
        if (!read_memory(pid, "Pss:", &bytes) || !read_memory(pid, "Private_", &own_bytes))
                return error_set(err, SBX_ESYSTEM, "the memory of process %ld cannot be read",
                                 (long)pid);
        while (i < *count && families[i].head != head)
                i++;
        if (i == FAMILIES_MAX)
                return 0;
        if (i == *count)
                families[(*count)++] = (struct family){ .head = head };
        is_copy = !is_helper(pid) && !is_helper(parent_of(pid));
        families[i].bytes += bytes;
        families[i].has_interpreter |= !is_helper(pid);
        families[i].copies += is_copy;
        families[i].own_bytes += is_copy ? own_bytes : 0;
        return 0;
}

static int list_families(pid_t keeper, struct family families[FAMILIES_MAX], size_t *ret_count,
                         struct error *err)
{
        DIR *proc = opendir("/proc");
        const struct dirent *entry;
        int r = 0;

        if (!proc)
                return error_set_errno(err, "open /proc");
        while (r == 0 && (entry = readdir(proc))) {
                long pid = strtol(entry->d_name, NULL, 10);

                if (pid > 0)
                        r = add_process((pid_t)pid, keeper, families, ret_count, err);
        }
        (void)closedir(proc);
        return r;
}

static void set(struct bench_figure *figure, double value)
{
        figure->measured = value > 0;
        figure->value = value;
}

int bench_measure_memory(struct bench *bench, struct bench_figure *figures, struct error *err)
{
        struct family families[FAMILIES_MAX] = { 0 };
        double sums[2] = { 0 }, own = 0, resident = 0;
        size_t count = 0, kinds[2] = { 0 }, copies = 0;
        int r = bench_warm_up(bench, &warm_kind, err);

        if (r == 0 && !read_memory(bench->keeper, "Rss", &resident))
                r = error_set(err, SBX_ESYSTEM, "the memory of the keeper cannot be read");
        if (r < 0)
                return r;
        set(&figures[0], resident);
        r = list_families(bench->keeper, families, &count, err);
        for (size_t i = 0; i < count && r == 0; i++) {
                sums[families[i].has_interpreter] += families[i].bytes - families[i].own_bytes;
                kinds[families[i].has_interpreter]++;
                own += families[i].own_bytes;
                copies += families[i].copies;
        }
        if (r == 0 && (kinds[0] == 0 || kinds[1] == 0 || copies == 0))
                r = error_set(err, SBX_ESYSTEM, "nothing is parked");
        if (r < 0)
                return r;
        set(&figures[1], sums[0] / (double)kinds[0] + own / (double)copies);
        set(&figures[2], sums[1] / (double)kinds[1]);
        set(&figures[3], figures[1].value + figures[2].value / BENCH_SLOTS);
        return 0;
}
