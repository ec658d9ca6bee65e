/*
 * What goes between sandbox-docker and sandbox-inside, the first process of its containers: over
 * the container's standard input one order, then pieces of the program's input, each behind its
 * length, a length of 0 being the end of it; back, as the last bytes of both outputs, a record.
 * The record begins with a secret of the order, by which it is found, and is written when no other
 * process of the container lives. What begins like it is held back, so a program that somebody
 * answers can find that secret out, byte by byte; it ends with a second one, which decides about
 * nothing before the record is whole, and so can only be guessed.
 */
#ifndef DOCKER_INSIDE_H
#define DOCKER_INSIDE_H

#include <stdint.h>

/* Where the volume with sandbox-inside is mounted, and what it is called there. */
#define INSIDE_PLACE "/.sandbox"
#define INSIDE_NAME  "inside"

/* What stands in words of the order for the tool that is found in the image, and for the directory
 * above the `bin` that holds it; the same for what runs the tool. */
#define INSIDE_TOOL         "/\001/bin/\001"
#define INSIDE_ROOT         "/\001"
#define INSIDE_RUNTIME      "/\002/bin/\002"
#define INSIDE_RUNTIME_ROOT "/\002"

enum {
        INSIDE_MAGIC = 0x69786273,
        INSIDE_SECRET = 24,
        INSIDE_WORDS_MAX = 4 << 20,
        INSIDE_PIECE_MAX = 64 << 10,
};

/* Then, each ended by a zero byte: the directory, paths where the tool may be, paths where what
 * runs it may be, the command, the environment. */
struct inside_order {
        uint32_t magic;
        uint32_t length; /* of the words together */
        uint32_t tools, runtimes, arguments, variables;
        uint32_t has_group; /* the container has a control group of its own */
        uint32_t is_alone;  /* no program is started where there is a way to others */
        uint64_t cpu_us;    /* CPU time of all processes; 0: no limit */
        char secret[INSIDE_SECRET], seal[INSIDE_SECRET];
};

enum inside_end_kind { INSIDE_EXITED, INSIDE_FAILED, INSIDE_NO_TOOL, INSIDE_NOT_ALONE };

struct inside_end {
        char secret[INSIDE_SECRET];
        uint32_t kind;
        int32_t sys_errno; /* why it could not be executed */
        int32_t wait_status;
        uint32_t survivors;
        uint32_t cpu_was_over;
        uint32_t disk_is_full;
        uint32_t entries; /* in the workspace, up to a few */
        uint32_t reserved;
        uint64_t cpu_user_us, cpu_system_us, cpu_us;
        uint64_t memory_peak, memory_kills, processes_peak, fork_refusals;
        char seal[INSIDE_SECRET];
};

#endif
