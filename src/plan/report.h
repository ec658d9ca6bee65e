/*
 * What goes between the supervisor and the helper: one order to it, fixed-size reports from it,
 * over a SOCK_SEQPACKET pair. Reports come from the helper's own processes alone, never from the
 * guest: the socket is closed by the guest's exec.
 */
#ifndef PLAN_REPORT_H
#define PLAN_REPORT_H

#include <stdint.h>

enum stage {
#define X(id, sentence) STAGE_##id,
#include "plan/stages.def"
#undef X
        STAGE_COUNT
};

const char *stage_sentence(enum stage stage);

/* Descriptors sent with the order: plan, stdin, stdout, stderr; then as the plan says: the group to
 * be born in, parents of groups, files. On cgroup version 1 a second message follows, with the
 * descriptors through which the keeper enters its groups: they are made while it builds the root.
 */
/* The helper's only argument, where it may make a network namespace before it has its order: at
 * once, where that will be some time yet, or by a child, where it follows at once. */
#define HELPER_HINT_NETWORK_FIRST  "network-first"
#define HELPER_HINT_NETWORK_BESIDE "network-beside"

enum { REPORT_NAMESPACES = 7 /* NAMESPACE_COUNT */ };

enum {
        ORDER_MAGIC = 0x6f786273,
        ORDER_FIXED_FDS = 4,
        ORDER_FDS_MAX = 32 /* MESSAGE_FDS_MAX */,
        HELPER_SOCKET = 3,
        REPORT_FILE = 4, /* what a worker of ours keeps: see plan.report_fd */
};

enum { ENTRY_MAGIC = 0x65786273, ENTRY_FDS_MAX = 4 };

struct entry {
        uint32_t magic;
        uint32_t fd_count;
};

struct order {
        uint32_t magic;
        uint32_t fd_count;
        uint64_t plan_length;
        uint64_t outer_namespaces[REPORT_NAMESPACES];
};

/* An order to a nest. Ahead of a run, to make what can be made before that is known: descriptors
 * for its reports and the order that comes on the same socket; then, where the guest will be a
 * copy, the socket of the parked interpreter and those that enter the groups. Or for a guest that
 * is executed at once: for the reports, of its plan, stdin, stdout, stderr, then of its files. */
enum { HATCH_MAGIC = 0x68786273, HATCH_FIXED_FDS = 5 };

struct hatch {
        uint32_t magic;
        uint32_t fd_count;
        uint64_t plan_length; /* 0: ahead of its run */
};

/* Variables that a parked interpreter has room for, with the end of their list. */
enum { PARK_ENVIRONMENT_MAX = 1024 };

/* From the keeper to a parked interpreter: descriptors to hand the guest its run over, for its end,
 * of the nest's plan, the guest's user namespace, the keeper's namespaces; then those that enter
 * the groups. */
enum {
        ADOPT_MAGIC = 0x61786273,
        ADOPT_ORDERS = 0,
        ADOPT_END,
        ADOPT_PLAN,
        ADOPT_USER,
        ADOPT_NAMESPACES,
        ADOPT_FIXED_FDS = ADOPT_NAMESPACES + 7
};

struct adopt {
        uint32_t magic;
        uint32_t fd_count;
        uint64_t plan_length;
        uint32_t guest_uid; /* as the nest's user namespace calls it */
        uint32_t change_uid;
        uint32_t join_count;     /* descriptors that enter the groups */
        uint32_t user_namespace; /* the keeper has one of its own */
};

/* From the parked interpreter to the keeper, once the guest has ended or could not be started. */
struct adopt_end {
        int32_t sys_errno; /* why there was none, or 0 */
        int32_t wait_status;
        uint64_t cpu_user_us, cpu_system_us, memory_peak, io_read_bytes, io_write_bytes;
};

/* To a keeper that waits for its run, or whose guest does: what that is. Descriptors of the plan;
 * stdin, stdout, stderr, where the guest has none yet; then of its files. */
enum { HAND_MAGIC = 0x6e786273, HAND_FIXED_FDS = 1, HAND_STREAMS = 3 };

struct hand {
        uint32_t magic;
        uint32_t fd_count;
        uint64_t plan_length;
        uint32_t empty_stdin;
        uint32_t reserved;
};

/* What the library in a parked interpreter finds in its environment: the program's path, at which
 * it stops, and, where the language file has them, the launcher's text, whether the interpreter
 * forks itself, and whether it is told that it were the guest already. */
#define PARK_PROGRAM  "SANDBOX_PARK_PROGRAM"
#define PARK_LAUNCHER "SANDBOX_PARK_LAUNCHER"
#define PARK_FORKS    "SANDBOX_PARK_FORKS"
#define PARK_POSES    "SANDBOX_PARK_POSES"
/* Whether the interpreter is itself the guest of the one run that comes. */
#define PARK_ONCE "SANDBOX_PARK_ONCE"
/* For the launcher: names of modules to load, with commas between them. */
#define PARK_PRELOAD "SANDBOX_PRELOAD"
/* Set: it will be large, and this machine has large pages for it. */
#define PARK_LARGE "SANDBOX_PARK_LARGE"
/* It is asked for guests on this descriptor. Inside a container, the next one holds the library. */
enum { PARK_MAGIC = 0x70786273, PARK_SOCKET = 200, PARK_LIBRARY };
#define PARK_LIBRARY_PATH "/proc/self/fd/201"

/* From the parked interpreter, once it waits. */
struct parked {
        uint32_t magic;
};

enum report_kind {
        REPORT_STARTED,  /* with a pidfd: the process whose death ends everything */
        REPORT_PLACES,   /* with descriptors: workspace, /proc; each may be missing (fewer come) */
        REPORT_RESOLVER, /* with descriptors: the sockets of the resolver, UDP and TCP */
        REPORT_RELAYS,   /* with descriptors: sockets for UDP without an address, IPv4 and IPv6 */
        REPORT_READY,  /* the program is about to be executed; `seen` is measured. With a descriptor
                        * that asks about new processes or connections, where the plan wants it */
        REPORT_FAILED, /* `stage` and `sys_errno`; the program does not run */
        REPORT_EXITED, /* the program ended: wait_status, usage */
        REPORT_GONE,   /* every process of the run is dead */
        REPORT_NESTED, /* the nest is ready for a run */
        REPORT_WAITING, /* the guest, confined, waits for its program */
        REPORT_USAGE,   /* of a run in a container engine: `counted` and `memory_peak` are of now */
};

enum {
        REPORT_MAGIC = 0x72786273,
        REPORT_DETAIL_MAX = 200,
        REPORT_PLACES_MAX = 2,
        REPORT_RELAYS_MAX = 24,
};

/* What was counted where the supervisor cannot look itself; of REPORT_USAGE the processes are those
 * of now. */
struct report_counted {
        uint32_t is_known;
        uint32_t disk_is_full;
        uint64_t cpu_us, memory_kills, processes_peak, fork_refusals;
};

struct report {
        uint32_t magic;
        uint32_t kind;
        uint32_t stage;
        int32_t sys_errno;
        uint64_t at_ns;               /* when it was sent, monotonic */
        uint64_t seen;                /* PROTECTION_* bits found in force */
        int16_t skipped[STAGE_COUNT]; /* best effort: errno of a step that failed, else 0 */
        int32_t wait_status;
        uint32_t survivors;    /* processes besides the program's when it ended */
        uint32_t guest_uid;    /* as the host sees it */
        uint32_t guest_groups; /* of the caller's that it keeps: only root can give them up */
        int32_t landlock_abi;
        int32_t keeper_pid;  /* as the host sees it; with REPORT_STARTED */
        uint32_t has_traces; /* REPORT_GONE of a nest: the next run could see that this one was */
        uint64_t cpu_user_us, cpu_system_us, memory_peak, io_read_bytes, io_write_bytes;
        struct report_counted counted;  /* of a run in a container engine, with REPORT_EXITED */
        char detail[REPORT_DETAIL_MAX]; /* the path concerned, or empty */
        char hint[REPORT_DETAIL_MAX];   /* STAGE_DOCKER: the remedy; REPORT_READY of an
                                         * engine: why it is in a user namespace; or empty */
};

/* From the keeper to a guest that waits: its run's report so far, and what a proof compares with.
 * Descriptors for its report, of its plan; of its streams, where it has none yet; then of its
 * files.
 */
enum { GIVEN_MAGIC = 0x67786273, GIVEN_REPORTS = 0, GIVEN_PLAN, GIVEN_FIXED_FDS };

struct given {
        uint32_t magic;
        uint32_t fd_count;
        uint64_t plan_length;
        uint32_t empty_stdin;
        uint32_t change_uid;
        uint64_t outer_namespaces[REPORT_NAMESPACES];
        uint64_t outer_root[2];
        struct report report;
};

#endif
