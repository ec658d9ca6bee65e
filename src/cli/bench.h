/*
 * `sandbox bench`: the overhead on this machine, beside other sandboxes that are installed.
 *
 * All rows are measured round-robin, so that the noise of the machine hits all alike, and are told
 * as ratios of medians. Everything is bounded in count and time.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli/cli.h"

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

enum {
        BENCH_RUNS_DEFAULT = 200,
        BENCH_RUNS_MAX = 10000,
        BENCH_WARM_UP = 5,
        BENCH_ROWS_MAX = 16,
        BENCH_SECONDS_MAX = 300,  /* for all rounds together */
        BENCH_CHILD_SECONDS = 30, /* for one process */
        BENCH_ID_MAX = 48,
};

/* Where things are. */
struct bench {
        sbx_engine *engine;
        char self[PATH_MAX];  /* this program */
        char hello[PATH_MAX]; /* the static program that is run */
        int hello_fd;         /* owned: it, open */
        char *hello_code;     /* owned: its bytes */
        size_t hello_length;
        char directory[PATH_MAX]; /* temporary; removed at the end */
        char id[BENCH_ID_MAX];    /* of the container to come */
        unsigned sequence;
};

struct bench_row;
/* One line of the table. */
struct bench_row_kind {
        const char *name; /* for --only and JSON */
        const char *title;
        const char *tool;           /* program that must be installed, or NULL */
        const char *language;       /* the tool is what this language runs with; or NULL */
        const char *baseline;       /* name of the row it is compared with */
        const char *const *command; /* with {self}, {hello}, {dir}, {tool}, {id}; or NULL: `call` */
        int (*call)(struct bench *bench, struct error *err);
        int (*prepare)(struct bench *bench, const char *tool, struct error *err); /* or NULL */
        void (*finish)(struct bench *bench, const char *tool);                    /* or NULL */
};

struct bench_row {
        const struct bench_row_kind *kind;
        char tool[PATH_MAX]; /* where it was found, or empty */
        bool chosen;         /* by --only */
        bool measured;
        char reason[256];  /* why it was not measured */
        uint64_t *samples; /* owned; ns */
        size_t sample_count;
        uint64_t median_ns;
        uint64_t p99_ns;
        double ratio; /* to the baseline; 0: none */
};

/* bench_tools.c: finding and preparing. */
int bench_open(struct bench *bench, struct error *err);
void bench_close(struct bench *bench);
/* Searches PATH and the usual directories for system programs. */
bool bench_find_tool(const char *name, char path[PATH_MAX]);
/* The interpreter that the engine takes for a language, so that like is compared with like. */
bool bench_find_interpreter(struct bench *bench, const char *language, char path[PATH_MAX]);
/* Makes a minimal OCI bundle below the temporary directory. */
int bench_prepare_bundle(struct bench *bench, const char *tool, struct error *err);
int bench_prepare_isolate(struct bench *bench, const char *tool, struct error *err);
void bench_finish_isolate(struct bench *bench, const char *tool);

/* bench_spawn.c: one process, timed. `argv` is NULL-terminated; its stdout goes to `stdout_fd`, or
 * to /dev/null where that is -1. */
int bench_spawn(char *const *argv, int stdout_fd, pid_t *ret_pid, struct error *err);
/* Fails where it does not exit with 0, or takes longer than BENCH_CHILD_SECONDS since the spawn. */
int bench_wait(pid_t pid, const char *what, struct error *err);
/* Fills in the words in braces and runs it. */
int bench_command(struct bench *bench, const char *const *command, const char *tool, int stdout_fd,
                  pid_t *ret_pid, struct error *err);

/* bench_rows.c */
/* The rows that `only` names (NULL: all); their count, or 0 with an error. */
size_t bench_rows_init(struct bench_row rows[BENCH_ROWS_MAX], const char *only, struct error *err);
void bench_rows_done(struct bench_row *rows, size_t count);
int bench_rows_measure(struct bench *bench, struct bench_row *rows, size_t count, unsigned runs,
                       struct error *err);
const struct bench_row *bench_rows_find(const struct bench_row *rows, size_t count,
                                        const char *name);

/* bench_stats.c */
/* Sorts the samples and fills median, p99; then the ratios. */
void bench_stats_fill(struct bench_row *rows, size_t count);

/* bench_stream.c: bytes a second of a contained program's output. */
struct bench_stream {
        const char *name; /* "pipe", "file" */
        const char *title;
        bool measured;
        char reason[256];
        double bytes_per_second; /* the median of some */
};
enum { BENCH_STREAMS = 2 };
void bench_stream_measure(struct bench *bench, struct bench_stream streams[BENCH_STREAMS]);

#endif
