/*
 * Backends start runs. Each is a constant descriptor; they do not know one another. What can be
 * watched afterwards is in backend/run.h.
 */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "backend/run.h"
#include "base/error.h"
#include "kernel/cgroup.h"
#include "plan/plan.h"
#include "result/result.h"

#include <stdbool.h>
#include <stdint.h>

/* What starting takes beside the plan. */
struct backend_host {
        const char *init_path;          /* the helper */
        const struct cgroup_site *site; /* where groups can be made */
        unsigned number;                /* of the run, within this process */
        struct helper *early; /* a helper that waits already, with a network namespace of its own;
                               * or NULL. It is the run's then, but for its memory. */
};

struct backend_input {
        struct cgroup_limits group_limits;
        int file_fds[ORDER_FDS_MAX]; /* borrowed; in the order of plan_file.fd_number */
        int file_fd_count;
        bool empty_stdin; /* nothing will be written: the program gets /dev/null */
};

struct backend {
        const char *name;
        enum plan_kind kind; /* what its runs are made of */
        /* Protections that must be seen in force before the program starts, by the network mode. */
        uint64_t (*required)(enum plan_network network);
        /* Fills in what only this backend knows about the plan. */
        void (*complete)(struct plan *plan);
        /* Tells what held a run that was started: by which mechanism each protection was in force.
         */
        void (*describe)(const struct run *run, const struct plan *plan, struct result *result);
};

extern const struct backend backend_container;
extern const struct backend backend_local;
/* WebAssembly in a worker of ours that is itself contained; and, where the machine allows no
 * namespaces, behind Landlock and seccomp alone. */
extern const struct backend backend_wasm;
extern const struct backend backend_wasm_bare;
/* A container of a container engine's, over sandbox-docker. */
extern const struct backend backend_docker;

/* Starts a run: makes its control group, its pipes and the helper, and sends the order. On success
 * `run` is the caller's to run_close(). */
int backend_start(const struct backend *backend, const struct backend_host *host, struct plan *plan,
                  const struct backend_input *input, struct run *run, struct error *err);

/* Whether the helper of such a plan makes a network namespace before it has its order. */
bool backend_makes_network(const struct plan *plan);

/* The error of a helper that could not be executed; 0 where it could. Known once the run is over.
 */
int backend_child_failure(const struct run *run, struct error *err);

/* Every protection that the helper proves before the program starts: what a container holds. */
#define BACKEND_PROVEN                                                                             \
        (PROTECTION_BIT(USER_NAMESPACE) | PROTECTION_BIT(MOUNT_NAMESPACE) |                        \
         PROTECTION_BIT(PID_NAMESPACE) | PROTECTION_BIT(NETWORK) | PROTECTION_BIT(IPC_NAMESPACE) | \
         PROTECTION_BIT(UTS_NAMESPACE) | PROTECTION_BIT(CGROUP_NAMESPACE) |                        \
         PROTECTION_BIT(FILESYSTEM) | PROTECTION_BIT(PROC) | PROTECTION_BIT(IDENTITY) |            \
         PROTECTION_BIT(CAPABILITIES) | PROTECTION_BIT(NO_NEW_PRIVS) | PROTECTION_BIT(SECCOMP) |   \
         PROTECTION_BIT(LANDLOCK) | PROTECTION_BIT(DESCRIPTORS) | PROTECTION_BIT(SESSION) |        \
         PROTECTION_BIT(CORE_DUMPS) | PROTECTION_BIT(CLEANUP) | PROTECTION_BIT(OPEN_FILES))

/* remedies.c: turns a failed step into an error with the remedy, SBX_EREFUSED where the machine is
 * the reason. */
int backend_failure(const struct report *report, bool as_root, struct error *err);
/* The remedy for a protection that is missing on this machine; NULL where none is known. */
const char *backend_remedy(enum protection protection, bool as_root);
/* Sets, for each protection the helper proves, whether it was seen and by which mechanism. */
void backend_describe_seen(const struct run *run, uint64_t required, struct result *result);

#endif
