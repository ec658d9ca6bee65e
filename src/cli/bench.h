/*
 * `sandbox bench`: the overhead on this machine, beside other sandboxes that are installed.
 *
 * All rows are measured round-robin, so that the noise of the machine hits all alike, and are told
 * as ratios of medians. Everything is bounded in count and time.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli/cli.h"
#include "base/mem.h"
#include "base/str.h"

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

enum {
        BENCH_RUNS_DEFAULT = 200,
        BENCH_RUNS_MAX = 10000,
        BENCH_WARM_UP = 5,
        BENCH_ROWS_MAX = 48,
        BENCH_FIGURES_MAX = 16,
        BENCH_SECONDS_MAX = 600,  /* for all rounds together */
        BENCH_ROW_SECONDS = 20,   /* for one row; a slow one gets fewer rounds */
        BENCH_CHILD_SECONDS = 30, /* for one process */
        BENCH_ID_MAX = 48,
        BENCH_SLOTS = 4, /* containers kept ready: the keeper's default */
};

/* An image of docker's that is made for the bench. */
#define BENCH_IMAGE "sandbox-bench"

/* Which environment a process gets: without any keeper, or with ours. */
enum bench_surroundings { BENCH_ALONE, BENCH_WITH_KEEPER, BENCH_SURROUNDINGS };

/* Where things are. */
struct bench {
        sbx_engine *engine;      /* starts everything cold */
        sbx_engine *warm_engine; /* NULL until a row wants it */
        sbx_policy *policy;      /* the same; for rows that name a profile, which is one */
        struct strlist environments[BENCH_SURROUNDINGS];
        char self[PATH_MAX];   /* this program */
        char hello[PATH_MAX];  /* the static program that is run */
        char python[PATH_MAX]; /* the engine's own; empty: none */
        int hello_fd;          /* owned: it, open */
        char *hello_code;      /* owned: its bytes */
        size_t hello_length;
        char directory[PATH_MAX]; /* temporary; removed at the end */
        char socket[PATH_MAX];    /* of our keeper */
        pid_t keeper;             /* 0: not started */
        pid_t judge;              /* the same */
        unsigned short judge_port;
        char judge_address[32];
        char judge_group[BENCH_ID_MAX];
        char id[BENCH_ID_MAX]; /* of the container to come */
        unsigned sequence;
        unsigned runs; /* measurements of each row */
        int error_fd;  /* what commands say goes there; -1: nowhere */
};

/* One line of the table. */
struct bench_row_kind {
        const char *name; /* for --only and JSON */
        const char *title;
        const char *tool;           /* program that must be installed, or NULL */
        const char *language;       /* the tool is what this language runs with; or NULL */
        const char *baseline;       /* name of the row it is compared with */
        const char *const *command; /* with words in braces, which bench_spawn.c fills in; NULL: the
                                       library runs `code` of `language`, or the static program */
        const char *code;
        const char *profile; /* a built-in policy of the library's run, or NULL */
        const char *backend; /* of the library's run; NULL: the container */
        const char *fuel;    /* that it may use; NULL: what everybody may */
        bool is_warm;        /* it is measured only where it does start warm */
        enum bench_surroundings surroundings;
        bool compares;          /* one of another sandbox, for --compare */
        bool leaves_containers; /* docker goes on removing what ran: that is waited for, not timed
                                 */
        /* One run by asking a server that `prepare` started with `command`; or NULL. */
        int (*ask)(struct bench *bench, const struct bench_row_kind *kind, struct error *err);
        int (*prepare)(struct bench *bench, const char *tool, struct error *err); /* or NULL */
        void (*finish)(struct bench *bench, const char *tool);                    /* or NULL */
};

struct bench_row {
        const struct bench_row_kind *kind;
        char tool[PATH_MAX]; /* where it was found, or empty */
        char version[96];    /* what a sandbox that is compared says it is */
        bool chosen;         /* by --only and --compare */
        bool measured;
        char reason[256];  /* why it was not measured */
        uint64_t *samples; /* owned; ns, in the order of the rounds */
        size_t sample_count;
        size_t cold_count; /* of a warm row: samples that did not start warm */
        uint64_t spent_ns;
        uint64_t median_ns;
        uint64_t p99_ns;
        double ratio; /* to the baseline; 0: none */
};

/* What is no row: a rate, a size, a worst case. */
enum bench_unit { BENCH_BYTES_PER_SECOND, BENCH_RUNS_PER_SECOND, BENCH_SECONDS, BENCH_BYTES };
struct bench_figure {
        const char *name;
        const char *title;
        enum bench_unit unit;
        bool chosen, measured;
        char reason[256];
        double value;
        size_t cold_count, run_count; /* of runs that were to start warm: those that did not */
        uint64_t *samples; /* owned; what it was made of: ns of runs, or runs in half a second */
        size_t sample_count;
};

struct bench_all {
        struct bench_row rows[BENCH_ROWS_MAX];
        size_t row_count;
        struct bench_figure figures[BENCH_FIGURES_MAX];
        size_t figure_count;
};

/* bench_tools.c: finding and preparing. */
int bench_open(struct bench *bench, struct error *err);
void bench_close(struct bench *bench);
/* Searches PATH and the usual directories for system programs. */
bool bench_find_tool(const char *name, char path[PATH_MAX]);
/* The interpreter that the engine takes for a language, so that like is compared with like. */
bool bench_find_interpreter(struct bench *bench, const char *language, char path[PATH_MAX]);
/* A file below the temporary directory; one that is there already is left as it is. */
int bench_write(struct bench *bench, const char *path, mode_t mode, const void *data, size_t length,
                struct error *err);

/* bench_others.c: what other sandboxes want to find. */
/* Makes a minimal OCI bundle below the temporary directory. */
int bench_prepare_bundle(struct bench *bench, const char *tool, struct error *err);
int bench_prepare_python_bundle(struct bench *bench, const char *tool, struct error *err);
/* The same as an image of docker's, which is removed at the end. */
int bench_prepare_image(struct bench *bench, const char *tool, struct error *err);
void bench_finish_image(struct bench *bench, const char *tool);
/* The same for a row whose containers wait: the engine that keeps them is ended. */
void bench_finish_pool(struct bench *bench, const char *tool);
/* How many containers of ours docker has; -1 where that is not known. */
int bench_count_containers(struct bench *bench, const char *tool);
/* Waits until they are no more than so many. */
void bench_await_removal(struct bench *bench, const char *tool, int count);
int bench_prepare_isolate(struct bench *bench, const char *tool, struct error *err);
void bench_finish_isolate(struct bench *bench, const char *tool);

/* bench_judge.c: one that is a server. */
extern const char *const bench_judge_command[];
int bench_prepare_judge(struct bench *bench, const char *tool, struct error *err);
int bench_ask_judge(struct bench *bench, const struct bench_row_kind *kind, struct error *err);
void bench_finish_judge(struct bench *bench, const char *tool);

/* bench_spawn.c: one process, timed. `argv` is NULL-terminated; its stdout and stderr go to `fds`,
 * or to /dev/null where those are -1. */
int bench_spawn(char *const *argv, char *const *environment, const int fds[2], pid_t *ret_pid,
                struct error *err);
/* Fails where it does not exit with 0, or takes longer than BENCH_CHILD_SECONDS since the spawn. */
int bench_wait(pid_t pid, const char *what, struct error *err);
/* Fills in the words in braces and runs it. */
int bench_command(struct bench *bench, const char *const *command, const char *tool,
                  enum bench_surroundings surroundings, int stdout_fd, pid_t *ret_pid,
                  struct error *err);

/* The words of a command as one line, filled in; `id` stands for one. */
void bench_command_line(const struct bench *bench, const char *const *command, const char *tool,
                        struct strbuf *out);

/* bench_kinds.c: the rows there are. */
extern const struct bench_row_kind bench_kinds[];
extern const size_t bench_kind_count;

/* bench_rows.c */
/* The rows that `only` names (NULL: all, those of other sandboxes with `compare` alone); their
 * count, or 0 with an error. */
size_t bench_rows_init(struct bench_row rows[BENCH_ROWS_MAX], const char *only, bool compare,
                       struct error *err);
void bench_rows_done(struct bench_row *rows, size_t count);
int bench_rows_measure(struct bench *bench, struct bench_row *rows, size_t count,
                       struct error *err);
const struct bench_row *bench_rows_find(const struct bench_row *rows, size_t count,
                                        const char *name);
/* Whether `name` is one of the words of a list separated by commas; a missing list has all. */
bool bench_is_listed(const char *list, const char *name);

/* bench_warm.c: what is kept warm. */
/* One run by the library of what a row names; the result must be freed. */
int bench_call(struct bench *bench, const struct bench_row_kind *kind, sbx_result **ret_result,
               struct error *err);
/* Readies the engine or the keeper of a warm row, and runs until a run is warm. */
int bench_warm_up(struct bench *bench, const struct bench_row_kind *kind, struct error *err);
/* Waits until the warm engine makes and ends nothing any more. */
void bench_settle(struct bench *bench);
bool bench_is_warm(const sbx_result *result);
/* Starts the private keeper, once. */
int bench_start_keeper(struct bench *bench, struct error *err);
void bench_end_keeper(struct bench *bench);

/* bench_stats.c */
/* Fills median and p99; then the ratios. */
int bench_stats_fill(struct bench_row *rows, size_t count, struct error *err);
/* The smallest sample that at least `percent` of all do not exceed. */
uint64_t bench_percentile(const uint64_t *sorted, size_t count, size_t percent);
int bench_compare_ns(const void *a, const void *b);

/* bench_figures.c: everything beside the rows. */
size_t bench_figures_init(struct bench_figure figures[BENCH_FIGURES_MAX], const char *only);
void bench_figures_done(struct bench_figure *figures, size_t count);
void bench_figures_measure(struct bench *bench, struct bench_figure *figures, size_t count);
/* The names that --only takes for them. */
void bench_figures_words(struct strbuf *names);

/* Each measures one group of figures: bench_stream.c bytes a second of a contained program's output
 * into a pipe and a file; bench_load.c runs a second of two clients, bare and warm, and the slowest
 * of a hundred at once; bench_memory.c what waits; bench_network.c an
 * allowed connection. The figures are in the order of the table. */
int bench_measure_streams(struct bench *bench, struct bench_figure *figures, struct error *err);
int bench_measure_rates(struct bench *bench, struct bench_figure *figures, struct error *err);
int bench_measure_burst(struct bench *bench, struct bench_figure *figures, struct error *err);
int bench_measure_memory(struct bench *bench, struct bench_figure *figures, struct error *err);
int bench_measure_network(struct bench *bench, struct bench_figure *figures, struct error *err);

/* bench_report.c */
int bench_print(const struct cli *cli, const struct bench *bench, const struct bench_all *all,
                bool json, struct error *err);
/* Every sample, in the order of the rounds, as JSON. */
int bench_write_raw(const struct bench_all *all, const char *path, struct error *err);

/* bench_chart.c: the medians of the rows as bars on a logarithmic scale, as SVG. */
int bench_write_chart(const struct bench_all *all, const char *path, struct error *err);

/* bench_check.c: compares with ratios that were measured before. Returns 1, having said which,
 * where one is more than 30 % worse, or could not be measured though it was to be. */
int bench_check(const struct bench_all *all, const char *path, struct error *err);

/* bench_bars.c: what we hold ourselves to. */
struct bench_bar {
        const char *what;
        const char *value; /* a row, whose median it is, or a figure */
        const char *over;  /* it is divided by; NULL: by nothing */
        bool at_least;     /* the bound is a minimum */
        double bound;
};
extern const struct bench_bar bench_bars[];
extern const size_t bench_bar_count;
/* Why something that was chosen could not be measured; NULL: it was, or was not chosen. */
const char *bench_reason(const struct bench_all *all, const char *name);
/* The figure a bar is about; false where it was not measured. */
bool bench_bar_value(const struct bench_all *all, const struct bench_bar *bar, double *ret_value);
bool bench_bar_is_met(const struct bench_bar *bar, double value);

#endif
