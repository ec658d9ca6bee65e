/* Who may be reached: what our resolver gave, for as long as it is good. */
#include "unit.h"
#include "base/clock.h"
#include "network/internal.h"

static void say(enum network_word word, uint64_t id, const struct network_usage *usage,
                const char *what, const char *why)
{
}

static struct network *new_network(const char *allowed)
{
        struct strlist allow = { 0 };
        const struct network_order order = { .connects = true, .allow = &allow, .rate_max = 1 };
        struct network *network = NULL;

        assert_int_equal(strlist_add(&allow, allowed), 0);
        assert_int_equal(network_new(&order, &network, NULL), 0);
        strlist_done(&allow);
        network->guest.say = say;
        return network;
}

static struct dns_answer answer_of(const char *address, uint32_t ttl)
{
        struct dns_answer answer = { .count = 1, .ttl = ttl };

        assert_true(address_parse(address, &answer.addresses[0]));
        return answer;
}

static void address_is_reached_as_long_as_the_answer_is_good(void **state)
{
        struct network *network = new_network("good.example:443");
        struct dns_answer answer = answer_of("203.0.113.10", 600);
        struct address address = answer.addresses[0];
        uint64_t before = clock_now_ns();

        assert_non_null(decide_connect(network, &address, 443));
        decide_answer(network, "good.example", &answer);
        assert_null(decide_connect(network, &address, 443));
        assert_non_null(decide_connect(network, &address, 80));
        assert_int_equal(network->given_count, 1);
        assert_true(network->given[0].expires_ns >= before + UINT64_C(630) * 1000000000);
        network->given[0].expires_ns = clock_now_ns();
        assert_non_null(decide_connect(network, &address, 443));
        assert_string_equal(decide_name_of(network, &address), "good.example");
        network_free(network);
}

static void answer_is_good_neither_too_short_nor_too_long(void **state)
{
        static const struct {
                uint32_t ttl;
                uint64_t seconds;
        } rows[] = { { 0, 90 }, { 86400, 3630 } };

        for (size_t i = 0; i < 2; i++) {
                struct network *network = new_network("good.example");
                struct dns_answer answer = answer_of("203.0.113.10", rows[i].ttl);
                uint64_t before = clock_now_ns();

                decide_answer(network, "good.example", &answer);
                assert_in_range(network->given[0].expires_ns, before + rows[i].seconds * 1000000000,
                                clock_now_ns() + rows[i].seconds * 1000000000);
                network_free(network);
        }
}

static void name_that_was_only_resolved_is_no_way(void **state)
{
        struct network *network = new_network("good.example");
        struct dns_answer answer = answer_of("203.0.113.11", 600);
        struct address address = answer.addresses[0];

        decide_answer(network, "other.example", &answer);
        assert_int_equal(answer.count, 1);
        assert_non_null(decide_connect(network, &address, 443));
        network_free(network);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(address_is_reached_as_long_as_the_answer_is_good),
                cmocka_unit_test(answer_is_good_neither_too_short_nor_too_long),
                cmocka_unit_test(name_that_was_only_resolved_is_no_way),
        };

        return RUN(tests);
}
