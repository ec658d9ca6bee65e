/*
 * A run that was started: what the monitor watches. Made by a backend, watched by the monitor,
 * ended by run_close(). All descriptors are owned by it; -1 is none.
 */
#ifndef BACKEND_RUN_H
#define BACKEND_RUN_H

#include "backend/child.h"
#include "base/error.h"
#include "kernel/cgroup.h"
#include "plan/report.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct nest;

/* What a run uses that the supervisor cannot look at, as the helper told last. */
struct run_used {
        bool is_new; /* nobody has looked at it */
        uint64_t cpu_us, memory;
        uint32_t processes;
};

struct run {
        struct helper own;           /* how the helper was started, */
        const struct helper *helper; /* unless one was that waited already */
        pid_t helper_pid;
        int helper_pidfd; /* the helper's warden, a child of ours */
        int socket;       /* orders and reports */
        pid_t keeper_pid;
        int keeper_pidfd;    /* whose death ends everything; known once it is reported */
        int kill_signal;     /* that makes the keeper end everything at once */
        bool is_local;       /* no pid namespace dies with the keeper, and the guest may be able to
                              * signal what is ours */
        int streams[3];      /* our ends of the program's streams */
        int workspace_fd;    /* the workspace as the guest sees it, reported */
        int fork_fd;         /* asks about new processes where no group counts them, and about
                              * connections where the plan says so, reported; or -1 */
        int resolver_fds[2]; /* UDP, TCP: sockets to answer for names on, reported; or -1 */
        int relay_fds[REPORT_RELAYS_MAX]; /* for UDP, reported; or -1 */
        int proc_fd;                      /* the guest's /proc, reported; -1 in a local run */
        struct cgroup group;              /* version CGROUP_NONE: there is none */
        struct cgroup_reading counted;    /* by it, once everything is over */
        struct report ready;              /* kind REPORT_READY once the program was executed */
        struct report exited; /* kind REPORT_EXITED once it ended by itself or by a signal */
        struct report failed; /* kind REPORT_FAILED if it could not be started */
        bool is_ready, has_exited, has_failed, is_gone;
        bool is_overdue; /* the program was not started in time */
        bool has_traces; /* in a nest: the next run there could see that this one was */
        bool was_ended;  /* by the one who watched it, for a limit or because it was called off */
        bool is_nested;  /* it is a nest, and built */
        bool is_waiting; /* its guest waits for a program */
        uint64_t cpu_before_us;  /* what its group had counted before the program came */
        uint32_t own_processes;  /* of ours, in the group beside the program's */
        uint64_t peak_before;    /* what the group had counted before, and cannot forget */
        const struct nest *nest; /* it was hatched in one, whose group it has; or NULL */
        struct run_used used;
        bool asks_forks; /* the descriptor that asks about new processes came */
};

void run_init(struct run *run);
/* Moves a run that has no helper of its own. */
void run_move(struct run *to, const struct run *from);
/* Whether no process of the guest's is left: the keeper reports the end only after it has ended
 * all. */
static inline bool run_is_over(const struct run *run)
{
        return run->has_exited || run->is_gone;
}
/* Receives one report; 1 when something came, 0 when the helper is gone, -1 with errno (EAGAIN). */
int run_receive(struct run *run);
/* SIGTERM for every process of the run. */
void run_terminate(struct run *run);
/* Ends every process of the run. */
void run_kill(struct run *run);
/* weigh.c: bytes of memory that its helper and what that started have for themselves; what those
 * started in turn, such as copies, only `with_copies`. 0 where that cannot be told. */
uint64_t run_weigh(const struct run *run, bool with_copies);
/* For a run that has not ended by that: its keeper does without the chance to, and the helper
 * clears up. One in a nest, of which no process is left, is over also without the word of its nest.
 */
void run_force(struct run *run);
/* Has a helper that somebody stopped hear that it is to end. */
void run_wake_helper(const struct run *run);
/* Lets the helper clear up and go, while the caller does something else; of what the run held,
 * nothing may be looked at any more. run_finish() comes next. */
void run_let_go(struct run *run);
/* Lets the helper clear up and go, waits for it, removes what it left, closes all but workspace_fd.
 * How many directories of its control group could not be removed. */
unsigned run_finish(struct run *run);
void run_close(struct run *run);
/* Closes the sockets of the guest's namespace alone: who serves them has copies. */
void run_close_network(struct run *run);

#endif
