/* Paths compared by their words. */
#include "unit.h"
#include "base/path.h"

static void a_folder_has_what_lies_below_it(void **state)
{
        assert_true(path_is_below("/data/a", "/data"));
        assert_true(path_is_below("/data/a/b", "/data/a"));
        assert_true(path_is_below("/data", "/"));
        assert_false(path_is_below("/data", "/data"));
        assert_false(path_is_below("/", "/"));
        assert_false(path_is_below("/database", "/data"));
        assert_false(path_is_below("/dat", "/data"));
        assert_false(path_is_below("", "/data"));
        assert_false(path_is_below("/data", ""));
}

static void within_a_folder_is_also_the_folder(void **state)
{
        assert_true(path_is_within("/data", "/data"));
        assert_true(path_is_within("/data/a", "/data"));
        assert_true(path_is_within("/", "/"));
        assert_false(path_is_within("/database", "/data"));
        assert_false(path_is_within("", "/"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_folder_has_what_lies_below_it),
                cmocka_unit_test(within_a_folder_is_also_the_folder),
        };

        return RUN(tests);
}
