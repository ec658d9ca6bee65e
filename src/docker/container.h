/* A container of one run, from its making to its removal. */
#ifndef DOCKER_CONTAINER_H
#define DOCKER_CONTAINER_H

#include "docker/daemon.h"
#include "plan/plan.h"
#include "plan/report.h"

#include <stdint.h>
#include <sys/types.h>

/* Nobody's on any host, and within what a rootless engine maps. */
enum { CONTAINER_USER = 65533 };

#define CONTAINER_LABEL_OWNER "sandbox-run.owner"
#define CONTAINER_LABEL_HOST  "sandbox-run.host"
#define CONTAINER_LABEL_KIND  "sandbox-run.kind"
/* Of an image: the version of its language. */
#define CONTAINER_LABEL_VERSION "sandbox-run.version"

/* What the supervisor says beside the plan: the plan's `docker`, read. Strings are borrowed from
 * `json`. */
struct docker_order {
        json_t *json; /* owned */
        const char *host, *cert_path, *image, *inside, *temporary, *language;
        bool verify;
        long timeout_ms;
        uint64_t memory_bytes, processes, cpus_milli, cpu_us;
        uint64_t usage_ms; /* how often its use is told; 0: never */
        const json_t *tools, *runtimes;
        bool is_strict;
        bool wants_files; /* the workspace is looked at, though it be empty */
};

int docker_order_read(const char *text, struct docker_order *order, struct error *err);
void docker_order_done(struct docker_order *order);

struct container {
        char id[80]; /* "" while there is none */
        bool is_started;
        bool is_old; /* it was made before the run that it is for */
};

/* Makes it; it waits for an order once started. */
int container_make(struct daemon *daemon, const struct docker_order *order, const struct plan *plan,
                   struct container *container, struct error *err);
int container_start(struct daemon *daemon, struct container *container, struct error *err);
/* Puts an archive into a place of it. Takes nothing. */
int container_put(struct daemon *daemon, const struct container *container, const char *place,
                  int archive_fd, struct error *err);
/* Fetches a place of it as an archive into a memory file. */
int container_get(struct daemon *daemon, const struct container *container, const char *place,
                  uint64_t most, int *ret_fd, struct error *err);
int container_signal(struct daemon *daemon, const struct container *container, const char *signal,
                     struct error *err);
/* Ends and removes it, with what belongs to it; waits until it is gone. */
int container_remove(struct daemon *daemon, struct container *container, struct error *err);

/* tools.c: the volume that holds sandbox-inside. */
int tools_name(const struct docker_order *order, char ret_name[64], struct error *err);
int tools_fill(struct daemon *daemon, const struct docker_order *order, struct error *err);

/* inspect.c: which protections the engine says are in force, as PROTECTION_* bits in
 * `seen` of the report, why it is in a user namespace in `hint`, and what version of its language
 * the image says it has in `detail`. An old one that is no longer what a new one would be is an
 * error. */
int inspect_container(struct daemon *daemon, const struct container *container,
                      const struct docker_order *order, const struct plan *plan,
                      struct report *report, struct error *err);

/* sweep.c: the labels of what is ours, and the removal of what dead owners left. */
json_t *sweep_labels(void);
int sweep_leftovers(struct daemon *daemon, unsigned *ret_count, struct error *err);
/* The same by a process beside this one, which ends with it: nobody waits for what is not theirs.
 * Its number, for sweep_end(), or -1. */
pid_t sweep_beside(const struct daemon *daemon, const struct docker_order *order);
void sweep_end(pid_t pid, bool at_once);

#endif
