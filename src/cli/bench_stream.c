/*
 * How fast output of a contained program gets out: it writes 1 GiB, `sandbox run` passes it on into
 * a pipe, whose other end is emptied without copying, and into a file.
 */
#include "cli/bench.h"
#include "cli/run.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPEATS = 3, PIPE_BYTES = 1 << 20 };
#define STREAM_BYTES UINT64_C(1073741824)

static const char *const command[] = { "{self}",  "run",       "--backend", "container",
                                       "--quiet", "--timeout", "25s",       "--output-limit",
                                       "2G",      "{hello}",   "--",        "1073741824",
                                       NULL };

/* Empties the pipe into /dev/null; the bytes that came through. */
static uint64_t drain(int fd)
{
        AUTO_CLOSE int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        uint64_t total = 0;

        for (;;) {
                ssize_t n = splice(fd, NULL, null_fd, NULL, PIPE_BYTES, 0);

                if (n <= 0)
                        return total;
                total += (uint64_t)n;
        }
}

static int check_total(uint64_t total, struct error *err)
{
        if (total == STREAM_BYTES)
                return 0;
        return error_set(err, SBX_ESYSTEM, "%llu of %llu bytes came through",
                         (unsigned long long)total, (unsigned long long)STREAM_BYTES);
}

static int stream_pipe(struct bench *bench, struct error *err)
{
        int ends[2];
        AUTO_CLOSE int reader = -1;
        uint64_t total;
        pid_t pid;
        int r;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return error_set_errno(err, "make pipe");
        reader = ends[0];
        (void)fcntl(reader, F_SETPIPE_SZ, PIPE_BYTES); /* an ordinary size does as well */
        r = bench_command(bench, command, "", BENCH_ALONE, ends[1], &pid, err);
        fd_close(ends[1]);
        if (r < 0)
                return r;
        total = drain(reader);
        if (total != STREAM_BYTES) {
                /* Cut short, by the alarm or a signal to us: end it in an orderly way. */
                (void)kill(pid, SIGTERM);
                (void)alarm(BENCH_CHILD_SECONDS);
        }
        r = bench_wait(pid, "stream", err);
        return r < 0 ? r : check_total(total, err);
}

static int stream_file(struct bench *bench, struct error *err)
{
        AUTO_CLOSE int fd = -1;
        char path[PATH_MAX + 16];
        struct statvfs space;
        off_t end;
        pid_t pid;
        int r;

        if (statvfs(bench->directory, &space) == 0 &&
            (uint64_t)space.f_bavail * space.f_frsize < 2 * STREAM_BYTES)
                return error_set(err, SBX_ESYSTEM, "less than 2 GiB free in '%s'",
                                 bench->directory);
        (void)snprintf(path, sizeof(path), "%s/stream", bench->directory);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return error_set_errno(err, "make '%s'", path);
        (void)unlink(path); /* gone with the descriptor, also when we are killed */
        r = bench_command(bench, command, "", BENCH_ALONE, fd, &pid, err);
        if (r == 0)
                r = bench_wait(pid, "stream", err);
        if (r < 0)
                return r;
        end = lseek(fd, 0, SEEK_END);
        return check_total(end < 0 ? 0 : (uint64_t)end, err);
}

static int measure(struct bench *bench, struct bench_figure *figure,
                   int (*once)(struct bench *bench, struct error *err), struct error *err)
{
        double rates[REPEATS];

        for (int i = 0; i < REPEATS; i++) {
                uint64_t start = clock_now_ns();

                if (run_signals_caught() || once(bench, err) < 0)
                        return SBX_ESYSTEM;
                rates[i] = (double)STREAM_BYTES * 1e9 / (double)(clock_now_ns() - start);
                /* Insertion keeps them in order; the one in the middle is the median. */
                for (int j = i; j > 0 && rates[j] < rates[j - 1]; j--) {
                        double larger = rates[j - 1];

                        rates[j - 1] = rates[j];
                        rates[j] = larger;
                }
        }
        figure->measured = true;
        figure->value = rates[REPEATS / 2];
        return 0;
}

int bench_measure_streams(struct bench *bench, struct bench_figure *figures, struct error *err)
{
        int r = measure(bench, &figures[0], stream_pipe, err);

        return r < 0 ? r : measure(bench, &figures[1], stream_file, err);
}
