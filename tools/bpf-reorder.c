/*
 * The order of questions. Rules come out of libseccomp one behind the other, each with all that it
 * asks; asked in the same order everywhere, each word is looked at once on a way, and rules that
 * agree from some word on share all that follows. Which order is the best one is found by trying.
 */
#include "bpf-graph.h"

#include <string.h>

enum { WORDS_MAX = 6, CASES_MAX = 65536 };

struct word {
        uint32_t word, mask;
        uint32_t firsts[STEPS_MAX]; /* a value of each range that something tells apart, ordered */
        int count;
        uint32_t value; /* of the case that is looked at */
};

struct words {
        struct word at[WORDS_MAX];
        int count;
        bool is_too_many;
};

static struct word *find_word(struct words *words, const struct node *choice)
{
        for (int i = 0; i < words->count; i++)
                if (words->at[i].word == choice->word && words->at[i].mask == choice->mask)
                        return &words->at[i];
        if (words->count == WORDS_MAX)
                return NULL;
        words->at[words->count] = (struct word){ .word = choice->word, .mask = choice->mask };
        return &words->at[words->count++];
}

static void insert_first(struct word *word, uint32_t first)
{
        int at = 0;

        while (at < word->count && word->firsts[at] < first)
                at++;
        if ((at < word->count && word->firsts[at] == first) || word->count == STEPS_MAX)
                return; /* that many are too many cases, and nothing comes of it */
        memmove(&word->firsts[at + 1], &word->firsts[at],
                sizeof(word->firsts[0]) * (size_t)(word->count - at));
        word->firsts[at] = first;
        word->count++;
}

static void collect(const struct graph *graph, int node, bool *seen, struct words *words)
{
        const struct node *choice = &graph->nodes[node];
        struct word *word;

        if (choice->is_answer || seen[node])
                return;
        seen[node] = true;
        word = find_word(words, choice);
        if (!word) {
                words->is_too_many = true;
                return;
        }
        for (int i = 0; i < choice->count; i++) {
                insert_first(word, choice->steps[i].first);
                collect(graph, choice->steps[i].to, seen, words);
        }
}

/* What the original says where all words have the values at hand. */
static int answer_of(const struct graph *graph, int node, struct words *words)
{
        while (!graph->nodes[node].is_answer)
                node = graph_next(&graph->nodes[node],
                                  find_word(words, &graph->nodes[node])->value);
        return node;
}

/* The original for the values at hand of the first words of the order, made anew with the rest. */
static int build(struct graph *graph, int original, struct words *words, const int *order,
                 int depth)
{
        struct step steps[STEPS_MAX];
        struct word *word;

        if (depth == words->count)
                return answer_of(graph, original, words);
        word = &words->at[order[depth]];
        for (int i = 0; i < word->count; i++) {
                word->value = word->firsts[i];
                steps[i] = (struct step){ word->value,
                                          build(graph, original, words, order, depth + 1) };
        }
        return graph_choice(graph, word->word, word->mask, steps, word->count);
}

static void swap(int *one, int *other)
{
        int kept = *one;

        *one = *other;
        *other = kept;
}

/* The next order of the words, as of a dictionary; false after the last one. */
static bool next_order(int *order, int count)
{
        int at = count - 2, other = count - 1;

        while (at >= 0 && order[at] > order[at + 1])
                at--;
        if (at < 0)
                return false;
        while (order[other] < order[at])
                other--;
        swap(&order[at], &order[other]);
        for (int low = at + 1, high = count - 1; low < high; low++, high--)
                swap(&order[low], &order[high]);
        return true;
}

static size_t written_length(const struct graph *graph, int node)
{
        static struct bpf program;

        return graph_write(graph, node, &program) < 0 ? BPF_MAX + 1 : program.length;
}

int graph_reorder(struct graph *graph, int node)
{
        static struct words words;
        static bool seen[GRAPH_NODES];
        int order[WORDS_MAX] = { 0, 1, 2, 3, 4, 5 }, best_order[WORDS_MAX];
        size_t best = written_length(graph, node), original = best, cases = 1;

        words.count = 0;
        words.is_too_many = false;
        memset(seen, 0, sizeof(seen));
        collect(graph, node, seen, &words);
        for (int i = 0; i < words.count; i++)
                cases *= (size_t)words.at[i].count;
        if (words.is_too_many || cases > CASES_MAX)
                return node;
        do {
                int nodes = graph->node_count, steps = graph->step_count;
                size_t length = written_length(graph, build(graph, node, &words, order, 0));

                if (!graph->is_full && length < best) {
                        best = length;
                        memcpy(best_order, order, sizeof(order));
                }
                graph->node_count = nodes; /* it was to be measured alone */
                graph->step_count = steps;
        } while (next_order(order, words.count));
        return best < original ? build(graph, node, &words, best_order, 0) : node;
}
