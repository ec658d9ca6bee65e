/*
 * A filter as a graph of choices.
 *
 * A choice looks at one word of what the kernel tells a filter (struct seccomp_data), of which only
 * the bits of a mask count, and goes on by the range in which the value lies; an answer is the end.
 * Instructions, jumps and the order of comparisons are gone: what says the same is the same node,
 * for nodes that are equal are made once, ranges that lead to the same place are one, and a value
 * that is known already is not asked for again.
 */
#ifndef BPF_GRAPH_H
#define BPF_GRAPH_H

#include "compact-bpf.h"

#include <stdbool.h>

enum { GRAPH_NODES = 16384, GRAPH_STEPS = 1 << 20, STEPS_MAX = 4096 };

/* From the value `first` on, up to the next step, it goes on at node `to`. */
struct step {
        uint32_t first;
        int to;
};

struct node {
        bool is_answer;
        uint32_t answer;
        uint32_t word; /* offset in struct seccomp_data */
        uint32_t mask;
        int count;          /* of steps, two at least */
        struct step *steps; /* into the graph; the first one begins at 0 */
};

struct graph {
        struct node nodes[GRAPH_NODES];
        struct step steps[GRAPH_STEPS];
        int node_count, step_count;
        bool is_full; /* something did not fit: nothing made since then counts */
};

int graph_answer(struct graph *graph, uint32_t answer);
/* A choice with up to STEPS_MAX steps, or what it comes to where there is nothing to choose. */
int graph_choice(struct graph *graph, uint32_t word, uint32_t mask, const struct step *steps,
                 int count);
/* Where the value leads from a choice. */
int graph_next(const struct node *choice, uint32_t value);
/* Whether the choice is no more than whether one of the mask's bits is set. */
bool graph_asks_for_bits(const struct node *choice);
/* Whether a step of the choice is for one value alone. */
bool graph_is_single(const struct node *choice, int step);
/* Reads a program; the node it begins with, or -1 where it has instructions other than the loads,
 * masks, comparisons and jumps that libseccomp writes. */
int graph_read(struct graph *graph, const struct bpf *program);
/* Another node that says the same as this one, by asking for the words in the order in which the
 * program becomes the shortest. */
int graph_reorder(struct graph *graph, int node);
/* Writes the program; -1 where it does not fit. */
int graph_write(const struct graph *graph, int node, struct bpf *ret_program);

#endif
