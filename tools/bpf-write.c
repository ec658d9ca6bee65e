/*
 * From the graph to instructions.
 *
 * Each choice becomes a tree of comparisons, as small as can be; equal comparisons are made once.
 * They are placed from the end of the program to its beginning, each after all it leads to, so that
 * every jump goes forward to a place that is known. Only loads, masks, comparisons and answers are
 * used: of those the kernel finds out when it is given a filter which calls are always allowed, and
 * does not run it for them.
 */
#include "bpf-graph.h"

#include <linux/seccomp.h>
#include <string.h>

enum { TESTS_MAX = BPF_MAX, RANGES_MAX = 512, FAR = 255 };

static const uint32_t whole = 0xffffffff, no_word = 0xffffffff;

/* A comparison of the word that the accumulator has to hold, or an answer. */
struct test {
        uint16_t code;
        uint32_t k;
        uint32_t word, mask;
        int yes, no;
        bool needs_load, needs_mask; /* some way to it comes with another word in the accumulator */
        bool is_placed;
        size_t place; /* of the comparison, counted from the program's end */
};

struct writer {
        const struct graph *graph;
        struct test tests[TESTS_MAX];
        int test_count;
        int of_node[GRAPH_NODES];         /* the test a node begins with, or -1 */
        struct sock_filter back[BPF_MAX]; /* from the end to the beginning */
        size_t length;
        bool is_full;
};

static int add_test(struct writer *writer, struct test test)
{
        for (int i = 0; i < writer->test_count; i++) {
                const struct test *old = &writer->tests[i];

                if (old->code == test.code && old->k == test.k && old->word == test.word &&
                    old->mask == test.mask && old->yes == test.yes && old->no == test.no)
                        return i;
        }
        if (writer->test_count == TESTS_MAX) {
                writer->is_full = true;
                return 0;
        }
        writer->tests[writer->test_count] = test;
        return writer->test_count++;
}

/* How the ranges from one step to another are told apart best. */
struct plan {
        long cost;
        int split;    /* the step with which the second half begins, or 0: */
        int fallback; /* the node of all but single values, each compared for itself */
};

/* Few comparisons come first: the kernel translates each of them. Of trees as small as each other
 * the one with the shorter ways is better: the kernel follows those of all numbers, too. */
enum { COMPARISON_COSTS = 3000, WEIGHT_MAX = 64 };

static long weight(const struct node *choice, int step)
{
        uint64_t end = step + 1 < choice->count ? choice->steps[step + 1].first : (uint64_t)1 << 32;
        uint64_t width = end - choice->steps[step].first;

        return width < WEIGHT_MAX ? (long)width : WEIGHT_MAX;
}

/* Compares with each single value; -1 where something else is left than the fallback. */
static long cost_of_singles(const struct node *choice, int from, int to, int fallback)
{
        long singles = 0, weights = 0;

        for (int i = from; i < to; i++) {
                if (choice->steps[i].to != fallback) {
                        if (!graph_is_single(choice, i))
                                return -1;
                        singles++;
                }
                weights += weight(choice, i);
        }
        return singles * (COMPARISON_COSTS + weights);
}

static struct plan plans[RANGES_MAX][RANGES_MAX + 1];

static void plan_ranges(const struct node *choice, int from, int to)
{
        struct plan best = { .cost = -1 };
        long weights = 0;

        for (int i = from; i < to; i++) {
                int fallback = choice->steps[i].to;
                long cost = cost_of_singles(choice, from, to, fallback);

                if (cost >= 0 && (best.cost < 0 || cost < best.cost))
                        best = (struct plan){ cost, 0, fallback };
                weights += weight(choice, i);
        }
        for (int split = from + 1; split < to; split++) {
                long cost = plans[from][split].cost + plans[split][to].cost + COMPARISON_COSTS +
                            weights;

                if (best.cost < 0 || cost < best.cost)
                        best = (struct plan){ cost, split, 0 };
        }
        plans[from][to] = best;
}

static int test_of(struct writer *writer, int node);

static int compare(struct writer *writer, const struct node *choice, uint16_t op, uint32_t k,
                   int yes, int no)
{
        if (yes == no)
                return yes;
        return add_test(writer, (struct test){ .code = (uint16_t)(BPF_JMP | BPF_K | op),
                                               .k = k,
                                               .word = choice->word,
                                               .mask = op == BPF_JSET ? whole : choice->mask,
                                               .yes = yes,
                                               .no = no });
}

/* Follows the plan. What the steps lead to has its tests already. */
static int write_ranges(struct writer *writer, const struct node *choice, int from, int to)
{
        struct plan plan = plans[from][to];
        int test;

        if (plan.split) {
                int low = write_ranges(writer, choice, from, plan.split);
                int high = write_ranges(writer, choice, plan.split, to);

                return compare(writer, choice, BPF_JGE, choice->steps[plan.split].first, high, low);
        }
        test = writer->of_node[plan.fallback];
        for (int i = to - 1; i >= from; i--)
                if (choice->steps[i].to != plan.fallback)
                        test = compare(writer, choice, BPF_JEQ, choice->steps[i].first,
                                       writer->of_node[choice->steps[i].to], test);
        return test;
}

static int write_choice(struct writer *writer, const struct node *choice)
{
        if (choice->count > RANGES_MAX) {
                writer->is_full = true;
                return 0;
        }
        for (int i = 0; i < choice->count; i++)
                (void)test_of(writer, choice->steps[i].to);
        if (graph_asks_for_bits(choice) && choice->mask != whole)
                return compare(writer, choice, BPF_JSET, choice->mask,
                               writer->of_node[choice->steps[1].to],
                               writer->of_node[choice->steps[0].to]);
        for (int width = 1; width <= choice->count; width++)
                for (int from = 0; from + width <= choice->count; from++)
                        plan_ranges(choice, from, from + width);
        return write_ranges(writer, choice, 0, choice->count);
}

static int test_of(struct writer *writer, int node)
{
        const struct node *at = &writer->graph->nodes[node];

        if (writer->of_node[node] < 0 && at->is_answer)
                writer->of_node[node] = add_test(
                        writer,
                        (struct test){ .code = BPF_RET | BPF_K, .k = at->answer, .word = no_word });
        else if (writer->of_node[node] < 0)
                writer->of_node[node] = write_choice(writer, at);
        return writer->of_node[node];
}

static bool is_answer(const struct test *test)
{
        return BPF_CLASS(test->code) == BPF_RET;
}

/* Whether a way from `before` comes with the right word, of which bits may have to be cleared. */
static bool holds_word(const struct test *before, const struct test *test)
{
        return before->word == test->word && (before->mask & test->mask) == test->mask;
}

static void note_way(struct test *tests, const struct test *before, int to)
{
        struct test *test = &tests[to];

        if (is_answer(test))
                return;
        if (!holds_word(before, test))
                test->needs_load = true;
        if (test->mask != whole && (!holds_word(before, test) || before->mask != test->mask))
                test->needs_mask = true;
}

static void put(struct writer *writer, uint16_t code, size_t yes, size_t no, uint32_t k)
{
        if (writer->length == BPF_MAX) {
                writer->is_full = true;
                return;
        }
        writer->back[writer->length++] = (struct sock_filter){ code, (uint8_t)yes, (uint8_t)no, k };
}

/* Where a way from one test enters another: at its load, its mask or its comparison. */
static size_t entry(const struct test *before, const struct test *test)
{
        if (is_answer(test) || (before->word == test->word && before->mask == test->mask))
                return test->place;
        if (holds_word(before, test))
                return test->place + 1;
        return test->place + 1 + test->needs_mask;
}

/* The place to jump to, from one of the next instructions: the entry, or where that is too far a
 * jump of its own, or a copy of the answer. */
static size_t reach(struct writer *writer, const struct test *before, const struct test *test)
{
        size_t place = entry(before, test);

        if (writer->length + 1 - place <= FAR)
                return place;
        if (is_answer(test))
                put(writer, test->code, 0, 0, test->k);
        else
                put(writer, BPF_JMP | BPF_JA, 0, 0, (uint32_t)(writer->length - place - 1));
        return writer->length - 1;
}

static void place_test(struct writer *writer, int index)
{
        struct test *test = &writer->tests[index];
        size_t yes, no;

        if (test->is_placed || writer->is_full)
                return;
        test->is_placed = true;
        if (is_answer(test)) {
                test->place = writer->length;
                put(writer, test->code, 0, 0, test->k);
                return;
        }
        place_test(writer, test->yes);
        place_test(writer, test->no);
        yes = reach(writer, test, &writer->tests[test->yes]);
        no = reach(writer, test, &writer->tests[test->no]);
        test->place = writer->length;
        put(writer, test->code, test->place - yes - 1, test->place - no - 1, test->k);
        if (test->needs_mask)
                put(writer, BPF_ALU | BPF_AND | BPF_K, 0, 0, test->mask);
        if (test->needs_load)
                put(writer, BPF_LD | BPF_W | BPF_ABS, 0, 0, test->word);
}

static void note_ways(struct writer *writer, int first)
{
        const struct test start = { .word = no_word };

        note_way(writer->tests, &start, first);
        for (int i = 0; i < writer->test_count; i++)
                if (!is_answer(&writer->tests[i])) {
                        note_way(writer->tests, &writer->tests[i], writer->tests[i].yes);
                        note_way(writer->tests, &writer->tests[i], writer->tests[i].no);
                }
}

int graph_write(const struct graph *graph, int node, struct bpf *ret_program)
{
        static struct writer writer;
        int first;

        writer.graph = graph;
        writer.test_count = 0;
        writer.length = 0;
        writer.is_full = false;
        for (int i = 0; i < graph->node_count; i++)
                writer.of_node[i] = -1;
        first = test_of(&writer, node);
        if (writer.is_full)
                return -1;
        note_ways(&writer, first);
        place_test(&writer, first);
        if (writer.is_full)
                return -1;
        for (size_t i = 0; i < writer.length; i++)
                ret_program->code[i] = writer.back[writer.length - 1 - i];
        ret_program->length = writer.length;
        return 0;
}
