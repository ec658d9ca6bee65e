/* Destinations for UDP: how long a name's are open. */
#include "unit.h"
#include "base/clock.h"
#include "base/fd.h"
#include "network/internal.h"

#include <netinet/in.h>
#include <unistd.h>

static const uint64_t second = 1000000000;
static unsigned refusals;

static void say(enum network_word word, uint64_t id, const struct network_usage *usage,
                const char *what, const char *why)
{
        if (word == NETWORK_REFUSED)
                refusals++;
}

/* A socket that takes any address, as those of the guest's namespace do. */
static int relay_socket(void)
{
        int one = 1, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        assert_true(fd >= 0);
        assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof(one)), 0);
        return fd;
}

static struct network *new_network(int relay)
{
        struct strlist allow = { 0 };
        const struct network_order order = { .connects = true, .allow = &allow, .rate_max = 1 };
        struct network *network = NULL;

        assert_int_equal(strlist_add(&allow, "time.example:5123/udp"), 0);
        assert_int_equal(network_new(&order, &network, NULL), 0);
        strlist_done(&allow);
        network->guest.say = say;
        network->guest.relay_fds[0] = relay;
        refusals = 0;
        return network;
}

static void door_is_open_as_long_as_the_answer_is_good(void **state)
{
        AUTO_CLOSE int relay = relay_socket();
        struct network *network = new_network(relay);
        struct address address;

        assert_true(address_parse("203.0.113.10", &address));
        assert_false(relay_has(network, &address, 5123));
        relay_given(network, "time.example", &address, clock_now_ns() + 60 * second);
        assert_true(relay_has(network, &address, 5123));
        assert_false(relay_has(network, &address, 5124));
        network_free(network);
}

static void door_is_shut_when_the_answer_is_too_old_and_opened_by_the_next(void **state)
{
        AUTO_CLOSE int relay = relay_socket();
        struct network *network = new_network(relay);
        struct address address;

        assert_true(address_parse("203.0.113.10", &address));
        relay_given(network, "time.example", &address, clock_now_ns());
        assert_false(relay_has(network, &address, 5123));
        relay_given(network, "time.example", &address, clock_now_ns() + 60 * second);
        assert_true(relay_has(network, &address, 5123));
        assert_int_equal(refusals, 0);
        network_free(network);
}

static void name_does_not_open_a_private_address(void **state)
{
        AUTO_CLOSE int relay = relay_socket();
        struct network *network = new_network(relay);
        struct address address;

        assert_int_equal(rules_add(&network->allow, "10.0.0.7:80", NULL), 0);
        assert_int_equal(rules_add(&network->allow, "10.0.0.7:5124/udp", NULL), 0);
        assert_true(address_parse("10.0.0.7", &address));
        relay_given(network, "time.example", &address, clock_now_ns() + 60 * second);
        assert_false(relay_has(network, &address, 5123));
        assert_int_equal(refusals, 1);
        network_free(network);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(door_is_open_as_long_as_the_answer_is_good),
                cmocka_unit_test(door_is_shut_when_the_answer_is_too_old_and_opened_by_the_next),
                cmocka_unit_test(name_does_not_open_a_private_address),
        };

        return RUN(tests);
}
