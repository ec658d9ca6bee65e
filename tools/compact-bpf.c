#include "compact-bpf.h"
#include "bpf-check.h"
#include "bpf-graph.h"

#include <stddef.h>
#include <string.h>

/* The choice by the number, which the one by the architecture leads to; NULL where the program
 * does not begin with that, or says of another architecture more than one answer. */
static const struct node *find_numbers(const struct graph *graph, int root, uint32_t arch)
{
        const struct node *top = &graph->nodes[root], *numbers;

        if (top->is_answer || top->word != offsetof(struct seccomp_data, arch) || top->count != 3 ||
            top->steps[1].first != arch || top->steps[2].first != arch + 1 ||
            top->steps[0].to != top->steps[2].to || !graph->nodes[top->steps[0].to].is_answer)
                return NULL;
        numbers = &graph->nodes[top->steps[1].to];
        if (numbers->is_answer || numbers->word != offsetof(struct seccomp_data, nr) ||
            numbers->mask != 0xffffffff)
                return NULL;
        return numbers;
}

/* The same with the questions about arguments in the best order; -1 as above. */
static int reorder(struct graph *graph, int root, uint32_t arch)
{
        struct step by_arch[3], by_number[STEPS_MAX];
        const struct node *numbers = root < 0 ? NULL : find_numbers(graph, root, arch);

        if (!numbers)
                return -1;
        memcpy(by_arch, graph->nodes[root].steps, sizeof(by_arch));
        memcpy(by_number, numbers->steps, sizeof(by_number[0]) * (size_t)numbers->count);
        for (int i = 0; i < numbers->count; i++)
                by_number[i].to = graph_reorder(graph, by_number[i].to);
        by_arch[1].to =
                graph_choice(graph, numbers->word, numbers->mask, by_number, numbers->count);
        return graph_choice(graph, graph->nodes[root].word, graph->nodes[root].mask, by_arch, 3);
}

int compact_bpf(struct bpf *program, uint32_t arch)
{
        static struct graph graph;
        static struct bpf shorter;
        int root;

        graph.node_count = 0;
        graph.step_count = 0;
        graph.is_full = false;
        root = reorder(&graph, graph_read(&graph, program), arch);
        if (root < 0 || graph.is_full || graph_write(&graph, root, &shorter) < 0)
                return -1;
        if (shorter.length > program->length || !bpf_says_the_same(program, &shorter, arch))
                return -1;
        *program = shorter;
        return 0;
}
