/*
 * Control groups: one per run, on version 1 (a directory in each hierarchy), version 2 or none.
 *
 * Theory of operation. A *site* is where this process may make groups: on version 1 below its own
 * group in each hierarchy, so that limits on the caller hold for its guests too; on version 2 in
 * the nearest ancestor that hands controllers down and is writable (delegation). The supervisor
 * makes the group and reads it; the helper's first child enters it, so that everything later is
 * born in it; the helper removes it when the run is over or the supervisor has died. Names carry
 * the owner (pid namespace, pid, when), and what a dead owner left is swept by the next one.
 */
#ifndef KERNEL_CGROUP_H
#define KERNEL_CGROUP_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum cgroup_version { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

enum cgroup_controller {
        CGROUP_MEMORY,
        CGROUP_PIDS,
        CGROUP_CPU,
        CGROUP_CPUACCT,
        CGROUP_CONTROLLERS
};

#define CGROUP_PREFIX "sandbox-run."

enum { CGROUP_NAME_MAX = 96 };

struct cgroup_site {
        enum cgroup_version version;
        int parent_fds[CGROUP_CONTROLLERS]; /* owned; directories in which groups are made, or -1;
                                             * on version 2 all four are copies of one */
        char owner[64];   /* "<pid namespace>.<pid>.<second since boot>.<random>" */
        char reason[160]; /* why a controller is missing, for the doctor */
};

struct cgroup {
        enum cgroup_version version;
        char name[CGROUP_NAME_MAX];
        int dir_fds[CGROUP_CONTROLLERS];    /* owned, or -1: that controller is not there */
        int parent_fds[CGROUP_CONTROLLERS]; /* borrowed from the site */
        int event_fd;                       /* owned: tells when memory ran out, or -1 */
        bool had_cpu_limit;                 /* before it was lifted */
        int event_file_fd;                  /* owned: what the kernel watches for it, or -1 */
        struct cgroup_files *files;         /* owned: what is kept open, or NULL */
};

struct cgroup_limits {
        uint64_t memory_bytes;
        uint64_t processes;
        uint64_t cpus_milli;
};

const char *cgroup_version_name(enum cgroup_version version); /* "cgroup-v1", "cgroup-v2", "none" */

/* Finds the site. Having none is not an error: version is then CGROUP_NONE and `reason` says why.
 */
int cgroup_site_open(struct cgroup_site *site, struct error *err);
void cgroup_site_close(struct cgroup_site *site);
/* Whether there is a version 2 tree without controllers beside version 1. */
bool cgroup_site_is_hybrid(const struct cgroup_site *site);

/* The name of a group to be made; `number` makes it unique within this process. */
void cgroup_name(const struct cgroup_site *site, unsigned number, char ret_name[CGROUP_NAME_MAX]);
/* Makes a group and sets its limits; what a controller is missing for is left undone, which the
 * caller sees by dir_fds. */
int cgroup_open(const struct cgroup_site *site, const char *name,
                const struct cgroup_limits *limits, struct cgroup *ret_group, struct error *err);
/* Closes descriptors; removes nothing. */
void cgroup_close(struct cgroup *group);
/* Keeps files open that are read or written in each of many runs, as far as the caller has
 * descriptors to spare; until cgroup_close(), which lets go of them. */
void cgroup_keep_files(struct cgroup *group);
void cgroup_let_go_files(struct cgroup *group);
/* Removes the directories, where the helper did not come to it. Keeps errno. How many are there
 * still. */
unsigned cgroup_remove(struct cgroup *group);
/* Removes groups of owners that are dead, ending whatever still lives in them. How many it found.
 */
unsigned cgroup_sweep(const struct cgroup_site *site);

/* The descriptors through which a process enters: writes "0" to each. At most CGROUP_CONTROLLERS;
 * the count, or -1 with errno. Owned by the caller. On version 2, none: see cgroup_into_fd(). */
int cgroup_join_fds(const struct cgroup *group, int ret_fds[CGROUP_CONTROLLERS]);
/* The same for a process that cannot be born in a group of version 2. Where `*ret_are_kept` (NULL:
 * never), they are the group's own, to be left open. */
int cgroup_entry_fds(const struct cgroup *group, int ret_fds[CGROUP_CONTROLLERS],
                     bool *ret_are_kept);
/* On version 2 the directory for CLONE_INTO_CGROUP, borrowed; else -1. */
int cgroup_into_fd(const struct cgroup *group);

/* What a group counted and what its limits read back as; 0 where there is no such controller or
 * file. */
struct cgroup_reading {
        uint64_t memory_peak, memory_limit;
        uint64_t memory_kills; /* processes ended for lack of memory */
        uint64_t cpu_us;
        uint64_t processes_peak, processes_limit;
        uint64_t fork_refusals;
        bool cpu_is_limited;
};
/* Reads all of it, a file each. */
struct cgroup_reading cgroup_read(const struct cgroup *group);
/* Whether the kernel has a way to let a group count from zero again; version 2 forgets its peaks
 * for one descriptor at a time, and only from Linux 6.12. */
static inline bool cgroup_can_reset(const struct cgroup *group)
{
        return group->version != CGROUP_V2;
}
/* Lets an empty group count from zero again; false where it does not. */
bool cgroup_reset(const struct cgroup *group);
/* For processes that were killed: with as little of a CPU as they were allowed, they would take
 * long to hear of it, and go on until then. */
void cgroup_lift_cpus(struct cgroup *group);
/* Single readings, for while the run goes on. */
uint64_t cgroup_memory_now(const struct cgroup *group);
uint64_t cgroup_memory_kills(const struct cgroup *group);
uint64_t cgroup_cpu_us(const struct cgroup *group);
uint64_t cgroup_processes_peak(const struct cgroup *group);
uint64_t cgroup_processes_now(const struct cgroup *group);

#endif
