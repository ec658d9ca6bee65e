/* The monitor's own state, shared by its files. */
#ifndef MONITOR_WATCH_H
#define MONITOR_WATCH_H

#include "monitor/monitor.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { MONITOR_STDIN_BYTES = 65536 };
enum {
        MONITOR_GRACE_MS = 200,
        MONITOR_FORCE_MS = 5000,
        MONITOR_SAMPLE_MS = 100,
        MONITOR_SHORT_SAMPLE_MS = 10,
        MONITOR_SETUP_MS = 30000,
        MONITOR_WAIT_MS = 200,
        MONITOR_UNSEEN_LOOKS = 10 /* what is passed on, or not yet executed, is gone by then */
};

struct watch {
        struct run *run;
        const struct monitor_order *order;
        struct result_step *step;
        struct result *result;
        uint64_t ready_ns;            /* when the program was executed; 0: not yet */
        uint64_t ended_ns;            /* when it ended */
        uint64_t setup_end_ns;        /* by when it must have been */
        uint64_t deadline_ns;         /* of the wall clock; UINT64_MAX between two turns */
        uint64_t turn_ns;             /* when the turn began; else when the program did */
        uint64_t turn_cpu_us;         /* what it had used by then */
        uint64_t kill_ns;             /* end of the grace after SIGTERM; 0: none */
        uint64_t force_ns;            /* when a run that was killed must be over; or 0 */
        uint64_t sample_ns;           /* of the next sample */
        uint64_t usage_ns;            /* of the next usage event */
        uint64_t wait_ns;             /* when the one who waits is asked next */
        uint64_t disk_ns;             /* when the disk is measured next, */
        uint64_t disk_soonest_ns;     /* or from when on if its file systems grew by much */
        uint64_t disk_used_then;      /* what those held when it was measured last */
        uint64_t disk_bytes;          /* what was measured then */
        uint64_t told_ns;             /* when usage was told last */
        uint64_t told_cpu_us;         /* and the CPU time then */
        uint64_t io_read, io_written; /* the most that was seen */
        unsigned warned;              /* a bit for each limit that was warned of */
        uint64_t disk_before;         /* what its file systems held before the program began */
        unsigned disk_unseen;         /* looks in a row at which something could not be measured */
        uint64_t shared_before;       /* the machine's shared memory before that */
        unsigned memory_unseen;       /* as above */
        bool disk_was_over;           /* at the end */
        bool file_is_full;            /* one that the run wrote has all that a file may have */
        enum outcome verdict;         /* why we ended it; OUTCOME_OK: we did not */
        bool killed;
        bool output_failed; /* the caller's descriptor takes no more */
        int output_errno;
        bool network_is_gone;   /* what makes the connections */
        bool cancelled;         /* the caller called the run off */
        bool output_blocked[3]; /* the caller's descriptor is full for now */
        bool output_unspliceable[3];
        bool pipe_has_grown[3];
        bool output_is_file[3]; /* writing to it does not block */
        bool output_is_last;    /* the run is over: no more is taken than there was */
        uint64_t output_end[3]; /* then: the bytes of each stream in all */
        bool stdin_done;
        size_t stdin_written;
        char *stdin_buffer; /* owned; only where stdin_fd is read */
        size_t stdin_start, stdin_end;
        bool sums_memory; /* no control group does it */
        bool sums_processes;
        uint64_t refusals;         /* processes that we did not let start */
        struct accounts *accounts; /* owned; of CPU time, see processes.c; NULL until used */
        uint64_t memory_peak;
        uint32_t processes_peak;
        uint64_t cpu_us;
};

/* What a guest used before its program came is not the program's. */
static inline uint64_t watch_less(uint64_t all, uint64_t before)
{
        return all > before ? all - before : 0;
}

/* Ends the run for this reason, unless it is being ended already. */
void watch_end(struct watch *watch, enum outcome verdict, bool gracefully);

/* streams.c */
void streams_begin(struct watch *watch);
void streams_feed_input(struct watch *watch);
/* Moves what a stream has; closes it at its end. */
void streams_take_output(struct watch *watch, int stream);
/* The run is over: takes what its streams held then and closes them, also where a descriptor that
 * the guest sent into a socket keeps one open; whoever has received it may go on writing. */
void streams_empty(struct watch *watch);
bool streams_are_done(const struct watch *watch);

/* sample.c */
void sample_begin(struct watch *watch); /* the program begins */
void sample_take(struct watch *watch, uint64_t now);
/* Whether one process more is within the limit; counts the refusal where not. */
bool sample_may_fork(void *watch);

/* held.c: files that exist only because a process holds them, each counted once. Set to zero, it
 * counts memory files; with `on_disk` removed files of a disk. */
enum { HELD_FILES_MAX = 1024, HELD_DEVICES_MAX = 16 };
struct held {
        bool on_disk;
        bool has_unseen; /* something that cannot be measured is held */
        bool counts_everywhere;
        dev_t devices[HELD_DEVICES_MAX]; /* of the disks that count */
        size_t device_count;
        dev_t memory_device; /* of the run's own file system in memory, counted by itself; or 0 */
        struct {
                dev_t device;
                ino_t inode;
        } seen[HELD_FILES_MAX];
        size_t count, lines;
        uint64_t bytes;
};
/* A directory whose disk counts. */
void held_count_on(struct held *held, int dir_fd);
void held_add(struct held *held, int proc, long pid);
/* Whether a file that is mapped was counted already. */
bool held_has(const struct held *held, dev_t device, uint64_t inode);

/* memory.c: what processes have of their own, and what of it may be shared, in bytes. The exact
 * sums have shared memory by its shares, and none of what was counted as a file. */
struct memory {
        uint64_t own, shared;
};
struct memory memory_plain(int proc, const long *pids, size_t count);
struct memory memory_exact(int proc, const long *pids, size_t count, const struct held *held);
uint64_t memory_shared_by_all(void); /* on this machine */

/* processes.c: sums over the processes of the run. */
struct totals {
        uint64_t memory;
        uint64_t cpu_us;
        uint32_t processes;
};
struct totals processes_sum(struct watch *watch);
/* Processes and threads alone, which is cheaper. */
uint32_t processes_count(const struct watch *watch);
/* Removed files of the counted directories that a process holds. */
void processes_hold(const struct watch *watch, struct held *held);

/* Bytes read and written by all that live, and what they waited for. */
void processes_io(const struct watch *watch, uint64_t *ret_read, uint64_t *ret_written);

/* usage.c: tells what is used, and warns. At the end by what the whole run used. */
void usage_look(struct watch *watch, const struct totals *totals, uint64_t now);
void usage_look_back(struct watch *watch);
/* Looks at what its processes have moved so far. */
void usage_note_io(struct watch *watch);

/* disk.c: what is used now, as far as that is known; whether what the host sees has grown past the
 * limit; whether the run's own disk is full.
 */
uint64_t disk_used(const struct watch *watch);
bool disk_is_over(struct watch *watch);
bool disk_is_due(const struct watch *watch); /* to be measured */
/* How long the disk is left alone after a look that took so long, unless it grows: measuring a
 * large tree takes time. A tenth of ours goes into it, more where looks would be more than a second
 * apart, half of it at the most. */
uint64_t disk_pause(uint64_t took_ns);
/* What its file systems grow by from before the program began may be its doing. */
uint64_t disk_before(const struct monitor_order *order);
void disk_begin(struct watch *watch);
bool disk_is_full(int workspace_fd);

/* verdict.c: what became of the run, once everything is over. */
void verdict_decide(struct watch *watch);

#endif
