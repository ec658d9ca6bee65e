#include "unit.h"
#include "proxy/allow.h"

#include <arpa/inet.h>

static bool is_public(const char *text)
{
        union allow_address address = { 0 };

        if (strchr(text, ':')) {
                address.v6.sin6_family = AF_INET6;
                assert_int_equal(inet_pton(AF_INET6, text, &address.v6.sin6_addr), 1);
        } else {
                address.v4.sin_family = AF_INET;
                assert_int_equal(inet_pton(AF_INET, text, &address.v4.sin_addr), 1);
        }
        return allow_is_public(&address);
}

static void addresses_of_this_machine_and_of_private_networks_are_told(void **state)
{
        static const char *const local[] = {
                "0.0.0.0",
                "10.1.2.3",
                "100.64.0.1",
                "127.0.0.1",
                "127.9.9.9",
                "169.254.1.1",
                "169.254.169.254",
                "172.16.0.1",
                "172.31.255.255",
                "192.168.1.1",
                "198.18.0.1",
                "224.0.0.1",
                "255.255.255.255",
                "::",
                "::1",
                "fe80::1",
                "fc00::1",
                "fd00:ec2::254",
                "ff02::1",
                "::ffff:127.0.0.1",
                "::ffff:10.0.0.1",
                "64:ff9b::a9fe:a9fe",
                "2002:7f00:1::",
        };
        static const char *const public[] = {
                "1.1.1.1",      "9.255.255.255",  "11.0.0.0",         "100.128.0.0",
                "126.0.0.1",    "172.32.0.0",     "192.167.1.1",      "223.255.255.255",
                "2606:4700::1", "::ffff:1.1.1.1", "64:ff9b::101:101",
        };

        for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
                if (is_public(local[i]))
                        fail_msg("taken for public: %s", local[i]);
        for (size_t i = 0; i < sizeof(public) / sizeof(public[0]); i++)
                if (!is_public(public[i]))
                        fail_msg("taken for local: %s", public[i]);
}

static void only_the_very_place_is_found(void **state)
{
        static struct allow_list list;

        assert_true(allow_add(&list, "Example.org:443", false));
        assert_true(allow_add(&list, "[::1]:80", true));
        assert_non_null(allow_find(&list, "example.org", 443));
        assert_non_null(allow_find(&list, "::1", 80));
        assert_null(allow_find(&list, "example.org", 80));
        assert_null(allow_find(&list, "a.example.org", 443));
        assert_null(allow_find(&list, "example.org.evil", 443));
        assert_null(allow_find(&list, "xample.org", 443));
}

static void what_is_no_place_is_not_added(void **state)
{
        static struct allow_list list;

        assert_false(allow_add(&list, "example.org", false));
        assert_false(allow_add(&list, "*.example.org:443", false));
        assert_false(allow_add(&list, "http://example.org:443", false));
        assert_false(allow_add(&list, "", false));
        assert_int_equal(list.count, 0);
        for (int i = 0; i < ALLOW_PLACES_MAX; i++)
                assert_true(allow_add(&list, "a:1", false));
        assert_false(allow_add(&list, "a:1", false));
}

static void a_place_far_away_does_not_get_a_near_address(void **state)
{
        static struct allow_list list;

        assert_true(allow_add(&list, "127.0.0.1:1", false));
        assert_true(allow_add(&list, "127.0.0.1:1", true));
        assert_string_equal(allow_resolve(&list.places[0]), "its address is of a private network");
        assert_int_equal(list.places[0].address_count, 0);
        assert_null(allow_resolve(&list.places[1]));
        assert_int_equal(list.places[1].address_count, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(addresses_of_this_machine_and_of_private_networks_are_told),
                cmocka_unit_test(only_the_very_place_is_found),
                cmocka_unit_test(what_is_no_place_is_not_added),
                cmocka_unit_test(a_place_far_away_does_not_get_a_near_address),
        };

        return RUN(tests);
}
