/*
 * Makes a system call filter shorter without changing what it says.
 *
 * libseccomp compares the number of the call with each one it knows, and the arguments rule by
 * rule; the kernel translates the whole filter for every process it is given to, which for seven
 * hundred instructions takes longer than starting the process. Neighbouring numbers mostly have the
 * same answer, and rules mostly ask for the same words. So the program is read as a graph of
 * choices (bpf-graph.h) and written anew. Both are run for every number and very many arguments,
 * here and now (bpf-check.h); a difference ends the build.
 */
#ifndef COMPACT_BPF_H
#define COMPACT_BPF_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

enum { BPF_MAX = 4096 };

struct bpf {
        struct sock_filter code[BPF_MAX];
        size_t length;
};

/* Replaces the program by a shorter one; `arch` is the audit architecture it is for. 0, or -1 where
 * the form of the program is not as expected, or the outcome would differ or be longer. */
int compact_bpf(struct bpf *program, uint32_t arch);

#endif
