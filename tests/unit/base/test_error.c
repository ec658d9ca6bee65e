#include "unit.h"
#include "base/error.h"

#include <errno.h>

static void setting_an_error_returns_its_code_and_keeps_the_message(void **state)
{
        struct error err = { 0 };

        assert_int_equal(error_set(&err, SBX_EINVAL, "bad '%s'", "x"), SBX_EINVAL);
        assert_int_equal(err.code, SBX_EINVAL);
        assert_int_equal(err.sys_errno, 0);
        assert_string_equal(err.message, "bad 'x'");
}

static void a_null_error_is_allowed_everywhere(void **state)
{
        assert_int_equal(error_set(NULL, SBX_EPOLICY, "x"), SBX_EPOLICY);
        assert_int_equal(error_set_errno(NULL, "x"), SBX_ESYSTEM);
        assert_int_equal(error_set_nomem(NULL), SBX_ENOMEM);
        error_hint(NULL, "x");
        error_prefix(NULL, "x");
}

static void a_failed_system_call_is_reported_with_its_reason_and_errno_is_kept(void **state)
{
        struct error err = { 0 };

        errno = ENOENT;
        assert_int_equal(error_set_errno(&err, "open '%s'", "/x"), SBX_ESYSTEM);
        assert_int_equal(err.sys_errno, ENOENT);
        assert_has(err.message, "open '/x': ");
        assert_has(err.message, strerror(ENOENT));
        assert_int_equal(errno, ENOENT);
}

static void a_new_error_drops_the_hint_of_the_old_one(void **state)
{
        struct error err = { 0 };

        (void)error_set(&err, SBX_EINVAL, "first");
        error_hint(&err, "do %d", 1);
        assert_string_equal(err.hint, "do 1");
        (void)error_set(&err, SBX_EINVAL, "second");
        assert_string_equal(err.hint, "");
}

static void a_prefix_stands_before_the_message_and_leaves_the_hint(void **state)
{
        struct error err = { 0 };

        (void)error_set(&err, SBX_EINVAL, "inner");
        error_hint(&err, "remedy");
        error_prefix(&err, "outer %d", 2);
        assert_string_equal(err.message, "outer 2: inner");
        assert_string_equal(err.hint, "remedy");
}

static void messages_that_are_too_long_are_cut_and_terminated(void **state)
{
        struct error err = { 0 };
        char text[3 * ERROR_MESSAGE_MAX];

        memset(text, 'a', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        (void)error_set(&err, SBX_EINVAL, "%s", text);
        assert_int_equal(strlen(err.message), ERROR_MESSAGE_MAX - 1);
        error_hint(&err, "%s", text);
        assert_int_equal(strlen(err.hint), ERROR_HINT_MAX - 1);
        error_prefix(&err, "%s", text);
        assert_int_equal(strlen(err.message), ERROR_MESSAGE_MAX - 1);
        errno = EIO;
        (void)error_set_errno(&err, "%s", text);
        assert_int_equal(strlen(err.message), ERROR_MESSAGE_MAX - 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(setting_an_error_returns_its_code_and_keeps_the_message),
                cmocka_unit_test(a_null_error_is_allowed_everywhere),
                cmocka_unit_test(
                        a_failed_system_call_is_reported_with_its_reason_and_errno_is_kept),
                cmocka_unit_test(a_new_error_drops_the_hint_of_the_old_one),
                cmocka_unit_test(a_prefix_stands_before_the_message_and_leaves_the_hint),
                cmocka_unit_test(messages_that_are_too_long_are_cut_and_terminated),
        };

        return RUN(tests);
}
