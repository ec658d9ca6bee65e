/* What the worker is told: read as it was written, and refused where it makes no sense. */
#include "unit.h"
#include "wasm/orders.h"
#include "base/mem.h"

static void orders_are_read(void **state)
{
        struct wasm_orders orders;

        (void)state;
        assert_int_equal(
                wasm_orders_read("g6:pythonp5:/a b:m64,f100,w10:/workspace1:.r5:/data4:/d:1",
                                 &orders),
                0);
        assert_string_equal(orders.guest, "python");
        assert_string_equal(orders.parts, "/a b:");
        assert_int_equal(orders.memory_bytes, 64);
        assert_int_equal(orders.fuel, 100);
        assert_int_equal(orders.directory_count, 2);
        assert_true(orders.directories[0].writable);
        assert_string_equal(orders.directories[0].outside, ".");
        assert_false(orders.directories[1].writable);
        assert_string_equal(orders.directories[1].inside, "/data");
        assert_string_equal(orders.directories[1].outside, "/d:1");
        wasm_orders_done(&orders);
}

static void nonsense_is_refused(void **state)
{
        static const char *const wrong[] = {
                "",
                "x",
                "g",
                "g6:python",
                "g9:pythonp1:/",
                "p1:/",
                "g1:ap1:/m",
                "g1:ap1:/m1",
                "g1:ap1:/m-1,",
                "g1:ap1:/m99999999999999999999999,",
                "g1:ap1:/w1:a",
                "g1:ap1:/w1:a99999999999999999999:b",
                "g1:ap1:/f1,?",
        };
        struct wasm_orders orders;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                assert_int_equal(wasm_orders_read(wrong[i], &orders), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(orders_are_read),
                cmocka_unit_test(nonsense_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
