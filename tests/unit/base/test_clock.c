#include "unit.h"
#include "base/clock.h"

static void the_monotonic_clock_does_not_go_back(void **state)
{
        uint64_t last = clock_now_ns();

        for (int i = 0; i < 1000; i++) {
                uint64_t now = clock_now_ns();

                assert_true(now >= last);
                last = now;
        }
        assert_true(last > 0);
}

static void a_stamp_has_the_form_of_iso_8601_with_milliseconds(void **state)
{
        static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
        char stamp[CLOCK_STAMP_MAX];

        assert_ptr_equal(clock_stamp(stamp), stamp);
        assert_int_equal(strlen(stamp), strlen(form));
        for (size_t i = 0; form[i]; i++) {
                if (form[i] == 'd')
                        assert_true(stamp[i] >= '0' && stamp[i] <= '9');
                else
                        assert_int_equal(stamp[i], form[i]);
        }
}

static void identifiers_are_unlike_and_have_26_known_characters(void **state)
{
        char ids[100][CLOCK_ULID_MAX];

        for (int i = 0; i < 100; i++) {
                assert_int_equal(clock_ulid(ids[i]), 0);
                assert_int_equal(strlen(ids[i]), 26);
                assert_int_equal(strspn(ids[i], "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
                for (int j = 0; j < i; j++)
                        assert_string_not_equal(ids[i], ids[j]);
        }
}

static void identifiers_sort_by_time(void **state)
{
        char first[CLOCK_ULID_MAX], second[CLOCK_ULID_MAX];

        assert_int_equal(clock_ulid(first), 0);
        assert_int_equal(clock_ulid(second), 0);
        assert_true(memcmp(first, second, 10) <= 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_monotonic_clock_does_not_go_back),
                cmocka_unit_test(a_stamp_has_the_form_of_iso_8601_with_milliseconds),
                cmocka_unit_test(identifiers_are_unlike_and_have_26_known_characters),
                cmocka_unit_test(identifiers_sort_by_time),
        };

        return RUN(tests);
}
