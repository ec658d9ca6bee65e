/* Bytes of a connection as the kernel counts them, over the loopback. */
#include "unit.h"
#include "base/fd.h"
#include "kernel/tcp_count.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <unistd.h>

struct pair {
        int asks, listener;
        int ours, theirs; /* the ends of a connection; ours is looked at */
        struct sockaddr_storage to;
        struct tcp_id id;
        struct tcp_counts counts;
};

static int open_listener(struct sockaddr_storage *ret_name)
{
        struct sockaddr_in name = { .sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t length = sizeof(*ret_name);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
        assert_int_equal(listen(fd, SOMAXCONN), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)ret_name, &length), 0);
        return fd;
}

static void connect_pair(struct pair *pair)
{
        pair->ours = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(
                connect(pair->ours, (struct sockaddr *)&pair->to, sizeof(struct sockaddr_in)), 0);
        assert_true(tcp_identify(pair->ours, &pair->to, &pair->id));
        pair->counts = (struct tcp_counts){ 0 };
}

static int set_up(void **state)
{
        static struct pair pair;

        pair.asks = tcp_count_open();
        assert_true(pair.asks >= 0);
        pair.listener = open_listener(&pair.to);
        connect_pair(&pair);
        pair.theirs = accept4(pair.listener, NULL, NULL, SOCK_CLOEXEC);
        assert_true(pair.theirs >= 0);
        *state = &pair;
        return 0;
}

static int tear_down(void **state)
{
        struct pair *pair = *state;

        fd_close(pair->asks);
        fd_close(pair->listener);
        fd_close(pair->ours);
        fd_close(pair->theirs);
        return 0;
}

/* What the other side sent is there. */
static void wait_for(const struct pair *pair, size_t size)
{
        char bytes[64];

        assert_int_equal(recv(pair->ours, bytes, size, MSG_WAITALL | MSG_PEEK), size);
}

static void wait_for_end(const struct pair *pair)
{
        char bytes[64];
        ssize_t n;

        do
                n = recv(pair->ours, bytes, sizeof(bytes), 0);
        while (n > 0);
        assert_int_equal(n, 0);
}

static void assert_counts(struct pair *pair, uint64_t received, uint64_t sent)
{
        assert_true(tcp_count(pair->asks, &pair->id, &pair->counts));
        assert_int_equal(pair->counts.received, received);
        assert_int_equal(pair->counts.sent, sent);
}

static void bytes_of_both_directions_are_counted(void **state)
{
        struct pair *pair = *state;

        assert_counts(pair, 0, 0);
        assert_int_equal(send(pair->ours, "1234567", 7, 0), 7);
        assert_int_equal(send(pair->theirs, "1", 1, 0), 1);
        wait_for(pair, 1);
        assert_counts(pair, 1, 7);
        assert_int_equal(send(pair->theirs, "23", 2, 0), 2);
        wait_for(pair, 3);
        assert_counts(pair, 3, 7);
}

static void the_end_of_what_is_received_is_no_byte(void **state)
{
        struct pair *pair = *state;

        assert_int_equal(send(pair->theirs, "123", 3, 0), 3);
        assert_int_equal(shutdown(pair->theirs, SHUT_WR), 0);
        wait_for_end(pair);
        assert_counts(pair, 3, 0);
        assert_counts(pair, 3, 0);
}

static void an_end_within_the_last_segment_is_no_byte(void **state)
{
        struct pair *pair = *state;
        int yes = 1;

        assert_int_equal(setsockopt(pair->theirs, IPPROTO_TCP, TCP_CORK, &yes, sizeof(yes)), 0);
        assert_int_equal(send(pair->theirs, "123", 3, 0), 3);
        assert_int_equal(shutdown(pair->theirs, SHUT_WR), 0);
        wait_for_end(pair);
        assert_counts(pair, 3, 0);
        assert_int_equal(pair->counts.segments, 1);
}

static void a_connection_that_is_gone_keeps_its_counts(void **state)
{
        struct pair *pair = *state;
        const struct linger at_once = { .l_onoff = 1 };

        assert_int_equal(send(pair->theirs, "123", 3, 0), 3);
        wait_for(pair, 3);
        assert_counts(pair, 3, 0);
        assert_int_equal(setsockopt(pair->ours, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)),
                         0);
        fd_close(pair->ours);
        pair->ours = -1;
        assert_false(tcp_count(pair->asks, &pair->id, &pair->counts));
        assert_int_equal(pair->counts.received, 3);
}

enum { TIMES = 2000, LOOKS = 20 };

/* Ends each connection as soon as it is there, or as soon as the other side has ended it. */
static void *end_them(void *argument)
{
        const struct pair *pair = argument;
        char byte;

        for (int i = 0; i < TIMES; i++) {
                int fd = accept4(pair->listener, NULL, NULL, SOCK_CLOEXEC);

                if (i % 2 == 0)
                        (void)!read(fd, &byte, 1);
                fd_close(fd);
        }
        return NULL;
}

/* The kernel's answer is made of parts that are read one after the other: an end that comes between
 * them is in the counters, and not yet in the state. */
static void an_end_that_comes_while_it_is_looked_at_is_no_byte(void **state)
{
        struct pair *pair = *state;
        pthread_t thread;
        uint64_t most = 0;

        assert_int_equal(pthread_create(&thread, NULL, end_them, pair), 0);
        for (int i = 0; i < TIMES; i++) {
                fd_close(pair->ours);
                connect_pair(pair);
                if (i % 2 == 0) {
                        fd_close(pair->ours);
                        pair->ours = -1;
                }
                for (int k = 0; k < LOOKS; k++) {
                        if (!tcp_count(pair->asks, &pair->id, &pair->counts))
                                break;
                        most = pair->counts.received > most ? pair->counts.received : most;
                }
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(most, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(bytes_of_both_directions_are_counted, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(the_end_of_what_is_received_is_no_byte, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(an_end_within_the_last_segment_is_no_byte, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_connection_that_is_gone_keeps_its_counts, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(an_end_that_comes_while_it_is_looked_at_is_no_byte,
                                                set_up, tear_down),
        };

        return RUN(tests);
}
