#include "bpf-check.h"

#include <stddef.h>
#include <string.h>

enum {
        WORDS = sizeof(struct seccomp_data) / sizeof(uint32_t),
        ARGUMENTS = offsetof(struct seccomp_data, args) / sizeof(uint32_t),
        VALUES_MAX = 2048,
        NUMBERS = 1024,
        COMBINATIONS_MAX = 1 << 18,
        DRAWS = 1 << 14, /* for a number whose arguments are looked at, */
        DRAWS_ELSE = 32, /* and for one where they are not */
};

static bool run_jump(const struct sock_filter *at, uint32_t a, size_t *pc)
{
        bool taken;

        switch (at->code) {
        case BPF_JMP | BPF_JA:
                *pc += at->k;
                return true;
        case BPF_JMP | BPF_JEQ | BPF_K:
                taken = a == at->k;
                break;
        case BPF_JMP | BPF_JGT | BPF_K:
                taken = a > at->k;
                break;
        case BPF_JMP | BPF_JGE | BPF_K:
                taken = a >= at->k;
                break;
        case BPF_JMP | BPF_JSET | BPF_K:
                taken = a & at->k;
                break;
        default:
                return false;
        }
        *pc += taken ? at->jt : at->jf;
        return true;
}

/* `seen`, where it is not NULL, gets a mark for each instruction on the way. */
static int run(const struct bpf *program, const struct seccomp_data *data, bool *seen,
               uint32_t *ret_answer)
{
        uint32_t a = 0;

        for (size_t pc = 0; pc < program->length; pc++) {
                const struct sock_filter *at = &program->code[pc];

                if (seen)
                        seen[pc] = true;
                if (at->code == (BPF_RET | BPF_K)) {
                        *ret_answer = at->k;
                        return 0;
                }
                if (at->code == (BPF_LD | BPF_W | BPF_ABS)) {
                        if (at->k % sizeof(a) != 0 || at->k >= sizeof(*data))
                                return -1;
                        memcpy(&a, (const char *)data + at->k, sizeof(a));
                } else if (at->code == (BPF_ALU | BPF_AND | BPF_K)) {
                        a &= at->k;
                } else if (!run_jump(at, a, &pc)) {
                        return -1;
                }
        }
        return -1;
}

int bpf_run(const struct bpf *program, const struct seccomp_data *data, uint32_t *ret_answer)
{
        return run(program, data, NULL, ret_answer);
}

static uint32_t draw(uint64_t *state)
{
        *state = *state * 6364136223846793005U + 1442695040888963407U;
        return (uint32_t)(*state >> 32);
}

/* What the words of the arguments are to be tried with. */
struct values {
        uint32_t of[WORDS][VALUES_MAX];
        size_t count[WORDS];
};

static void add_value(struct values *values, size_t word, uint32_t value)
{
        for (size_t i = 0; i < values->count[word]; i++)
                if (values->of[word][i] == value)
                        return;
        if (values->count[word] < VALUES_MAX)
                values->of[word][values->count[word]++] = value;
}

static void add_constant(struct values *values, size_t word, uint32_t k)
{
        add_value(values, word, k);
        add_value(values, word, k - 1);
        add_value(values, word, k + 1);
        for (uint32_t bits = k; bits && k != 0xffffffff; bits &= bits - 1)
                add_value(values, word, bits & -bits);
}

/* Marks all that can be reached from here, whatever the arguments are, and takes what each word is
 * compared with. Ways that meet with the same word are followed once. */
static void collect(const struct bpf *program, size_t pc, size_t word, uint8_t (*seen)[WORDS + 1],
                    struct values *values)
{
        for (; pc < program->length && !seen[pc][word]; pc++) {
                const struct sock_filter *at = &program->code[pc];

                seen[pc][word] = 1;
                if (BPF_CLASS(at->code) == BPF_RET)
                        return;
                if (BPF_CLASS(at->code) == BPF_LD) {
                        word = at->k / sizeof(uint32_t);
                        if (word >= WORDS)
                                return;
                } else if (at->code == (BPF_JMP | BPF_JA)) {
                        pc += at->k;
                } else if (word < WORDS && word >= ARGUMENTS) {
                        add_constant(values, word, at->k);
                }
                if (BPF_CLASS(at->code) == BPF_JMP && BPF_OP(at->code) != BPF_JA) {
                        collect(program, pc + 1 + at->jt, word, seen, values);
                        pc += at->jf;
                }
        }
}

/* The first look at an argument on a number's way, or the program's length. */
static size_t find_block(const struct bpf *program, const struct seccomp_data *data)
{
        static bool seen[BPF_MAX];
        uint32_t answer;

        memset(seen, 0, sizeof(seen));
        (void)run(program, data, seen, &answer);
        for (size_t pc = 0; pc < program->length; pc++)
                if (seen[pc] && BPF_CLASS(program->code[pc].code) == BPF_LD &&
                    program->code[pc].k >= ARGUMENTS * sizeof(uint32_t))
                        return pc;
        return program->length;
}

static void collect_block(const struct bpf *program, const struct seccomp_data *data,
                          struct values *values)
{
        static uint8_t seen[BPF_MAX][WORDS + 1];

        memset(seen, 0, sizeof(seen));
        collect(program, find_block(program, data), WORDS, seen, values);
}

static bool agree(const struct bpf *one, const struct bpf *other, const struct seccomp_data *data)
{
        uint32_t first, second;

        return bpf_run(one, data, &first) == 0 && bpf_run(other, data, &second) == 0 &&
               first == second;
}

/* Any value there is for the word, or one by chance. */
static uint32_t draw_value(const struct values *values, size_t word, uint64_t *state)
{
        uint32_t chance = draw(state);

        if (values->count[word] == 0 || chance % 8 == 0)
                return draw(state) >> (chance >> 8) % 32;
        return values->of[word][(chance >> 3) % values->count[word]];
}

static bool agree_on_draws(const struct bpf *one, const struct bpf *other,
                           const struct seccomp_data *asked, const struct values *values,
                           unsigned draws)
{
        uint64_t state = (uint32_t)asked->nr;
        uint32_t words[WORDS];
        struct seccomp_data data;

        memcpy(words, asked, sizeof(words));
        for (unsigned i = 0; i < draws; i++) {
                for (size_t word = ARGUMENTS; word < WORDS; word++)
                        words[word] = draw_value(values, word, &state);
                memcpy(&data, words, sizeof(data));
                if (!agree(one, other, &data))
                        return false;
        }
        return true;
}

/* Every combination of what the words are compared with; the others are 0. */
static bool agree_on_all(const struct bpf *one, const struct bpf *other,
                         const struct seccomp_data *asked, const struct values *values)
{
        size_t at[WORDS] = { 0 }, word;
        uint32_t words[WORDS];
        struct seccomp_data data;

        do {
                memcpy(words, asked, sizeof(words));
                for (word = ARGUMENTS; word < WORDS; word++)
                        words[word] = values->count[word] ? values->of[word][at[word]] : 0;
                memcpy(&data, words, sizeof(data));
                if (!agree(one, other, &data))
                        return false;
                for (word = ARGUMENTS; word < WORDS; word++) {
                        if (++at[word] < values->count[word])
                                break;
                        at[word] = 0;
                }
        } while (word < WORDS);
        return true;
}

static bool agree_on_number(const struct bpf *one, const struct bpf *other, uint32_t arch,
                            uint32_t number)
{
        static const uint32_t always[] = { 0, 1, 0x80000000, 0xffffffff };
        static struct values values;
        const struct seccomp_data data = { .nr = (int)number, .arch = arch };
        size_t combinations = 1;

        memset(values.count, 0, sizeof(values.count));
        collect_block(one, &data, &values);
        collect_block(other, &data, &values);
        for (size_t word = ARGUMENTS; word < WORDS; word++) {
                for (size_t i = 0; values.count[word] && i < sizeof(always) / sizeof(*always); i++)
                        add_value(&values, word, always[i]);
                if (values.count[word] && combinations <= COMBINATIONS_MAX)
                        combinations *= values.count[word];
        }
        /* More than that takes too long: then the limit is to be thought about, not the check left.
         */
        return combinations <= COMBINATIONS_MAX &&
               agree_on_draws(one, other, &data, &values, combinations > 1 ? DRAWS : DRAWS_ELSE) &&
               agree_on_all(one, other, &data, &values);
}

static bool agree_on_arch(const struct bpf *one, const struct bpf *other, uint32_t arch)
{
        uint64_t state = arch;

        for (uint32_t number = 0; number < NUMBERS; number++)
                if (!agree_on_number(one, other, arch, number) ||
                    !agree_on_number(one, other, arch, number | 0x40000000))
                        return false;
        /* What the numbers are compared with, wherever that lies. */
        for (size_t i = 0; i < one->length + other->length; i++) {
                uint32_t k = i < one->length ? one->code[i].k : other->code[i - one->length].k;

                if (!agree_on_number(one, other, arch, k) ||
                    !agree_on_number(one, other, arch, k - 1) ||
                    !agree_on_number(one, other, arch, k + 1))
                        return false;
        }
        for (unsigned i = 0; i < NUMBERS; i++)
                if (!agree_on_number(one, other, arch, draw(&state)))
                        return false;
        return agree_on_number(one, other, arch, 0x3fffffff) &&
               agree_on_number(one, other, arch, 0x7fffffff) &&
               agree_on_number(one, other, arch, 0x80000000) &&
               agree_on_number(one, other, arch, 0xfffffffe) &&
               agree_on_number(one, other, arch, 0xffffffff);
}

bool bpf_says_the_same(const struct bpf *one, const struct bpf *other, uint32_t arch)
{
        static const uint32_t others[] = { 0,          0x40000003, 0x40000028,
                                           0xc000003e, 0xc00000b7, 0xffffffff };

        if (!agree_on_arch(one, other, arch))
                return false;
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
                if (others[i] != arch && !agree_on_arch(one, other, others[i]))
                        return false;
        for (unsigned bit = 0; bit < 32; bit++)
                for (uint32_t number = 0; number < NUMBERS; number += 31)
                        if (!agree_on_number(one, other, arch ^ (uint32_t)1 << bit, number))
                                return false;
        return true;
}
