#include "unit.h"
#include "base/mem.h"
#include "base/units.h"

struct number {
        const char *text;
        uint64_t value;
};

static const char *const nonsense[] = {
        "",
        " ",
        "-1",
        "+1",
        "1e3",
        "1e400",
        "nan",
        "NaN",
        "inf",
        "0x10",
        "01",
        "007",
        "1 ",
        " 1",
        "1.",
        ".5",
        "1..2",
        "1,5",
        "18446744073709551616",
        "99999999999999999999999",
        "five",
        "5x",
        "1s1",
        "\xc2\xb2",
};

static void durations_have_one_meaning(void **state)
{
        static const struct number good[] = {
                { "500ms", 500 },  { "2s", 2000 },  { "1.5s", 1500 }, { "1m", 60000 },
                { "1h", 3600000 }, { "30", 30000 }, { "0.2", 200 },   { "0", 0 },
                { "1.5ms", 2 },    { "0.001s", 1 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
                struct error err = { 0 };
                uint64_t ms = 1;

                if (units_parse_duration(good[i].text, &ms, &err) != 0 || ms != good[i].value)
                        fail_msg("'%s' gave %llu, %s", good[i].text, (unsigned long long)ms,
                                 err.message);
        }
}

static void sizes_have_one_meaning(void **state)
{
        static const struct number good[] = {
                { "100B", 100 },
                { "512K", 512 << 10 },
                { "64M", 64 << 20 },
                { "256MB", 256 << 20 },
                { "256MiB", 256 << 20 },
                { "1G", 1 << 30 },
                { "1.5K", 1536 },
                { "7", 7 },
                { "0", 0 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
                struct error err = { 0 };
                uint64_t bytes = 1;

                if (units_parse_size(good[i].text, 1, &bytes, &err) != 0 || bytes != good[i].value)
                        fail_msg("'%s' gave %llu, %s", good[i].text, (unsigned long long)bytes,
                                 err.message);
        }
}

static void a_bare_size_counts_in_the_unit_of_the_caller(void **state)
{
        uint64_t bytes;

        assert_int_equal(units_parse_size("64", 1 << 20, &bytes, NULL), 0);
        assert_int_equal(bytes, 64 << 20);
        assert_int_equal(units_parse_size("64K", 1 << 20, &bytes, NULL), 0);
        assert_int_equal(bytes, 64 << 10);
}

static void nonsense_is_refused_by_every_reader(void **state)
{
        static int (*const readers[])(const char *, uint64_t *, struct error *) = {
                units_parse_duration,
                units_parse_count,
                units_parse_thousandths,
        };

        for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++) {
                uint64_t value = 77;

                for (size_t j = 0; j < ARRAY_SIZE(readers); j++) {
                        struct error err = { 0 };

                        if (readers[j](nonsense[i], &value, &err) != SBX_EINVAL)
                                fail_msg("reader %zu took '%s'", j, nonsense[i]);
                        assert_true(err.message[0] != '\0');
                }
                assert_int_equal(units_parse_size(nonsense[i], 1, &value, NULL), SBX_EINVAL);
                assert_int_equal(value, 77);
        }
}

static void numbers_beyond_63_bits_are_refused(void **state)
{
        uint64_t value;

        assert_int_equal(units_parse_count("9223372036854775807", &value, NULL), 0);
        assert_int_equal(value, INT64_MAX);
        assert_int_equal(units_parse_count("9223372036854775808", &value, NULL), SBX_EINVAL);
        assert_int_equal(units_parse_count("18446744073709551615", &value, NULL), SBX_EINVAL);
        assert_int_equal(units_parse_size("8388608T", 1, &value, NULL), SBX_EINVAL);
        assert_int_equal(units_parse_duration("9223372036854775807", &value, NULL), SBX_EINVAL);
}

static void counts_take_no_fraction_and_no_unit(void **state)
{
        uint64_t value;

        assert_int_equal(units_parse_count("1.0", &value, NULL), SBX_EINVAL);
        assert_int_equal(units_parse_count("1K", &value, NULL), SBX_EINVAL);
        assert_int_equal(units_parse_thousandths("0.5", &value, NULL), 0);
        assert_int_equal(value, 500);
}

static void an_unknown_unit_comes_with_the_known_ones(void **state)
{
        struct error err = { 0 };
        uint64_t value;

        assert_int_equal(units_parse_size("64X", 1, &value, &err), SBX_EINVAL);
        assert_has(err.message, "64X");
        assert_has(err.hint, "64M");
}

static void sizes_and_times_are_written_for_people(void **state)
{
        char text[UNITS_TEXT_MAX];

        assert_string_equal(units_format_size(64 << 20, text), "64 MiB");
        assert_string_equal(units_format_size(100, text), "100 B");
        assert_string_equal(units_format_size(UINT64_C(3) << 29, text), "1.5 GiB");
        assert_string_equal(units_format_duration(5000, text), "5s");
        assert_string_equal(units_format_duration(200, text), "0.2s");
        assert_string_equal(units_format_duration(1250, text), "1.25s");
        assert_string_equal(units_format_duration(10000, text), "10s");
        assert_string_equal(units_format_duration(0, text), "0s");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(durations_have_one_meaning),
                cmocka_unit_test(sizes_have_one_meaning),
                cmocka_unit_test(a_bare_size_counts_in_the_unit_of_the_caller),
                cmocka_unit_test(nonsense_is_refused_by_every_reader),
                cmocka_unit_test(numbers_beyond_63_bits_are_refused),
                cmocka_unit_test(counts_take_no_fraction_and_no_unit),
                cmocka_unit_test(an_unknown_unit_comes_with_the_known_ones),
                cmocka_unit_test(sizes_and_times_are_written_for_people),
        };

        return RUN(tests);
}
