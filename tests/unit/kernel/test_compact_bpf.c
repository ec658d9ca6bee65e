/* What makes the system call filter shorter when the project is built (tools/compact-bpf.h), and
 * what compares the outcome with the original there. */
#include "unit.h"
#include "bpf-check.h"
#include "compact-bpf.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>

#define ARCH    AUDIT_ARCH_X86_64
#define LOW(i)  (offsetof(struct seccomp_data, args[i]))
#define HIGH(i) (LOW(i) + 4)

#define LOAD(word)         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (word))
#define MASK(bits)         BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (bits))
#define ANSWER(k)          BPF_STMT(BPF_RET | BPF_K, (k))
#define EQUAL(k, yes, no)  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (yes), (no))
#define FROM(k, yes, no)   BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (k), (yes), (no))
#define ABOVE(k, yes, no)  BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (k), (yes), (no))
#define SET(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))

/* How each of the programs begins: foreign architectures get the answer 99. */
#define BEGIN                                                                                      \
        LOAD(offsetof(struct seccomp_data, arch)), EQUAL(ARCH, 1, 0), ANSWER(99),                  \
                LOAD(offsetof(struct seccomp_data, nr))
#define SHORTEN(ret, ...)                                                                          \
        do {                                                                                       \
                static const struct sock_filter code[] = { __VA_ARGS__ };                          \
                shorten((ret), code, sizeof(code) / sizeof(code[0]));                              \
        } while (0)

static struct bpf original, outcome, changed;

static void load(struct bpf *program, const struct sock_filter *code, size_t length)
{
        memcpy(program->code, code, sizeof(*code) * length);
        program->length = length;
}

static void shorten(struct bpf *ret, const struct sock_filter *code, size_t length)
{
        load(&original, code, length);
        *ret = original;
        assert_int_equal(compact_bpf(ret, ARCH), 0);
}

static uint32_t answer(const struct bpf *program, uint32_t arch, uint32_t number, uint64_t first,
                       uint64_t second)
{
        const struct seccomp_data data = { (int)number, arch, 0, { first, second } };
        uint32_t got = 0;

        assert_int_equal(bpf_run(program, &data, &got), 0);
        return got;
}

static size_t count(const struct bpf *program, uint16_t code)
{
        size_t found = 0;

        for (size_t i = 0; i < program->length; i++)
                found += program->code[i].code == code;
        return found;
}

static void neighbouring_numbers_are_one_range(void **state)
{
        SHORTEN(&outcome, BEGIN, EQUAL(10, 5, 0), EQUAL(11, 4, 0), EQUAL(12, 3, 0), EQUAL(13, 2, 0),
                FROM(0x40000000, 2, 0), ANSWER(2), ANSWER(1), ANSWER(3));
        /* The architecture, three edges, and four answers. */
        assert_int_equal(outcome.length, 2 + 1 + 3 + 4);
        assert_int_equal(answer(&outcome, ARCH, 9, 0, 0), 2);
        assert_int_equal(answer(&outcome, ARCH, 10, 0, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 13, 0, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 14, 0, 0), 2);
        assert_int_equal(answer(&outcome, ARCH, 0x3fffffff, 0, 0), 2);
        assert_int_equal(answer(&outcome, ARCH, 0x4000000a, 0, 0), 3);
        assert_int_equal(answer(&outcome, ARCH, 0xffffffff, 0, 0), 3);
}

static void architecture_is_looked_at_first(void **state)
{
        SHORTEN(&outcome, BEGIN, EQUAL(10, 0, 1), ANSWER(1), ANSWER(2));
        assert_int_equal(outcome.code[0].code, BPF_LD | BPF_W | BPF_ABS);
        assert_int_equal(outcome.code[0].k, offsetof(struct seccomp_data, arch));
        assert_int_equal(answer(&outcome, ARCH, 10, 0, 0), 1);
        assert_int_equal(answer(&outcome, AUDIT_ARCH_I386, 10, 0, 0), 99);
        assert_int_equal(answer(&outcome, ~ARCH, 11, 0, 0), 99);
}

static void comparison_of_no_bits_goes(void **state)
{
        SHORTEN(&outcome, BEGIN, EQUAL(10, 1, 0), ANSWER(2), LOAD(HIGH(0)), MASK(0), EQUAL(0, 0, 3),
                LOAD(LOW(0)), EQUAL(7, 0, 1), ANSWER(1), ANSWER(2));
        assert_int_equal(count(&outcome, BPF_ALU | BPF_AND | BPF_K), 0);
        assert_int_equal(count(&outcome, BPF_LD | BPF_W | BPF_ABS), 3);
        assert_int_equal(answer(&outcome, ARCH, 10, 7, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x100000007, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 10, 8, 0), 2);
}

static void high_word_that_is_compared_stays(void **state)
{
        SHORTEN(&outcome, BEGIN, EQUAL(10, 1, 0), ANSWER(2), LOAD(HIGH(0)), EQUAL(0, 0, 3),
                LOAD(LOW(0)), EQUAL(7, 0, 1), ANSWER(1), ANSWER(2));
        assert_int_equal(answer(&outcome, ARCH, 10, 7, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x100000007, 0), 2);
}

static void bits_with_the_same_answer_are_asked_for_at_once(void **state)
{
        SHORTEN(&outcome, BEGIN, EQUAL(10, 1, 0), ANSWER(2), LOAD(LOW(0)), MASK(0x100),
                EQUAL(0x100, 6, 0), LOAD(LOW(0)), MASK(0x20), EQUAL(0x20, 3, 0), LOAD(LOW(0)),
                MASK(0x120), EQUAL(0, 1, 0), ANSWER(1), ANSWER(2));
        assert_int_equal(count(&outcome, BPF_ALU | BPF_AND | BPF_K), 0);
        assert_int_equal(count(&outcome, BPF_JMP | BPF_JSET | BPF_K), 1);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x120, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x20, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x100, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 10, ~0x120ULL, 0), 2);
}

static void bits_that_must_all_be_set_are_not_any_of_them(void **state)
{
        SHORTEN(&outcome, BEGIN, EQUAL(10, 1, 0), ANSWER(2), LOAD(LOW(0)), MASK(0x120),
                EQUAL(0x120, 0, 1), ANSWER(1), ANSWER(2));
        assert_int_equal(answer(&outcome, ARCH, 10, 0x120, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x20, 0), 2);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x100, 0), 2);
}

static void bits_with_answers_of_their_own_stay_apart(void **state)
{
        SHORTEN(&outcome, BEGIN, EQUAL(10, 1, 0), ANSWER(2), LOAD(LOW(0)), SET(0x100, 0, 1),
                ANSWER(1), SET(0x20, 0, 1), ANSWER(3), ANSWER(2));
        assert_int_equal(answer(&outcome, ARCH, 10, 0x120, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x20, 0), 3);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x40, 0), 2);
}

static void values_that_a_mask_rules_out_are_not_compared_with(void **state)
{
        SHORTEN(&outcome, BEGIN, EQUAL(10, 1, 0), ANSWER(2), LOAD(LOW(0)), MASK(0x30),
                EQUAL(0x41, 3, 0), EQUAL(0x10, 1, 0), EQUAL(0x11, 1, 2), ANSWER(1), ANSWER(3),
                ANSWER(2));
        assert_int_equal(count(&outcome, BPF_JMP | BPF_JEQ | BPF_K), 3);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x2f, 0), 2);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x1f, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x41, 0), 2);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x30, 0), 2);
        SHORTEN(&outcome, BEGIN, EQUAL(10, 1, 0), ANSWER(3), LOAD(LOW(0)), MASK(0x30),
                EQUAL(0x11, 0, 1), ANSWER(1), ANSWER(2));
        assert_int_equal(count(&outcome, BPF_LD | BPF_W | BPF_ABS), 2);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x20, 0), 2);
}

static void several_values_of_a_mask_keep_their_answers(void **state)
{
        SHORTEN(&outcome, BEGIN, EQUAL(10, 1, 0), ANSWER(2), LOAD(LOW(0)), MASK(0x30),
                EQUAL(0x10, 2, 0), EQUAL(0, 0, 2), ANSWER(1), ANSWER(3), ANSWER(2));
        assert_int_equal(answer(&outcome, ARCH, 10, 0x0f, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x1f, 0), 3);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x2f, 0), 2);
        assert_int_equal(answer(&outcome, ARCH, 10, 0x3f, 0), 2);
}

static void same_comparison_of_other_bits_is_another(void **state)
{
        SHORTEN(&outcome, BEGIN, EQUAL(10, 2, 0), EQUAL(11, 3, 0), ANSWER(2), LOAD(LOW(0)),
                EQUAL(5, 3, 4), LOAD(LOW(0)), MASK(0xf), EQUAL(5, 0, 1), ANSWER(1), ANSWER(2));
        assert_int_equal(answer(&outcome, ARCH, 10, 0x15, 0), 2);
        assert_int_equal(answer(&outcome, ARCH, 10, 5, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 11, 0x15, 0), 1);
        assert_int_equal(answer(&outcome, ARCH, 11, 0x16, 0), 2);
}

static void rules_that_agree_share_their_end(void **state)
{
        SHORTEN(&outcome, BEGIN, EQUAL(10, 1, 0), ANSWER(2), LOAD(LOW(0)), EQUAL(2, 1, 0),
                EQUAL(10, 4, 8), LOAD(LOW(1)), EQUAL(1, 5, 0), LOAD(LOW(1)), EQUAL(2, 3, 4),
                LOAD(LOW(1)), EQUAL(1, 1, 0), EQUAL(2, 0, 1), ANSWER(1), ANSWER(2));
        assert_int_equal(count(&outcome, BPF_LD | BPF_W | BPF_ABS), 4);
        for (unsigned first = 0; first < 12; first++)
                for (unsigned second = 0; second < 4; second++)
                        assert_int_equal(answer(&outcome, ARCH, 10, first, second),
                                         answer(&original, ARCH, 10, first, second));
}

/* So many answers that no jump reaches all of them. */
static void jumps_reach_as_far_as_they_have_to(void **state)
{
        enum { CALLS = 600 };
        static const struct sock_filter begin[] = { BEGIN };
        static const struct sock_filter by_argument[] = { LOAD(LOW(0)), EQUAL(5, 0, 1), ANSWER(1),
                                                          ANSWER(2) };

        load(&original, begin, 4);
        for (uint32_t number = 0; number < CALLS; number++) {
                const struct sock_filter call[] = { EQUAL(number, 0, 1),
                                                    ANSWER(1000 + number / 2) };

                if (number % 100 == 50) {
                        original.code[original.length++] = (struct sock_filter)EQUAL(number, 0, 4);
                        memcpy(&original.code[original.length], by_argument, sizeof(by_argument));
                        original.length += 4;
                } else {
                        memcpy(&original.code[original.length], call, sizeof(call));
                        original.length += 2;
                }
        }
        original.code[original.length++] = (struct sock_filter)ANSWER(3);
        outcome = original;
        assert_int_equal(compact_bpf(&outcome, ARCH), 0);
        assert_true(outcome.length > 512);
        assert_true(outcome.length < original.length);
        for (uint32_t number = 0; number < CALLS + 2; number++)
                for (unsigned first = 4; first < 7; first++)
                        assert_int_equal(answer(&outcome, ARCH, number, first, 0),
                                         answer(&original, ARCH, number, first, 0));
}

static void what_is_not_understood_is_refused(void **state)
{
        static const struct sock_filter no_architecture[] = { LOAD(0), EQUAL(1, 0, 1), ANSWER(1),
                                                              ANSWER(2) };
        static const struct sock_filter foreign_calls[] = {
                LOAD(4), EQUAL(ARCH, 3, 0), LOAD(0),   EQUAL(1, 0, 4), ANSWER(1),
                LOAD(0), EQUAL(2, 0, 1),    ANSWER(1), ANSWER(2),
        };
        static const struct sock_filter other_load[] = { BEGIN, EQUAL(1, 0, 1),
                                                         BPF_STMT(BPF_LD | BPF_IMM, 1), ANSWER(1) };
        static const struct sock_filter without_end[] = { BEGIN, EQUAL(1, 0, 1), ANSWER(1) };

        load(&outcome, no_architecture, 4);
        assert_int_equal(compact_bpf(&outcome, ARCH), -1);
        load(&outcome, foreign_calls, 9);
        assert_int_equal(compact_bpf(&outcome, ARCH), -1);
        load(&outcome, other_load, 7);
        assert_int_equal(compact_bpf(&outcome, ARCH), -1);
        load(&outcome, without_end, 6);
        assert_int_equal(compact_bpf(&outcome, ARCH), -1);
}

static const struct sock_filter many_kinds[] = {
        BEGIN,
        FROM(0x40000000, 0, 2),
        EQUAL(0xffffffff, 1, 0),
        ANSWER(98),
        EQUAL(10, 3, 0),
        EQUAL(11, 6, 0),
        FROM(700, 0, 14),
        ANSWER(4),
        LOAD(HIGH(0)),
        EQUAL(0, 0, 11),
        LOAD(LOW(0)),
        ABOVE(7, 9, 8),
        LOAD(LOW(1)),
        SET(0x30, 7, 0),
        MASK(0xf),
        EQUAL(3, 4, 0),
        LOAD(HIGH(1)),
        FROM(2, 0, 3),
        ANSWER(5),
        ANSWER(1),
        ANSWER(2),
        ANSWER(3),
        ANSWER(6),
};

/* Each instruction made wrong in each way there is: the comparison before the header is written
 * would be worth nothing if it let one of them pass. */
static void comparison_sees_every_single_mistake(void **state)
{
        const size_t length = sizeof(many_kinds) / sizeof(many_kinds[0]);

        shorten(&outcome, many_kinds, length);
        assert_true(bpf_says_the_same(&original, &outcome, ARCH));
        for (size_t i = 0; i < outcome.length; i++) {
                const struct sock_filter right = outcome.code[i];
                bool is_jump = BPF_CLASS(right.code) == BPF_JMP;

                for (int mistake = 0; mistake < (is_jump ? 3 : 1); mistake++) {
                        struct sock_filter *wrong = &changed.code[i];

                        changed = outcome;
                        if (mistake == 0)
                                wrong->k =
                                        BPF_CLASS(right.code) == BPF_LD ? right.k ^ 4 : right.k + 1;
                        else if (mistake == 1)
                                *wrong = (struct sock_filter){ right.code, right.jf, right.jt,
                                                               right.k };
                        else
                                wrong->k = right.k ^ 0x80000000;
                        if (bpf_says_the_same(&original, &changed, ARCH))
                                fail_msg("instruction %zu, mistake %d: not seen", i, mistake);
                }
        }
}

/* One number, one word of one argument, one architecture: a rule that a merge swallowed. */
static void comparison_sees_what_a_merge_swallowed(void **state)
{
        static const struct sock_filter right[] = {
                BEGIN,         EQUAL(10, 3, 0), EQUAL(512, 4, 0), EQUAL(513, 3, 0), ANSWER(1),
                LOAD(HIGH(5)), EQUAL(0, 1, 0),  ANSWER(2),        ANSWER(3),
        };
        static const struct sock_filter no_number[] = {
                BEGIN,         EQUAL(10, 2, 0), EQUAL(512, 3, 0), ANSWER(1),
                LOAD(HIGH(5)), EQUAL(0, 1, 0),  ANSWER(2),        ANSWER(3),
        };
        static const struct sock_filter no_word[] = {
                BEGIN, EQUAL(10, 3, 0), EQUAL(512, 2, 0), EQUAL(513, 1, 0), ANSWER(1), ANSWER(3),
        };
        static const struct sock_filter no_architecture[] = {
                LOAD(0),       EQUAL(10, 3, 0), EQUAL(512, 4, 0), EQUAL(513, 3, 0), ANSWER(1),
                LOAD(HIGH(5)), EQUAL(0, 1, 0),  ANSWER(2),        ANSWER(3),
        };

        load(&original, right, sizeof(right) / sizeof(right[0]));
        assert_true(bpf_says_the_same(&original, &original, ARCH));
        load(&changed, no_number, sizeof(no_number) / sizeof(no_number[0]));
        assert_false(bpf_says_the_same(&original, &changed, ARCH));
        load(&changed, no_word, sizeof(no_word) / sizeof(no_word[0]));
        assert_false(bpf_says_the_same(&original, &changed, ARCH));
        load(&changed, no_architecture, sizeof(no_architecture) / sizeof(no_architecture[0]));
        assert_false(bpf_says_the_same(&original, &changed, ARCH));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(neighbouring_numbers_are_one_range),
                cmocka_unit_test(architecture_is_looked_at_first),
                cmocka_unit_test(comparison_of_no_bits_goes),
                cmocka_unit_test(high_word_that_is_compared_stays),
                cmocka_unit_test(bits_with_the_same_answer_are_asked_for_at_once),
                cmocka_unit_test(bits_that_must_all_be_set_are_not_any_of_them),
                cmocka_unit_test(bits_with_answers_of_their_own_stay_apart),
                cmocka_unit_test(values_that_a_mask_rules_out_are_not_compared_with),
                cmocka_unit_test(several_values_of_a_mask_keep_their_answers),
                cmocka_unit_test(same_comparison_of_other_bits_is_another),
                cmocka_unit_test(rules_that_agree_share_their_end),
                cmocka_unit_test(jumps_reach_as_far_as_they_have_to),
                cmocka_unit_test(what_is_not_understood_is_refused),
                cmocka_unit_test(comparison_sees_every_single_mistake),
                cmocka_unit_test(comparison_sees_what_a_merge_swallowed),
        };

        return RUN(tests);
}
