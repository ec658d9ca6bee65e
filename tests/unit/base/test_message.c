#include "unit.h"
#include "base/fd.h"
#include "base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static int make_pair(int pair[2])
{
        return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

/* How many descriptors this process has open. */
static int count_open(void)
{
        int count = 0;

        for (int fd = 0; fd < 256; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

static void bytes_and_descriptors_arrive_together_and_close_on_exec(void **state)
{
        int pair[2], ends[2], got = -1;
        size_t count = 0;
        char text[4] = "";

        assert_int_equal(make_pair(pair), 0);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(message_send(pair[0], "abc", 4, &ends[1], 1), 0);
        assert_int_equal(message_receive(pair[1], 0, text, 4, &got, 1, &count), 1);
        assert_string_equal(text, "abc");
        assert_int_equal(count, 1);
        assert_true(fcntl(got, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(write(got, "x", 1), 1);
        assert_int_equal(read(ends[0], text, 4), 1);
        for (int i = 0; i < 2; i++) {
                fd_close(pair[i]);
                fd_close(ends[i]);
        }
        fd_close(got);
}

static void a_message_of_another_size_is_refused_and_its_descriptors_closed(void **state)
{
        int pair[2], got[2];
        size_t count = 9;
        char text[8];
        int before;

        assert_int_equal(make_pair(pair), 0);
        before = count_open();
        assert_int_equal(message_send(pair[0], "abc", 3, pair, 2), 0);
        assert_int_equal(message_receive(pair[1], 0, text, sizeof(text), got, 2, &count), -1);
        assert_int_equal(errno, EPROTO);
        assert_int_equal(count, 0);
        assert_int_equal(count_open(), before);
        fd_close(pair[0]);
        fd_close(pair[1]);
}

static void more_descriptors_than_asked_for_are_refused_and_closed(void **state)
{
        int pair[2], got[1];
        size_t count = 9;
        char text[4];
        int before;

        assert_int_equal(make_pair(pair), 0);
        before = count_open();
        assert_int_equal(message_send(pair[0], "abc", 4, pair, 2), 0);
        assert_int_equal(message_receive(pair[1], 0, text, 4, got, 1, &count), -1);
        assert_int_equal(errno, EPROTO);
        assert_int_equal(count_open(), before);
        fd_close(pair[0]);
        fd_close(pair[1]);
}

static void nothing_there_and_nobody_there_are_told_apart(void **state)
{
        int pair[2];
        size_t count;
        char text[4];

        assert_int_equal(make_pair(pair), 0);
        assert_int_equal(message_receive(pair[1], MSG_DONTWAIT, text, 4, NULL, 0, &count), -1);
        assert_int_equal(errno, EAGAIN);
        fd_close(pair[0]);
        assert_int_equal(message_receive(pair[1], MSG_DONTWAIT, text, 4, NULL, 0, &count), 0);
        fd_close(pair[1]);
}

static void sending_to_nobody_is_an_error_and_no_signal(void **state)
{
        int pair[2];

        assert_int_equal(make_pair(pair), 0);
        fd_close(pair[1]);
        assert_int_equal(message_send(pair[0], "abc", 4, NULL, 0), -1);
        assert_int_equal(errno, EPIPE);
        fd_close(pair[0]);
}

static void last_words_of_one_that_did_not_listen_are_heard(void **state)
{
        int pair[2];
        size_t count;
        char text[4];

        assert_int_equal(make_pair(pair), 0);
        assert_int_equal(message_send(pair[1], "xyz", 4, NULL, 0), 0); /* nobody reads this */
        assert_int_equal(message_send(pair[0], "abc", 4, NULL, 0), 0);
        fd_close(pair[0]);
        assert_int_equal(message_receive(pair[1], MSG_DONTWAIT, text, 4, NULL, 0, &count), 1);
        assert_string_equal(text, "abc");
        assert_int_equal(message_receive(pair[1], MSG_DONTWAIT, text, 4, NULL, 0, &count), 0);
        fd_close(pair[1]);
}

static void too_many_descriptors_are_not_sent(void **state)
{
        int fds[MESSAGE_FDS_MAX + 1] = { 0 };

        assert_int_equal(message_send(0, "abc", 4, fds, MESSAGE_FDS_MAX + 1), -1);
        assert_int_equal(errno, EINVAL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(bytes_and_descriptors_arrive_together_and_close_on_exec),
                cmocka_unit_test(a_message_of_another_size_is_refused_and_its_descriptors_closed),
                cmocka_unit_test(more_descriptors_than_asked_for_are_refused_and_closed),
                cmocka_unit_test(nothing_there_and_nobody_there_are_told_apart),
                cmocka_unit_test(sending_to_nobody_is_an_error_and_no_signal),
                cmocka_unit_test(last_words_of_one_that_did_not_listen_are_heard),
                cmocka_unit_test(too_many_descriptors_are_not_sent),
        };

        return RUN(tests);
}
