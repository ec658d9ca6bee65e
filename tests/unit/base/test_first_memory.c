/* The allocations as the program has them: with the area that its first pieces come from. */
#define SBX_FIRST_MEMORY
#include "../../../src/base/first_memory.c"
#include "../../../src/base/mem.c"

#include "unit.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 20000 };

/* Tests share the one area, which must not be used up by those that go before. */
static size_t before;

static int remember_the_end(void **state)
{
        (void)state;
        before = used;
        return 0;
}

static int go_back(void **state)
{
        (void)state;
        memset(area + before, 0, used - before);
        memset(given_back, 0, sizeof(given_back));
        used = before;
        return 0;
}

static void first_pieces_come_out_of_the_area_apart_and_zeroed(void **state)
{
        char *p = mem_alloc(3), *q = mem_alloc(100);

        assert_true(first_memory_owns(p) && first_memory_owns(q));
        assert_true(q >= p + 16);
        assert_int_equal((uintptr_t)q % ALIGNMENT, 0);
        memset(q, 'x', 100);
        mem_free(q);
        q = mem_alloc(100);
        for (int i = 0; i < 100; i++)
                assert_int_equal(q[i], 0);
}

static void what_was_given_back_is_the_next_of_its_size(void **state)
{
        char *p = mem_alloc(40), *q = mem_alloc(200);

        mem_free(p);
        mem_free(q);
        assert_ptr_equal(mem_alloc(250), q);
        assert_ptr_equal(mem_alloc(48), p);
        assert_ptr_not_equal(mem_alloc(48), p);
}

static void a_piece_grows_where_it_is_or_moves_with_what_is_in_it(void **state)
{
        char *p = mem_alloc(33), *moved;

        (void)strcpy(p, "hello");
        assert_ptr_equal(mem_resize(p, 1, 48), p);
        assert_ptr_equal(mem_resize(p, 1, 2), p);
        moved = mem_resize(p, 1, 5000);
        assert_ptr_not_equal(moved, p);
        assert_string_equal(moved, "hello");
        assert_ptr_equal(mem_alloc(48), p);
        moved = mem_resize(moved, 1, 1 << 20); /* out of the area */
        assert_false(first_memory_owns(moved));
        assert_string_equal(moved, "hello");
        moved = mem_resize(moved, 1, 2 << 20);
        assert_string_equal(moved, "hello");
        mem_free(moved);
}

static void each_size_holds_what_is_asked_for(void **state)
{
        for (size_t bytes = 1; bytes <= 64 << 10; bytes += bytes / 5 + 1) {
                char *p = mem_alloc(bytes), *q = mem_alloc(bytes);

                assert_true(first_memory_owns(p) && first_memory_size(p) >= bytes);
                memset(p, 'p', bytes);
                memset(q, 'q', bytes);
                assert_int_equal(p[bytes - 1], 'p');
                assert_int_equal((uintptr_t)p % ALIGNMENT, 0);
                mem_free(p);
                mem_free(q);
        }
        assert_true(used <= AREA);
}

static void what_does_not_fit_comes_from_the_allocator(void **state)
{
        char *large = mem_alloc((64 << 10) + 1), *p = NULL;

        assert_non_null(large);
        assert_false(first_memory_owns(large));
        mem_free(large);
        for (int i = 0; i <= AREA / 1024; i++) {
                p = mem_alloc(1024);
                assert_non_null(p);
                if (!first_memory_owns(p))
                        break;
        }
        assert_false(first_memory_owns(p));
        mem_free(p);
        assert_true(used <= AREA);
}

/* Each fills what it got with its own letter, and nobody's is ever written over. */
static void *take_and_give(void *letter)
{
        for (int i = 0; i < ROUNDS; i++) {
                size_t size = (size_t)(i % 61) + 1, grown = size * 2;
                char *p = mem_alloc(size);

                if (!p)
                        return "out of memory";
                memset(p, *(char *)letter, size);
                p = mem_resize(p, 1, grown);
                for (size_t at = 0; at < size; at++)
                        if (p[at] != *(char *)letter)
                                return "written over";
                mem_free(p);
        }
        return NULL;
}

static void threads_never_share_a_piece(void **state)
{
        char letters[THREADS] = "abcd";
        pthread_t threads[THREADS];

        for (int i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &letters[i]), 0);
        for (int i = 0; i < THREADS; i++) {
                void *complaint;

                assert_int_equal(pthread_join(threads[i], &complaint), 0);
                assert_null(complaint);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, remember_the_end, go_back)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(first_pieces_come_out_of_the_area_apart_and_zeroed),
                TEST(what_was_given_back_is_the_next_of_its_size),
                TEST(a_piece_grows_where_it_is_or_moves_with_what_is_in_it),
                TEST(each_size_holds_what_is_asked_for),
                TEST(what_does_not_fit_comes_from_the_allocator),
                TEST(threads_never_share_a_piece),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
