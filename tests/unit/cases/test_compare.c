#include "unit.h"
#include "cases/cases.h"

static bool same(enum compare_mode mode, const char *expected, const char *got)
{
        struct difference difference;

        return compare_output(mode, 1e-6, expected, strlen(expected), got, strlen(got),
                              &difference);
}

static void trimmed_forgives_blanks_at_ends(void **state)
{
        assert_true(same(COMPARE_TRIMMED, "a\nb", "a  \nb\t\r\n\n  \n"));
        assert_true(same(COMPARE_TRIMMED, "", "\n \n"));
        assert_false(same(COMPARE_TRIMMED, "a\nb", "a\n\nb"));
        assert_false(same(COMPARE_TRIMMED, "a b", "a  b"));
        assert_false(same(COMPARE_TRIMMED, "a", " a"));
        assert_false(same(COMPARE_TRIMMED, "a", ""));
        assert_false(same(COMPARE_TRIMMED, "", "a"));
}

static void exact_forgives_nothing(void **state)
{
        assert_true(same(COMPARE_EXACT, "a\n", "a\n"));
        assert_true(same(COMPARE_EXACT, "", ""));
        assert_false(same(COMPARE_EXACT, "a\n", "a"));
        assert_false(same(COMPARE_EXACT, "a", "a\n"));
        assert_false(same(COMPARE_EXACT, "a\n", "a \n"));
        assert_false(same(COMPARE_EXACT, "", "\n"));
}

static void tokens_are_words_whatever_is_between(void **state)
{
        assert_true(same(COMPARE_TOKENS, "1 2\n3", " 1\t2 3\n\n"));
        assert_true(same(COMPARE_TOKENS, "", " \n"));
        assert_false(same(COMPARE_TOKENS, "1 2", "12"));
        assert_false(same(COMPARE_TOKENS, "1", "1.0"));
        assert_false(same(COMPARE_TOKENS, "1 2", "1"));
}

static void floats_may_differ_by_the_tolerance(void **state)
{
        assert_true(same(COMPARE_FLOAT, "1.0 x", "1 x"));
        assert_true(same(COMPARE_FLOAT, "0.3333333", "0.33333334"));
        assert_true(same(COMPARE_FLOAT, "1e9", "1000000000.5"));
        assert_true(same(COMPARE_FLOAT, "0", "-0.0000005"));
        assert_true(same(COMPARE_FLOAT, "nan -inf", "NaN -Infinity"));
        assert_true(same(COMPARE_FLOAT, "1.5e3", "+1500."));
        assert_true(same(COMPARE_FLOAT, "12e-1", "1.2"));
        assert_false(same(COMPARE_FLOAT, "1", "1.00001"));
        assert_false(same(COMPARE_FLOAT, "1", "nan"));
        assert_false(same(COMPARE_FLOAT, "nan", "1"));
        assert_false(same(COMPARE_FLOAT, "inf", "-inf"));
        assert_false(same(COMPARE_FLOAT, "inf", "1e308"));
        assert_false(same(COMPARE_FLOAT, "16", "0x10"));
        assert_false(same(COMPARE_FLOAT, "1", "1e"));
        assert_false(same(COMPARE_FLOAT, "1", "1,0"));
        assert_false(same(COMPARE_FLOAT, "a", "b"));
        assert_false(same(COMPARE_FLOAT, "1 2", "1"));
}

static struct difference difference_of(enum compare_mode mode, const char *expected,
                                       const char *got)
{
        struct difference difference = { 0 };

        assert_false(compare_output(mode, 1e-6, expected, strlen(expected), got, strlen(got),
                                    &difference));
        return difference;
}

static void the_first_difference_is_told(void **state)
{
        struct difference d = difference_of(COMPARE_TRIMMED, "a\nb\nc\n", "a\nx\ny\n");

        assert_int_equal(d.line, 2);
        assert_string_equal(d.expected, "b");
        assert_string_equal(d.got, "x");
        d = difference_of(COMPARE_TOKENS, "1 2 3", "1\n2\n4");
        assert_int_equal(d.line, 3);
        assert_string_equal(d.expected, "3");
        assert_string_equal(d.got, "4");
        d = difference_of(COMPARE_TRIMMED, "a\nb", "a");
        assert_true(d.got_ended && !d.expected_ended);
        assert_int_equal(d.line, 2);
        d = difference_of(COMPARE_TRIMMED, "a", "a\nb");
        assert_true(d.expected_ended && !d.got_ended);
        assert_string_equal(d.got, "b");
        d = difference_of(COMPARE_EXACT, "a\nb\n", "a\nb");
        assert_int_equal(d.line, 2);
        assert_string_equal(d.got, "no newline at the end");
}

static void a_difference_is_short_and_printable(void **state)
{
        char got[100000];
        struct difference d;

        memset(got, 'x', sizeof(got) - 1);
        got[sizeof(got) - 1] = '\0';
        d = difference_of(COMPARE_TRIMMED, "y", got);
        assert_true(strlen(d.got) < DIFFERENCE_TEXT_MAX);
        assert_has(d.got, "xxx...");
        d = difference_of(COMPARE_TRIMMED, "y", "\x1b[31m\xff");
        assert_string_equal(d.got, "\\x1b[31m\\xff");
        memset(got, 0xc3, 99);
        memset(got + 99, 0xa9, 1);
        for (size_t i = 0; i < 200; i += 2)
                memcpy(got + i, "\xc3\xa9", 2);
        got[201] = '\0';
        got[200] = 'z';
        d = difference_of(COMPARE_TRIMMED, "y", got);
        assert_has(d.got, "\xc3\xa9...");
}

static void bytes_of_any_kind_are_compared(void **state)
{
        struct difference d;

        assert_true(compare_output(COMPARE_EXACT, 0, "a\0b", 3, "a\0b", 3, &d));
        assert_false(compare_output(COMPARE_EXACT, 0, "a\0b", 3, "a\0c", 3, &d));
        assert_string_equal(d.expected, "a\\x00b");
        assert_false(compare_output(COMPARE_TOKENS, 0, "a\0b", 3, "a\0c", 3, &d));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(trimmed_forgives_blanks_at_ends),
                cmocka_unit_test(exact_forgives_nothing),
                cmocka_unit_test(tokens_are_words_whatever_is_between),
                cmocka_unit_test(floats_may_differ_by_the_tolerance),
                cmocka_unit_test(the_first_difference_is_told),
                cmocka_unit_test(a_difference_is_short_and_printable),
                cmocka_unit_test(bytes_of_any_kind_are_compared),
        };

        return RUN(tests);
}
