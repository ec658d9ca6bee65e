#include "unit.h"
#include "engine/ask.h"
#include "engine/gateway.h"

#include <sys/wait.h>

static void places_come_from_addresses_of_every_form(void **state)
{
        static const struct {
                const char *text, *place;
        } cases[] = {
                { "https://example.org/simple", "near=example.org:443" },
                { "http://example.org", "near=example.org:80" },
                { "http://example.org:8080/a/b?c#d", "near=example.org:8080" },
                { "sparse+https://index.example.org/", "near=index.example.org:443" },
                { "https://user:pass@word@example.org/x", "near=example.org:443" },
                { "example.org", "near=example.org:443" },
                { "example.org:81", "near=example.org:81" },
                { "[2001:db8::1]", "near=[2001:db8::1]:443" },
                { "https://[2001:db8::1]:8443/", "near=[2001:db8::1]:8443" },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct strlist places = { 0 };

                assert_int_equal(gateway_add_place(&places, cases[i].text, true, NULL), 0);
                assert_string_equal(places.items[0], cases[i].place);
                strlist_done(&places);
        }
}

static void a_place_stands_once(void **state)
{
        struct strlist places = { 0 };

        assert_int_equal(gateway_add_place(&places, "https://a/x", true, NULL), 0);
        assert_int_equal(gateway_add_place(&places, "https://a/y", false, NULL), 0);
        assert_int_equal(gateway_add_place(&places, "https://a:444", false, NULL), 0);
        assert_int_equal(places.count, 2);
        assert_string_equal(places.items[1], "far=a:444");
        strlist_done(&places);
}

static void what_is_no_place_is_refused(void **state)
{
        static const char *const wrong[] = {
                "", "https://", "ftp://a/", "a b", "a\n", "/x", "*.a"
        };
        struct strlist places = { 0 };

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
                if (gateway_add_place(&places, wrong[i], true, NULL) != SBX_EINVAL)
                        fail_msg("taken: '%s'", wrong[i]);
        assert_int_equal(places.count, 0);
}

static struct ask_answer answer_of(const char *script)
{
        struct strlist command = { 0 };
        struct ask_answer answer;
        struct error err = { 0 };

        assert_int_equal(strlist_add(&command, "/bin/sh"), 0);
        assert_int_equal(strlist_add(&command, "-c"), 0);
        assert_int_equal(strlist_add(&command, script), 0);
        assert_int_equal(ask(&command, 30000, -1, &answer, &err), 0);
        strlist_done(&command);
        return answer;
}

static void an_answer_has_both_streams_and_the_status(void **state)
{
        struct ask_answer answer = answer_of("pwd; echo no >&2; cat; exit 3");

        assert_string_equal(answer.out.data, "/\n");
        assert_string_equal(answer.err.data, "no\n");
        assert_int_equal(WEXITSTATUS(answer.wait_status), 3);
        ask_answer_done(&answer);
}

static void an_answer_is_bounded_and_ends_with_its_leader(void **state)
{
        struct ask_answer answer = answer_of("head -c 1000000 /dev/zero; sleep 1000 &");

        assert_true(answer.out.length <= ASK_OUTPUT_MAX);
        assert_int_equal(answer.wait_status, 0);
        ask_answer_done(&answer);
}

static void who_does_not_answer_in_time_is_ended(void **state)
{
        struct strlist command = { 0 };
        struct ask_answer answer;
        struct error err = { 0 };

        assert_int_equal(strlist_add(&command, "/bin/sleep"), 0);
        assert_int_equal(strlist_add(&command, "1000"), 0);
        assert_int_equal(ask(&command, 50, -1, &answer, &err), SBX_EREFUSED);
        assert_non_null(strstr(err.message, "in time"));
        strlist_done(&command);
}

static void what_cannot_be_started_is_an_error(void **state)
{
        struct strlist command = { 0 };
        struct ask_answer answer;
        struct error err = { 0 };

        assert_int_equal(strlist_add(&command, "/nonexistent/tool"), 0);
        assert_int_equal(ask(&command, 1000, -1, &answer, &err), SBX_ESYSTEM);
        assert_non_null(strstr(err.message, "No such file"));
        strlist_done(&command);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(places_come_from_addresses_of_every_form),
                cmocka_unit_test(a_place_stands_once),
                cmocka_unit_test(what_is_no_place_is_refused),
                cmocka_unit_test(an_answer_has_both_streams_and_the_status),
                cmocka_unit_test(an_answer_is_bounded_and_ends_with_its_leader),
                cmocka_unit_test(who_does_not_answer_in_time_is_ended),
                cmocka_unit_test(what_cannot_be_started_is_an_error),
        };

        return RUN(tests);
}
