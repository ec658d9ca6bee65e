/*
 * The monitor: watches a started run to its end.
 *
 * One poll loop over the helper's socket, the three streams, the caller's cancel descriptor and the
 * control group's memory event, with a timeout for the nearest of: wall-clock limit, the grace
 * after SIGTERM, the next sample. It keeps output up to its cap and drops the rest, and decides
 * what became of the run. It never blocks on anything else and holds no global state.
 */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

#include "backend/run.h"
#include "base/error.h"
#include "network/agent.h"
#include "result/result.h"

#include <stdbool.h>
#include <stdint.h>

#define MONITOR_UNKNOWN UINT64_MAX

/* What a run uses; MONITOR_UNKNOWN where that is not known. */
struct monitor_usage {
        uint64_t memory, memory_peak; /* bytes */
        uint64_t cpu_us;              /* so far */
        uint64_t cpu_milli;           /* since the sample before: 1000 is one CPU */
        uint64_t disk;                /* bytes in what the guest can write */
        uint64_t io_read, io_write;   /* bytes, only where details are wanted */
        uint64_t network_in, network_out;
        uint32_t processes;
};

/* The limits that a warning is told of. */
enum monitor_limit {
        MONITOR_TIMEOUT,   /* milliseconds */
        MONITOR_CPU_TIME,  /* milliseconds */
        MONITOR_MEMORY,    /* bytes */
        MONITOR_PROCESSES, /* count */
        MONITOR_DISK,      /* bytes */
        MONITOR_LIMITS
};

const char *monitor_limit_name(enum monitor_limit limit); /* as in the policy: "cpu_time" */

struct monitor_warning {
        enum monitor_limit limit;
        uint64_t used, allowed;
};

/* What the caller hears while the run goes on. Any may be NULL. */
struct monitor_listener {
        void (*output)(void *context, int stream, const void *data, size_t length);
        bool (*usage)(void *context, const struct monitor_usage *usage); /* false: end the run */
        void (*warn)(void *context, const struct monitor_warning *warning);
        void (*wait)(void *context); /* a signal came, or nobody asked for MONITOR_WAIT_MS */
        void *context;
};

/* Processes that can be summed up where no control group counts them. */
enum { MONITOR_PROCESSES_MAX = 4000 };

/* What is below directories. A file that was stopped by the limit of one file has that size. */
struct monitor_space {
        uint64_t bytes;
        uint64_t file_bytes; /* given: the limit of one file */
        unsigned full_files; /* how many have reached it */
        bool has_closed;     /* a directory that we may not look into: a guest can have closed it */
};

struct monitor_order {
        uint64_t timeout_ms;
        uint64_t cpu_time_ms;
        uint64_t memory_bytes;
        uint64_t processes;
        bool forks_are_silent; /* the kernel refuses those that are too many, and tells nobody */
        uint64_t disk_bytes;
        uint64_t output_caps[3]; /* [1], [2] */
        bool output_kill;
        bool keep_output; /* in the result; else only heard or passed on */
        /* How much of what is passed on is kept too, of each stream: so much is read and written,
         * what follows is spliced. */
        uint64_t keep_passed;
        int output_fds[3]; /* [1], [2]: descriptors to pass on to, or -1 */
        /* Gets the end of standard error, however much was before it, which is then not spliced
         * either: borrowed, or NULL. */
        struct strbuf *error_tail;
        const char *stdin_data;
        size_t stdin_length;
        int stdin_fd;  /* read while the program runs, or -1 */
        int cancel_fd; /* readable: end the run */
        int turn_fd;   /* what base/turn.h has, or -1: time and output of the whole run count */
        const int *counted_fds; /* directories of the host that the guest can write: borrowed */
        size_t counted_count;
        struct monitor_space counted_before; /* what they held before the run */
        bool counts_workspace; /* the run's own workspace is the host's too, and new */
        uint64_t disk_before;  /* what monitor_begin() saw: the file systems of these directories */
        uint64_t shared_before; /* and the machine's shared memory; 0: not looked at */
        bool is_elsewhere;      /* its processes are a container engine's: none to be summed */
        uint64_t started_ns;    /* when the step began */
        uint64_t setup_ms;      /* the program must be executed within; 0: the default */
        const char *proc_root;  /* local runs: "/proc" */
        const char *no_network; /* why nothing can be reached, for a result; or NULL */
        bool has_loopback;      /* but for itself */
        struct agent *network;  /* who makes the connections; borrowed; or NULL */
        struct monitor_listener listener;
        uint64_t interval_ms;      /* between two calls of its `usage` */
        const bool *wants_details; /* whether those have I/O and network: borrowed, or NULL */
        bool owns_network;         /* the network namespace is the guest's own */
        uint64_t warn_at[MONITOR_LIMITS]; /* percent of the limit; 0: never */
};

/* Measures what is below directories; false where that cannot be told: too deep, too many, or,
 * with `is_over`, when our guest lives no longer, closed to us. Adds to what is there. */
bool monitor_measure(const int *dir_fds, size_t count, bool is_over, struct monitor_space *space);

/* Notes what the machine holds, right before the run is started: what comes after may be the
 * program's doing, which can be far when its start is heard of. */
void monitor_begin(struct monitor_order *order, bool sums_memory);

/* Watches until every process of the run is gone and its output is read. Fills `step`, and adds
 * violations to `result`. An error means that the sandbox failed, not the program. */
int monitor_watch(struct run *run, const struct monitor_order *order, struct result_step *step,
                  struct result *result, struct error *err);

#endif
