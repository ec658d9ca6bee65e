#include "unit.h"
#include "request/request.h"

static int setup(void **state)
{
        static struct request req;

        request_init(&req);
        *state = &req;
        return 0;
}

static int teardown(void **state)
{
        mem_fail_after(UINT64_MAX);
        request_done(*state);
        return 0;
}

static void a_new_request_has_no_descriptors(void **state)
{
        struct request *req = *state;

        assert_int_equal(req->stdin_fd, -1);
        for (int i = 0; i < 3; i++)
                assert_int_equal(req->output_fds[i], -1);
        assert_null(req->code);
}

static void code_may_be_empty_and_may_hold_nul(void **state)
{
        struct request *req = *state;

        assert_int_equal(request_set_code(req, "", 0, NULL), 0);
        assert_int_equal(req->code_length, 0);
        assert_string_equal(req->code, "");
        assert_int_equal(request_set_code(req, NULL, 0, NULL), 0);
        assert_int_equal(request_set_code(req, "a\0b", 3, NULL), 0);
        assert_int_equal(req->code_length, 3);
        assert_memory_equal(req->code, "a\0b\0", 4);
}

static void code_beyond_the_maximum_is_refused_with_a_remedy_and_the_old_code_stays(void **state)
{
        struct request *req = *state;
        struct error err = { 0 };

        assert_int_equal(request_set_code(req, "old", 3, NULL), 0);
        /* The size is checked before the bytes are touched. */
        assert_int_equal(request_set_code(req, "x", (size_t)REQUEST_CODE_MAX + 1, &err),
                         SBX_ETOOBIG);
        assert_has(err.message, "32 MiB");
        assert_true(err.hint[0] != '\0');
        assert_string_equal(req->code, "old");
}

static void code_of_exactly_the_maximum_is_taken(void **state)
{
        AUTO_FREE char *big = mem_alloc(REQUEST_CODE_MAX);

        assert_non_null(big);
        assert_int_equal(request_set_code(*state, big, REQUEST_CODE_MAX, NULL), 0);
}

static void names_are_printable_ascii_of_1_to_128(void **state)
{
        struct request *req = *state;
        char long_name[REQUEST_NAME_MAX + 2];
        struct error err = { 0 };

        memset(long_name, 'n', sizeof(long_name));
        long_name[REQUEST_NAME_MAX + 1] = '\0';
        assert_int_equal(request_set_name(req, long_name, &err), SBX_EINVAL);
        assert_int_equal(request_set_language(req, long_name, &err), SBX_EINVAL);
        long_name[REQUEST_NAME_MAX] = '\0';
        assert_int_equal(request_set_name(req, long_name, &err), 0);
        assert_string_equal(req->name, long_name);
        assert_int_equal(request_set_name(req, "", &err), SBX_EINVAL);
        assert_int_equal(request_set_name(req, "a\nb", &err), SBX_EINVAL);
        assert_lacks(err.message, "\n");
        assert_int_equal(request_set_name(req, "\x7f", &err), SBX_EINVAL);
        assert_int_equal(request_set_name(req, "\xc3\xa4", &err), SBX_EINVAL);
        assert_int_equal(request_set_language(req, "py\x1b", &err), SBX_EINVAL);
        assert_int_equal(request_set_name(req, NULL, &err), 0);
        assert_null(req->name);
}

static void file_names_may_hold_any_byte_but_are_bounded(void **state)
{
        struct request *req = *state;
        char name[5001];

        memset(name, 'f', sizeof(name) - 1);
        name[5000] = '\0';
        assert_int_equal(request_set_file_name(req, name, NULL), SBX_EINVAL);
        assert_int_equal(request_set_file_name(req, "", NULL), SBX_EINVAL);
        assert_int_equal(request_set_file_name(req, "a b\n\xff.py", NULL), 0);
        assert_string_equal(req->file_name, "a b\n\xff.py");
}

static void arguments_are_bounded_one_by_one_and_together(void **state)
{
        struct request *req = *state;
        AUTO_FREE char *big = mem_alloc(REQUEST_STRING_MAX + 1);
        struct error err = { 0 };
        int r = 0, count = 0;

        memset(big, 'a', REQUEST_STRING_MAX);
        assert_int_equal(request_add_argument(req, big, &err), SBX_ETOOBIG);
        big[REQUEST_STRING_MAX - 1] = '\0';
        for (; r == 0 && count < 100; count++)
                r = request_add_argument(req, big, &err);
        assert_int_equal(r, SBX_ETOOBIG);
        assert_has(err.message, "together");
        assert_int_equal(req->arguments.count, count - 1);
        assert_int_equal(count - 1, 7);
}

static void empty_arguments_are_arguments_and_have_an_end(void **state)
{
        struct request *req = *state;
        int r = 0;

        for (int i = 0; r == 0 && i <= REQUEST_STRINGS_MAX; i++)
                r = request_add_argument(req, "", NULL);
        assert_int_equal(r, SBX_ETOOBIG);
        assert_true(req->arguments.count > 1000);
        assert_string_equal(req->arguments.items[0], "");
}

static void standard_input_is_copied_and_bounded(void **state)
{
        struct request *req = *state;

        assert_int_equal(request_set_stdin(req, "in", 2, NULL), 0);
        assert_int_equal(req->stdin_length, 2);
        assert_int_equal(request_set_stdin(req, "x", (size_t)REQUEST_STDIN_MAX + 1, NULL),
                         SBX_ETOOBIG);
        assert_int_equal(request_set_stdin(req, NULL, 5, NULL), SBX_EINVAL);
        assert_string_equal(req->stdin_data, "in");
}

static void running_out_of_memory_keeps_the_old_values(void **state)
{
        struct request *req = *state;

        assert_int_equal(request_set_code(req, "old", 3, NULL), 0);
        assert_int_equal(request_set_language(req, "c", NULL), 0);
        mem_fail_after(0);
        assert_int_equal(request_set_code(req, "new", 3, NULL), SBX_ENOMEM);
        mem_fail_after(0);
        assert_int_equal(request_set_language(req, "python", NULL), SBX_ENOMEM);
        mem_fail_after(0);
        assert_int_equal(request_add_argument(req, "x", NULL), SBX_ENOMEM);
        assert_string_equal(req->code, "old");
        assert_string_equal(req->language, "c");
        assert_int_equal(req->arguments.count, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                CASE(a_new_request_has_no_descriptors),
                CASE(code_may_be_empty_and_may_hold_nul),
                CASE(code_beyond_the_maximum_is_refused_with_a_remedy_and_the_old_code_stays),
                CASE(code_of_exactly_the_maximum_is_taken),
                CASE(names_are_printable_ascii_of_1_to_128),
                CASE(file_names_may_hold_any_byte_but_are_bounded),
                CASE(arguments_are_bounded_one_by_one_and_together),
                CASE(empty_arguments_are_arguments_and_have_an_end),
                CASE(standard_input_is_copied_and_bounded),
                CASE(running_out_of_memory_keeps_the_old_values),
        };

        return RUN(tests);
}
