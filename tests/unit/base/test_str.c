#include "unit.h"
#include "base/mem.h"
#include "base/str.h"

static void a_buffer_grows_and_is_always_terminated(void **state)
{
        struct strbuf buf = { 0 };

        for (int i = 0; i < 1000; i++)
                strbuf_addf(&buf, "%d,", i % 10);
        assert_false(buf.failed);
        assert_int_equal(buf.length, 2000);
        assert_int_equal(strlen(buf.data), 2000);
        strbuf_done(&buf);
        assert_null(buf.data);
}

static void a_buffer_takes_bytes_that_hold_nul(void **state)
{
        struct strbuf buf = { 0 };

        strbuf_add(&buf, "a\0b", 3);
        strbuf_adds(&buf, "c");
        assert_int_equal(buf.length, 4);
        assert_memory_equal(buf.data, "a\0bc\0", 5);
        strbuf_done(&buf);
}

static void taking_an_empty_buffer_gives_an_empty_string(void **state)
{
        struct strbuf buf = { 0 };
        AUTO_FREE char *text = strbuf_take(&buf);

        assert_string_equal(text, "");
}

static void a_buffer_remembers_that_memory_ran_out(void **state)
{
        struct strbuf buf = { 0 };

        mem_fail_after(0);
        strbuf_adds(&buf, "x");
        assert_true(buf.failed);
        strbuf_adds(&buf, "y");
        strbuf_addf(&buf, "%d", 1);
        assert_null(strbuf_take(&buf));
        assert_false(buf.failed);
}

static void strings_compare_with_null(void **state)
{
        assert_true(str_equal("a", "a"));
        assert_true(str_equal(NULL, NULL));
        assert_false(str_equal("a", NULL));
        assert_false(str_equal(NULL, "a"));
        assert_false(str_equal("a", "b"));
        assert_true(str_has_prefix("abc", "ab"));
        assert_false(str_has_prefix("a", "ab"));
        assert_true(str_has_suffix("a.py", ".py"));
        assert_false(str_has_suffix("py", ".py"));
}

static void utf8_is_told_from_what_only_looks_like_it(void **state)
{
        static const struct {
                const char *bytes;
                bool valid;
        } cases[] = {
                { "", true },
                { "plain", true },
                { "\xc3\xa4", true },          /* a-umlaut */
                { "\xe2\x82\xac", true },      /* euro */
                { "\xf0\x9f\x98\x80", true },  /* beyond the first plane */
                { "\xf4\x8f\xbf\xbf", true },  /* the last character */
                { "\xf4\x90\x80\x80", false }, /* one beyond it */
                { "\xc0\x80", false },         /* overlong NUL */
                { "\xc1\xbf", false },         /* overlong */
                { "\xe0\x9f\xbf", false },     /* overlong */
                { "\xf0\x8f\xbf\xbf", false }, /* overlong */
                { "\xed\xa0\x80", false },     /* surrogate */
                { "\x80", false },             /* lone continuation */
                { "\xc3", false },             /* cut */
                { "\xe2\x82", false },         /* cut */
                { "\xff", false },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                if (str_is_utf8(cases[i].bytes, strlen(cases[i].bytes)) != cases[i].valid)
                        fail_msg("case %zu", i);
        assert_true(str_is_utf8("a\0b", 3));
}

static void a_sequence_cut_at_the_end_is_left_off(void **state)
{
        assert_int_equal(str_utf8_complete("abc", 3), 3);
        assert_int_equal(str_utf8_complete("ab\xe2\x82", 4), 2);
        assert_int_equal(str_utf8_complete("ab\xe2\x82\xac", 5), 5);
        assert_int_equal(str_utf8_complete("\xf0\x9f\x98", 3), 0);
        assert_int_equal(str_utf8_complete("", 0), 0);
        /* What is wrong is not cut, it stays wrong. */
        assert_int_equal(str_utf8_complete("a\xff", 2), 2);
}

static void control_bytes_are_shown_not_sent(void **state)
{
        char buffer[64], small[8];

        assert_string_equal(str_printable("a\nb\x1b[1m", buffer, sizeof(buffer)),
                            "a\\x0ab\\x1b[1m");
        assert_string_equal(str_printable("\xc3\xa4", buffer, sizeof(buffer)), "\xc3\xa4");
        assert_string_equal(str_printable("\xff", buffer, sizeof(buffer)), "\\xff");
        assert_string_equal(str_printable("\xc2\x9b"
                                          "1m\xc2\xa0",
                                          buffer, sizeof(buffer)),
                            "\\xc2\\x9b1m\xc2\xa0");
        assert_true(strlen(str_printable("aaaaaaaaaaaaaaaa", small, sizeof(small))) <
                    sizeof(small));
}

static void base64_matches_the_known_answers(void **state)
{
        static const char *const pairs[][2] = {
                { "", "" },        { "f", "Zg==" },          { "fo", "Zm8=" },
                { "foo", "Zm9v" }, { "foobar", "Zm9vYmFy" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
                AUTO_FREE char *text = str_base64(pairs[i][0], strlen(pairs[i][0]));

                assert_string_equal(text, pairs[i][1]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_buffer_grows_and_is_always_terminated),
                cmocka_unit_test(a_buffer_takes_bytes_that_hold_nul),
                cmocka_unit_test(taking_an_empty_buffer_gives_an_empty_string),
                cmocka_unit_test(a_buffer_remembers_that_memory_ran_out),
                cmocka_unit_test(strings_compare_with_null),
                cmocka_unit_test(utf8_is_told_from_what_only_looks_like_it),
                cmocka_unit_test(a_sequence_cut_at_the_end_is_left_off),
                cmocka_unit_test(control_bytes_are_shown_not_sent),
                cmocka_unit_test(base64_matches_the_known_answers),
        };

        return RUN(tests);
}
