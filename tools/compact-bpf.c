#include "compact-bpf.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 1024, RANGES_MAX = NUMBERS + 8, NO_BLOCK = -1 };

/* Where the comparisons of the number lead: to an answer, or to a block that looks at arguments. */
struct target {
        uint32_t answer;
        int block; /* index of its first instruction in the original, or NO_BLOCK */
};

struct range {
        uint32_t first;
        struct target target;
};

static bool follow_jump(const struct sock_filter *at, uint32_t a, size_t *pc)
{
        bool taken;

        switch (BPF_OP(at->code)) {
        case BPF_JA:
                *pc += 1 + at->k;
                return true;
        case BPF_JEQ:
                taken = a == at->k;
                break;
        case BPF_JGT:
                taken = a > at->k;
                break;
        case BPF_JGE:
                taken = a >= at->k;
                break;
        case BPF_JSET:
                taken = a & at->k;
                break;
        default:
                return false;
        }
        *pc += 1 + (taken ? at->jt : at->jf);
        return true;
}

/* Runs the program. With `data` NULL it stops at the first look at an argument, and says where. */
static int run(const struct bpf *program, uint32_t arch, uint32_t number,
               const struct seccomp_data *data, struct target *ret_target)
{
        uint32_t a = 0;

        for (size_t pc = 0; pc < program->length;) {
                const struct sock_filter *at = &program->code[pc];

                switch (BPF_CLASS(at->code)) {
                case BPF_RET:
                        *ret_target = (struct target){ at->k, NO_BLOCK };
                        return 0;
                case BPF_LD:
                        if (at->k == offsetof(struct seccomp_data, nr)) {
                                a = number;
                        } else if (at->k == offsetof(struct seccomp_data, arch)) {
                                a = arch;
                        } else if (data) {
                                memcpy(&a, (const char *)data + at->k, sizeof(a));
                        } else {
                                *ret_target = (struct target){ 0, (int)pc };
                                return 0;
                        }
                        pc++;
                        break;
                case BPF_ALU:
                        if (at->code != (BPF_ALU | BPF_AND | BPF_K))
                                return -1;
                        a &= at->k;
                        pc++;
                        break;
                case BPF_JMP:
                        if (!follow_jump(at, a, &pc))
                                return -1;
                        break;
                default:
                        return -1;
                }
        }
        return -1;
}

static int find_ranges(const struct bpf *program, uint32_t arch, struct range *ranges)
{
        /* Beyond the numbers there are: all alike up to the bit of x32, then up to the last one. */
        static const uint32_t edges[] = { NUMBERS, 0x40000000, 0xffffffff };
        int count = 0;

        for (uint32_t i = 0; i < NUMBERS + 3; i++) {
                uint32_t number = i < NUMBERS ? i : edges[i - NUMBERS];
                struct target target;

                if (run(program, arch, number, NULL, &target) < 0)
                        return -1;
                if (count > 0 && ranges[count - 1].target.block == target.block &&
                    ranges[count - 1].target.answer == target.answer)
                        continue;
                ranges[count++] = (struct range){ number, target };
        }
        return count;
}

static void put(struct bpf *out, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
        out->code[out->length++] = (struct sock_filter){ code, jt, jf, k };
}

/* A balanced tree over ranges [from, to): leaves answer, or jump to a block that is placed later;
 * the jump holds the block's index in the original until then. */
static int put_tree(struct bpf *out, const struct range *ranges, int from, int to)
{
        int middle = (from + to) / 2;
        size_t at, left;

        if (to - from == 1) {
                if (ranges[from].target.block == NO_BLOCK)
                        put(out, BPF_RET | BPF_K, 0, 0, ranges[from].target.answer);
                else
                        put(out, BPF_JMP | BPF_JA, 0, 0, (uint32_t)ranges[from].target.block);
                return 0;
        }
        at = out->length;
        put(out, BPF_JMP | BPF_JGE | BPF_K, 0, 0, ranges[middle].first);
        if (put_tree(out, ranges, from, middle) < 0)
                return -1;
        left = out->length - at - 1;
        if (left > 255)
                return -1;
        out->code[at].jt = (uint8_t)left;
        return put_tree(out, ranges, middle, to);
}

/* Marks the instructions that can be reached from a block's first one. They only go forward. */
static void mark(const struct bpf *program, bool *needed, size_t pc)
{
        for (; pc < program->length && !needed[pc]; pc++) {
                const struct sock_filter *at = &program->code[pc];

                needed[pc] = true;
                if (BPF_CLASS(at->code) == BPF_RET)
                        return;
                if (BPF_CLASS(at->code) != BPF_JMP)
                        continue;
                if (BPF_OP(at->code) == BPF_JA) {
                        mark(program, needed, pc + 1 + at->k);
                        return;
                }
                mark(program, needed, pc + 1 + at->jt);
                mark(program, needed, pc + 1 + at->jf);
                return;
        }
}

/* Copies the blocks behind the tree, in their order, and sets every jump anew. */
static void put_blocks(struct bpf *out, size_t tree_start, const struct bpf *program,
                       const bool *needed)
{
        static size_t place[BPF_MAX];
        size_t tree_end = out->length;

        for (size_t pc = 0; pc < program->length; pc++)
                if (needed[pc]) {
                        place[pc] = out->length;
                        out->code[out->length++] = program->code[pc];
                }
        for (size_t i = tree_start; i < tree_end; i++)
                if (out->code[i].code == (BPF_JMP | BPF_JA))
                        out->code[i].k = (uint32_t)(place[out->code[i].k] - i - 1);
        for (size_t pc = 0; pc < program->length; pc++) {
                struct sock_filter *at = &out->code[place[pc]];

                if (!needed[pc] || BPF_CLASS(at->code) != BPF_JMP)
                        continue;
                if (BPF_OP(at->code) == BPF_JA) {
                        at->k = (uint32_t)(place[pc + 1 + at->k] - place[pc] - 1);
                } else {
                        at->jt = (uint8_t)(place[pc + 1 + at->jt] - place[pc] - 1);
                        at->jf = (uint8_t)(place[pc + 1 + at->jf] - place[pc] - 1);
                }
        }
}

/* Arguments worth trying: the constants of the program itself, their neighbours, and stray high
 * bits. */
static uint64_t try_value(const struct bpf *program, unsigned round)
{
        uint64_t value = program->code[(unsigned)rand() % program->length].k;

        value += round % 3 == 0 ? (uint64_t)(rand() % 3) - 1 : 0;
        value |= round % 5 == 0 ? program->code[(unsigned)rand() % program->length].k : 0;
        return round % 7 == 0 ? value | (uint64_t)(rand() % 4) << 32 : value & 0xffffffff;
}

static bool says_the_same(const struct bpf *a, const struct bpf *b, uint32_t arch)
{
        for (uint32_t number = 0; number < NUMBERS + 64; number++)
                for (unsigned round = 0; round < 400; round++) {
                        uint32_t asked =
                                number < NUMBERS ? number : (number << 26) | (uint32_t)rand();
                        uint32_t from = round % 50 == 49 ? 0x40000003 : arch;
                        struct seccomp_data data = { .nr = (int)asked, .arch = from };
                        struct target first, second;

                        for (int i = 0; i < 6; i++)
                                data.args[i] = try_value(a, round + (unsigned)i);
                        if (run(a, from, asked, &data, &first) < 0 ||
                            run(b, from, asked, &data, &second) < 0 ||
                            first.answer != second.answer)
                                return false;
                }
        return true;
}

int compact_bpf(struct bpf *program, uint32_t arch)
{
        static struct range ranges[RANGES_MAX];
        static struct bpf out;
        static bool needed[BPF_MAX];
        int count = find_ranges(program, arch, ranges);
        struct target foreign;
        size_t tree_start;

        if (count < 0 || run(program, ~arch, 0, NULL, &foreign) < 0 || foreign.block != NO_BLOCK)
                return -1;
        memset(needed, 0, sizeof(needed));
        out.length = 0;
        put(&out, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
        put(&out, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, arch);
        put(&out, BPF_RET | BPF_K, 0, 0, foreign.answer);
        put(&out, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
        tree_start = out.length;
        if (put_tree(&out, ranges, 0, count) < 0)
                return -1;
        for (int i = 0; i < count; i++)
                if (ranges[i].target.block != NO_BLOCK)
                        mark(program, needed, (size_t)ranges[i].target.block);
        put_blocks(&out, tree_start, program, needed);
        if (!says_the_same(program, &out, arch))
                return -1;
        if (out.length < program->length)
                *program = out;
        return 0;
}
