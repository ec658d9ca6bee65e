/*
 * The helper: the small program that becomes the guest.
 *
 * Theory of operation. Three processes, one binary, single-threaded, nothing allocated:
 *
 *   warden   (main.c)       child of the supervisor, outside the namespaces, in a session of its
 * own. Receives the order, starts the keeper, waits for the end of the run or of the supervisor,
 * then removes control groups and scratch directories. keeper   (container.c)  pid 1 of the sandbox
 * (or, in local.c, a subreaper). Builds the root, starts the guest, gives up its privileges, reaps,
 * passes SIGTERM on, reports the end. Its death is the end of every process of the run. guest
 * (guest.c)      drops everything, proves it (verify.c), executes the program.
 *
 * Rights: the warden keeps those of the caller; the keeper ends with CAP_KILL alone under an id of
 * its own; the guest has none. Death travels down: the supervisor's is seen by the warden through a
 * pidfd and the socket, the warden's reaches the keeper by PR_SET_PDEATHSIG, the keeper's ends the
 * pid namespace. Reports travel up over the socket, which the guest's exec closes.
 */
#ifndef INIT_INIT_H
#define INIT_INIT_H

#include "kernel/namespace.h"
#include "plan/plan.h"
#include "plan/report.h"

#include <stdbool.h>
#include <sys/types.h>

enum { GUEST_ID = 1000, TREES_MAX = 160 };
#define GUEST_HOST_NAME "sandbox"

struct init {
        struct plan plan;
        int into_fd;           /* or -1 */
        bool is_born_in_group; /* in that of into_fd */
        const int *parent_fds; /* plan.parent_count of them */
        const int *file_fds;
        int file_fd_count;
        int host_proc; /* the host's /proc */
        int own_pidfd; /* the warden's: readable once it is dead */
        uint64_t outer_namespaces[NAMESPACE_COUNT];
        uint64_t outer_root[2];        /* device and inode */
        uint32_t outer_uid, outer_gid; /* the caller's */
        uint32_t guest_uid;            /* as this process's user namespace calls it */
        uint32_t keeper_uid;
        bool change_uid;
        bool is_hatched;       /* in a nest */
        int socket;            /* for reports: HELPER_SOCKET, but in a guest that waited */
        int waiting_pair[2];   /* between the keeper and a guest that waits for its program */
        bool is_parked;        /* the guest is no new program, but a copy of a parked interpreter */
        const int *handed_fds; /* those that came with its run */
        int handed_fd_count;
        int guest_user_fd; /* the user namespace of a nest's guests, or -1 */
        int nest_plan_fd;  /* the nest's own plan, which its guests are confined by */
        uint64_t nest_plan_length;
        const int *park_fds; /* of the parked interpreter that the guest comes from, and those that
                                enter the groups */
        int park_fd_count;
        int copy_fd, copy_end_fd; /* a copy of a parked interpreter that waits for its run, and what
                                     tells its end; or -1 */
        int namespace_fds[NAMESPACE_COUNT]; /* in a nest: the way into them, for a parked
                                               interpreter */
        uint64_t code_bytes, code_inodes;   /* in a nest: what /code is made for */
        int proc_tree;                      /* the caller's /proc on its way to its place, or -1 */
        int fork_listener;    /* that asks about new processes and connections, or -1 */
        bool has_network;     /* the warden made a network namespace, and is in it */
        int network_errno;    /* why it could not */
        pid_t network_maker;  /* else: the child that makes one, of the warden or the keeper */
        int network_pair[2];  /* on which that hands it over */
        struct report report; /* what is known so far */
        int trees[TREES_MAX]; /* by plan mount, the workspace's last: detached mounts on their way
                               * to their place */
        int owner_maps[TREES_MAX]; /* by plan mount, the workspace's last: a user namespace that
                                    * shows the owner's files as the guest's, or -1 */
};

/* One step of setting up: 0, or -1 with errno. A step that is not `vital` may fail under best
 * effort and is then reported as skipped. `detail` of the report may name the path concerned. */
struct step {
        enum stage stage;
        int (*run)(struct init *init);
        bool vital;
        bool needs_run; /* it cannot be done before the run is known */
};

/* report.c */
/* 0, or -1 with errno where nobody hears it. */
int report_try(struct init *init, enum report_kind kind, const int *fds, int fd_count);
/* Ends the process where descriptors, or that the program starts, cannot be told: nobody could
 * watch over it then. */
void report_send(struct init *init, enum report_kind kind, const int *fds, int fd_count);
/* Reports the failed step and ends the process. */
_Noreturn void report_failure(struct init *init, enum stage stage, int sys_errno);
void report_detail(struct init *init, const char *path);
/* Runs the steps in order; the first fatal failure ends the process. */
void steps_run(struct init *init, const struct step *steps, size_t count);
/* Those alone that need the run, or do not. */
void steps_run_part(struct init *init, const struct step *steps, size_t count, bool needs_run);

/* container.c, local.c: the life of the keeper; do not return. */
_Noreturn void container_keeper(struct init *init);
/* nest.c: builds what runs of one kind share, then hatches one after another. */
_Noreturn void nest_main(struct init *init);
/* park.c: starts an interpreter that stops before it opens its program. */
_Noreturn void park_main(struct init *init);
/* main.c: the plan in the memory file that came first of these descriptors. */
void init_decode_plan(struct init *init, int plan_fd, uint64_t length);
/* container.c: steps and reports that nests share. */
int container_map_user(struct init *init);
int container_make_private(struct init *init);
int container_pivot(struct init *init);
int container_set_hostname(struct init *init);
int container_limit_shared_memory(struct init *init);
int container_make_group_namespace(struct init *init);
void container_send_places(struct init *init);
_Noreturn void local_keeper(struct init *init);
/* keeper.c: what both kinds share. */
int keeper_enter_groups(struct init *init);
int keeper_tie_to_warden(struct init *init, int death_signal);
_Noreturn void keeper_run(struct init *init);
/* The streams are pipes of the caller's: the guest's to open again by /dev/stdout. */
void keeper_give_streams(struct init *init);
void keeper_terminate_all(void);
/* Tells how many processes the guest left behind, and ends them. */
void keeper_end_survivors(struct init *init);
/* The keeper needs nothing any more but the right to signal the guest. */
void keeper_give_up_privileges(struct init *init);
/* What those used that the keeper has waited for; bytes are its own, too. */
struct keeper_counters {
        uint64_t read_bytes, write_bytes, cpu_user_us, cpu_system_us, memory_peak;
};
/* For that, before the guest's first instruction. */
int keeper_open_counters(const struct init *init);
/* How much was read for it, which is not in it yet. */
uint64_t keeper_count(int counters_fd, struct keeper_counters *ret);
/* What came since then, but for so many bytes that we read ourselves. */
struct keeper_counters keeper_count_since(int counters_fd, const struct keeper_counters *before,
                                          uint64_t own_read);
/* io.c: what this process, and those that it has waited for, have read and written so far, from its
 * file "io" in /proc. How much was read for that, which is not in it yet. */
struct io_counters {
        uint64_t read_bytes, write_bytes;
};
ssize_t io_read(int fd, struct io_counters *ret);
static inline uint64_t io_less(uint64_t now, uint64_t before)
{
        return now > before ? now - before : 0;
}
/* adopt.c: the same for a guest that a parked interpreter brings. */
/* Asks for one that waits. */
void adopt_ask(struct init *init);
/* Hands it the run that init->plan is. One that died meanwhile is asked for once more. */
_Noreturn void adopt_run(struct init *init, int plan_fd, uint64_t plan_length);
/* once.c: has the guest's program handed to it. Returns in the keeper, when that is done. */
void once_hand_over(struct init *init);
int once_make_pair(struct init *init);
/* The run that a keeper waits for; with it as many streams. Room for ORDER_FDS_MAX descriptors. */
void hand_receive(struct init *init, size_t stream_count, struct hand *ret_hand, int *ret_fds);
/* nest.c: steps that once.c shares. */
int nest_close_code(struct init *init);
int nest_size_code(struct init *init);
/* Ends every process below this one. */
void keeper_end_all(const struct init *init);

/* network.c. The warden's: makes the network namespace as its argument says. What fails is told by
 * the keeper's first step: nobody listens before there was an order. */
void network_prepare(struct init *init, const char *hint);
/* The keeper's: has it made beside other work, where the warden did not; enters it. */
int network_begin(struct init *init);
int network_enter(struct init *init);

/* owner_map.c: fills owner_maps. The guest's id owns nothing, so what the caller hands in would be
 * closed to it; through these, whoever owns a volume or workspace appears as the guest. */
void owner_maps_make(struct init *init);

/* root.c: steps that build the root, in the order of container.c's table. */
int root_make(struct init *init);
int root_system(struct init *init);
int root_volumes(struct init *init);
int root_devices(struct init *init);
int root_proc(struct init *init);
int root_workspace(struct init *init);
/* Where a nest's runs mount what is theirs. */
int root_places(struct init *init);
/* place.c: places of the new root, which is the current directory: no link in what was handed in is
 * followed. */
/* Whether nothing of a path is in what was handed in. */
bool place_is_own(const struct init *init, const char *path);
/* Opens the folder of a path, for use as a place alone, and makes what is missing of it. */
int place_open_parent(const struct init *init, const char *path, const char **ret_name);
/* Opens what something of this kind can be mounted on; made where it is missing. */
int place_open(const struct init *init, const char *path, mode_t kind);

/* files.c */
int root_files(struct init *init);
/* Makes the plan's files; below the current directory when `below`, else at their own paths. */
int files_make(struct init *init, bool below);
/* files.c: a step of the guest's: the files that it finds in its workspace. */
int guest_files(struct init *init);

/* guest.c, verify.c */
/* All steps, or those that are left where the guest is a copy, then the report that the program
 * starts. Returns only where all went well. */
void guest_confine(struct init *init);
/* Those that need nothing of the run, by the plan of the nest. */
void guest_confine_ahead(struct init *init);
_Noreturn void guest_run(struct init *init);
/* Steps of it, for a guest that waited: it proves what holds once more. */
int guest_enter_directory(struct init *init);
/* Opens that directory. */
int guest_open_directory(const struct init *init, int flags);
int guest_verify(struct init *init);
/* Without mounts, a workspace that is kept is one of the host's, in which others may put links. */
bool guest_is_handed_in(const struct init *init);
int guest_become(struct init *init);
/* Its user namespace: that of its nest, or else one that it makes. */
int guest_enter_namespace(struct init *init);
int guest_limit(int resource, uint64_t value);
/* Notes in the report what this process has computed so far: that is not the program's. */
void guest_count_cpu(struct init *init);
/* access.c */
int access_apply(struct init *init);
uint64_t verify_protections(const struct init *init);
/* Whether Landlock holds, right after it was applied. The file that shows it is root's while we may
 * not be looked into, and refused without any Landlock; and once the filter of a run that is
 * measured holds, who opened that to others cannot close it again. The keeper's memory is the
 * guest's until it executes its program. */
bool verify_landlock(void);
/* Whether the limit of descriptors holds, which is set after the rest was verified. */
bool verify_open_files(const struct init *init);

#endif
