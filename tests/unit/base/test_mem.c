#include "unit.h"
#include "base/mem.h"

static void allocated_memory_is_zeroed(void **state)
{
        AUTO_FREE char *p = mem_alloc(64);

        assert_non_null(p);
        for (int i = 0; i < 64; i++)
                assert_int_equal(p[i], 0);
}

static void allocating_nothing_gives_something_that_can_be_freed(void **state)
{
        AUTO_FREE char *p = mem_alloc(0);
        AUTO_FREE char *q = mem_resize(NULL, 0, 8);

        assert_non_null(p);
        assert_non_null(q);
}

static void resizing_refuses_a_product_that_overflows(void **state)
{
        assert_null(mem_resize(NULL, SIZE_MAX / 2, 4));
}

static void the_chosen_allocation_fails_once_and_the_next_one_works(void **state)
{
        AUTO_FREE char *first = NULL;
        AUTO_FREE char *third = NULL;

        mem_fail_after(1);
        first = mem_alloc(1);
        assert_non_null(first);
        assert_null(mem_alloc(1));
        third = mem_alloc(1);
        assert_non_null(third);
}

static void copies_of_text_end_where_they_should(void **state)
{
        AUTO_FREE char *whole = mem_strdup("hello");
        AUTO_FREE char *part = mem_strndup("hello", 3);
        AUTO_FREE char *all = mem_strndup("hi", 100);
        AUTO_FREE char *bytes = mem_dup("a\0b", 3);

        assert_string_equal(whole, "hello");
        assert_string_equal(part, "hel");
        assert_string_equal(all, "hi");
        assert_memory_equal(bytes, "a\0b\0", 4);
        assert_null(mem_strdup(NULL));
        assert_null(mem_dup("x", SIZE_MAX));
}

static void taking_a_pointer_leaves_null_behind(void **state)
{
        char *p = mem_strdup("x");
        char *taken = TAKE(p);

        assert_null(p);
        assert_string_equal(taken, "x");
        mem_free(taken);
}

static void a_growing_array_keeps_what_it_holds(void **state)
{
        int *numbers = NULL;
        size_t capacity = 0;

        for (size_t i = 0; i < 100; i++) {
                assert_int_equal(MEM_GROW(numbers, i, capacity), 0);
                assert_true(capacity > i);
                numbers[i] = (int)i;
        }
        for (int i = 0; i < 100; i++)
                assert_int_equal(numbers[i], i);
        mem_free(numbers);
}

static void a_list_of_strings_is_null_terminated_and_copied(void **state)
{
        struct strlist list = { 0 }, copy = { 0 };

        for (int i = 0; i < 20; i++)
                assert_int_equal(strlist_addn(&list, "abcdef", (size_t)(i % 7)), 0);
        assert_int_equal(list.count, 20);
        assert_null(list.items[20]);
        assert_string_equal(list.items[3], "abc");
        assert_int_equal(strlist_copy(&copy, &list), 0);
        strlist_done(&list);
        assert_null(list.items);
        assert_int_equal(copy.count, 20);
        assert_string_equal(copy.items[6], "abcdef");
        assert_null(copy.items[20]);
        strlist_done(&copy);
}

static void a_list_stays_whole_when_memory_runs_out(void **state)
{
        struct strlist list = { 0 };

        for (uint64_t n = 0; n < 2; n++) {
                mem_fail_after(n);
                assert_int_equal(strlist_add(&list, "x"), -1);
                assert_int_equal(list.count, 0);
                strlist_done(&list);
        }
        mem_fail_after(UINT64_MAX);
        assert_int_equal(strlist_add(&list, "x"), 0);
        strlist_done(&list);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(allocated_memory_is_zeroed),
                cmocka_unit_test(allocating_nothing_gives_something_that_can_be_freed),
                cmocka_unit_test(resizing_refuses_a_product_that_overflows),
                cmocka_unit_test(the_chosen_allocation_fails_once_and_the_next_one_works),
                cmocka_unit_test(copies_of_text_end_where_they_should),
                cmocka_unit_test(taking_a_pointer_leaves_null_behind),
                cmocka_unit_test(a_growing_array_keeps_what_it_holds),
                cmocka_unit_test(a_list_of_strings_is_null_terminated_and_copied),
                cmocka_unit_test(a_list_stays_whole_when_memory_runs_out),
        };

        return RUN(tests);
}
