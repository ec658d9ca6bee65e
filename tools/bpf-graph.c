#include "bpf-graph.h"

#include <linux/seccomp.h>
#include <string.h>

enum { READS_MAX = 4 * BPF_MAX };

static const uint32_t whole = 0xffffffff, no_word = 0xffffffff;

/* The smallest value not below `value` that has bits of the mask alone; false: there is none. */
static bool next_within(uint32_t mask, uint64_t value, uint32_t *ret_value)
{
        while (value <= whole) {
                uint32_t stray = (uint32_t)value & ~mask;
                int top;

                if (!stray) {
                        *ret_value = (uint32_t)value;
                        return true;
                }
                top = 31 - __builtin_clz(stray);
                value = ((value >> top) + 1) << top;
        }
        return false;
}

/* The first value after a step's last one. */
static uint64_t step_end(const struct step *steps, int count, int step)
{
        return step + 1 < count ? steps[step + 1].first : (uint64_t)whole + 1;
}

bool graph_is_single(const struct node *choice, int step)
{
        uint32_t other;

        return !next_within(choice->mask, (uint64_t)choice->steps[step].first + 1, &other) ||
               other >= step_end(choice->steps, choice->count, step);
}

bool graph_asks_for_bits(const struct node *choice)
{
        return choice->count == 2 && choice->steps[1].first == (choice->mask & -choice->mask);
}

int graph_next(const struct node *choice, uint32_t value)
{
        int low = 0, high = choice->count;

        while (high - low > 1) {
                int middle = (low + high) / 2;

                if (choice->steps[middle].first <= value)
                        low = middle;
                else
                        high = middle;
        }
        return choice->steps[low].to;
}

static int add_node(struct graph *graph, struct node node)
{
        for (int i = 0; i < graph->node_count; i++) {
                const struct node *old = &graph->nodes[i];

                if (old->is_answer == node.is_answer && old->answer == node.answer &&
                    old->word == node.word && old->mask == node.mask && old->count == node.count &&
                    (!node.count ||
                     memcmp(old->steps, node.steps, sizeof(*node.steps) * (size_t)node.count) == 0))
                        return i;
        }
        if (graph->node_count == GRAPH_NODES || graph->step_count + node.count > GRAPH_STEPS) {
                graph->is_full = true;
                return 0;
        }
        if (node.count) {
                struct step *kept = &graph->steps[graph->step_count];

                memcpy(kept, node.steps, sizeof(*kept) * (size_t)node.count);
                node.steps = kept;
                graph->step_count += node.count;
        }
        graph->nodes[graph->node_count] = node;
        return graph->node_count++;
}

int graph_answer(struct graph *graph, uint32_t answer)
{
        return add_node(graph, (struct node){ .is_answer = true, .answer = answer });
}

struct list {
        struct step steps[STEPS_MAX];
        int count;
        bool is_full;
};

/* Adds a step unless no value with bits of the mask alone lies in it, or the last one leads to the
 * same node. */
static void add_step(struct list *list, uint32_t mask, uint32_t first, uint64_t end, int to)
{
        uint32_t begin;

        if (!next_within(mask, first, &begin) || begin >= end)
                return;
        if (list->count > 0 && list->steps[list->count - 1].to == to)
                return;
        if (list->count == STEPS_MAX) {
                list->is_full = true;
                return;
        }
        list->steps[list->count++] = (struct step){ begin, to };
}

/* Adds what a step leads to: of a choice about the same value only what lies in the step. */
static void add_resolved(const struct graph *graph, struct list *list, uint32_t word, uint32_t mask,
                         uint32_t first, uint64_t end, int to)
{
        const struct node *next = &graph->nodes[to];

        if (next->is_answer || next->word != word || next->mask != mask) {
                add_step(list, mask, first, end, to);
                return;
        }
        for (int i = 0; i < next->count; i++) {
                uint64_t inner_end = step_end(next->steps, next->count, i);
                uint32_t begin = next->steps[i].first > first ? next->steps[i].first : first;

                inner_end = inner_end < end ? inner_end : end;
                if (begin < inner_end)
                        add_step(list, mask, begin, inner_end, next->steps[i].to);
        }
}

/* Where none of the bits leads to the same question about others, both are one: the mask that asks
 * for all of them, or 0. */
static uint32_t joined_mask(const struct graph *graph, const struct node *choice)
{
        const struct node *next = &graph->nodes[choice->steps[0].to];

        if (!graph_asks_for_bits(choice) || next->is_answer || next->word != choice->word ||
            !graph_asks_for_bits(next) || next->steps[1].to != choice->steps[1].to)
                return 0;
        return choice->mask | next->mask;
}

int graph_choice(struct graph *graph, uint32_t word, uint32_t mask, const struct step *steps,
                 int count)
{
        struct list list = { .count = 0 };
        struct node node = { .word = word, .mask = mask, .steps = list.steps };
        uint32_t joined;

        for (int i = 0; i < count; i++)
                add_resolved(graph, &list, word, mask, steps[i].first, step_end(steps, count, i),
                             steps[i].to);
        graph->is_full = graph->is_full || list.is_full;
        if (graph->is_full)
                return 0;
        if (list.count == 1)
                return list.steps[0].to;
        node.count = list.count;
        joined = joined_mask(graph, &node);
        if (joined) {
                const struct node *next = &graph->nodes[list.steps[0].to];
                struct step both[] = { next->steps[0], { 1, list.steps[1].to } };

                return graph_choice(graph, word, joined, both, 2);
        }
        return add_node(graph, node);
}

/* What the accumulator holds at an instruction, and the node that stands for going on from there.
 */
struct read {
        size_t pc;
        uint32_t word, mask;
        int node;
};

struct reader {
        struct graph *graph;
        const struct bpf *program;
        struct read done[READS_MAX];
        int done_count;
};

static int read_from(struct reader *reader, size_t pc, uint32_t word, uint32_t mask);

static int read_jump(struct reader *reader, size_t pc, uint32_t word, uint32_t mask)
{
        const struct sock_filter *at = &reader->program->code[pc];
        int yes = read_from(reader, pc + 1 + at->jt, word, mask);
        int no = read_from(reader, pc + 1 + at->jf, word, mask);
        struct step equal[] = { { 0, no }, { at->k, yes }, { at->k + 1, no } };
        struct step from[] = { { 0, no }, { at->k, yes } };
        struct step above[] = { { 0, no }, { at->k + 1, yes } };
        struct step set[] = { { 0, no }, { 1, yes } };

        if (yes < 0 || no < 0 || word == no_word || BPF_SRC(at->code) != BPF_K)
                return -1;
        switch (BPF_OP(at->code)) {
        case BPF_JEQ:
                if (at->k == 0)
                        return graph_choice(reader->graph, word, mask, equal + 1, 2);
                return graph_choice(reader->graph, word, mask, equal, at->k == whole ? 2 : 3);
        case BPF_JGE:
                return at->k == 0 ? yes : graph_choice(reader->graph, word, mask, from, 2);
        case BPF_JGT:
                return at->k == whole ? no : graph_choice(reader->graph, word, mask, above, 2);
        case BPF_JSET:
                return graph_choice(reader->graph, word, mask & at->k, set, 2);
        default:
                return -1;
        }
}

static int read_instruction(struct reader *reader, size_t pc, uint32_t word, uint32_t mask)
{
        const struct sock_filter *at = &reader->program->code[pc];

        switch (at->code) {
        case BPF_RET | BPF_K:
                return graph_answer(reader->graph, at->k);
        case BPF_LD | BPF_W | BPF_ABS:
                return read_from(reader, pc + 1, at->k, whole);
        case BPF_ALU | BPF_AND | BPF_K:
                return read_from(reader, pc + 1, word, mask & at->k);
        case BPF_JMP | BPF_JA:
                return read_from(reader, pc + 1 + at->k, word, mask);
        default:
                return BPF_CLASS(at->code) == BPF_JMP ? read_jump(reader, pc, word, mask) : -1;
        }
}

/* Jumps go forward alone, so this ends. */
static int read_from(struct reader *reader, size_t pc, uint32_t word, uint32_t mask)
{
        int node;

        if (pc >= reader->program->length)
                return -1;
        for (int i = 0; i < reader->done_count; i++)
                if (reader->done[i].pc == pc && reader->done[i].word == word &&
                    reader->done[i].mask == mask)
                        return reader->done[i].node;
        node = read_instruction(reader, pc, word, mask);
        if (reader->graph->is_full || reader->done_count == READS_MAX)
                return -1;
        reader->done[reader->done_count++] = (struct read){ pc, word, mask, node };
        return node;
}

int graph_read(struct graph *graph, const struct bpf *program)
{
        static struct reader reader;

        reader.graph = graph;
        reader.program = program;
        reader.done_count = 0;
        return read_from(&reader, 0, no_word, whole);
}
