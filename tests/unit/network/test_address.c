#include "unit.h"
#include "base/mem.h"
#include "network/address.h"

#include <errno.h>
#include <netinet/in.h>

static struct address parsed(const char *text)
{
        struct address address;

        assert_true(address_parse(text, &address));
        return address;
}

static void only_plain_forms_are_addresses(void **state)
{
        static const char *const no[] = { "",           "1",         "1.2.3",      "0x7f.0.0.1",
                                          "0177.0.0.1", "1.2.3.4.5", "3405803787", " 1.2.3.4",
                                          "fe80::1%lo", "example" };
        struct address address;

        for (size_t i = 0; i < ARRAY_SIZE(no); i++)
                assert_false(address_parse(no[i], &address));
}

static void a_mapped_address_is_the_ipv4_address(void **state)
{
        struct address a = parsed("203.0.113.10"), b = parsed("::ffff:203.0.113.10");
        char text[ADDRESS_TEXT_MAX];

        assert_true(address_equal(&a, &b));
        assert_true(address_is_v4(&b));
        assert_string_equal(address_text(&b, 80, text), "203.0.113.10:80");
        a = parsed("2001:db8::1");
        assert_string_equal(address_text(&a, 80, text), "[2001:db8::1]:80");
        assert_string_equal(address_text(&a, 0, text), "2001:db8::1");
}

static void special_addresses_are_known(void **state)
{
        static const char *const special[] = {
                "127.0.0.1",    "127.255.255.254", "0.0.0.0",
                "10.0.0.1",     "172.16.0.1",      "172.31.9.9",
                "192.168.1.1",  "169.254.169.254", "100.64.0.1",
                "224.0.0.1",    "255.255.255.255", "::",
                "::1",          "fe80::1",         "fd00::1",
                "ff02::1",      "::ffff:10.0.0.1", "64:ff9b::a00:1",
                "2002:a00:1::", "::10.0.0.1",
        };
        static const char *const ordinary[] = { "203.0.113.10", "172.32.0.1",  "100.128.0.1",
                                                "169.253.0.1",  "2001:db8::1", "2606:4700::1" };
        unsigned bits;

        for (size_t i = 0; i < ARRAY_SIZE(special); i++) {
                struct address address = parsed(special[i]);

                if (!address_special(&address, &bits))
                        fail_msg("%s is not special", special[i]);
        }
        for (size_t i = 0; i < ARRAY_SIZE(ordinary); i++) {
                struct address address = parsed(ordinary[i]);

                if (address_special(&address, &bits))
                        fail_msg("%s is special", ordinary[i]);
        }
}

static void socket_names_are_read_by_their_length(void **state)
{
        struct sockaddr_storage name;
        struct address address, wanted = parsed("203.0.113.10");
        uint16_t port;
        socklen_t length = address_to_socket(&wanted, 80, AF_INET, &name);

        assert_int_equal(address_from_socket(&name, length, &address, &port), 0);
        assert_true(address_equal(&address, &wanted));
        assert_int_equal(port, 80);
        assert_int_equal(address_from_socket(&name, length - 1, &address, &port), EINVAL);
        assert_int_equal(address_from_socket(&name, 1, &address, &port), EINVAL);
        assert_int_equal(address_from_socket(&name, 0, &address, &port), EINVAL);
        length = address_to_socket(&wanted, 80, AF_INET6, &name);
        assert_int_equal(address_from_socket(&name, length, &address, &port), 0);
        assert_true(address_equal(&address, &wanted));
        assert_int_equal(address_from_socket(&name, 23, &address, &port), EINVAL);
        name.ss_family = AF_UNIX;
        assert_int_equal(address_from_socket(&name, length, &address, &port), EAFNOSUPPORT);
        wanted = parsed("2001:db8::1");
        assert_int_equal(address_to_socket(&wanted, 80, AF_INET, &name), 0);
}

static void own_addresses_are_found_by_asking(void **state)
{
        struct address loopback = parsed("127.0.0.1"), other = parsed("203.0.113.250");

        assert_true(address_is_our_own(&loopback));
        assert_false(address_is_our_own(&other));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(only_plain_forms_are_addresses),
                cmocka_unit_test(a_mapped_address_is_the_ipv4_address),
                cmocka_unit_test(special_addresses_are_known),
                cmocka_unit_test(socket_names_are_read_by_their_length),
                cmocka_unit_test(own_addresses_are_found_by_asking),
        };

        return RUN(tests);
}
