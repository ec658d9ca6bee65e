#include "unit.h"
#include "base/mem.h"
#include "network/rules.h"

static struct rules one(const char *text)
{
        struct rules rules = { 0 };

        assert_int_equal(rules_add(&rules, text, NULL), 0);
        return rules;
}

static bool reaches(const char *rule, const char *address, uint16_t port)
{
        struct rules rules = one(rule);
        struct address parsed;
        bool r;

        assert_true(address_parse(address, &parsed));
        r = rules_have_address(&rules, &parsed, port, false);
        rules_done(&rules);
        return r;
}

static bool names(const char *rule, const char *name, uint16_t port)
{
        struct rules rules = one(rule);
        bool r = rules_have_name(&rules, name, port, false);

        rules_done(&rules);
        return r;
}

static void addresses_networks_and_ports(void **state)
{
        assert_true(reaches("203.0.113.10", "203.0.113.10", 80));
        assert_true(reaches("203.0.113.10:80", "::ffff:203.0.113.10", 80));
        assert_false(reaches("203.0.113.10:80", "203.0.113.10", 81));
        assert_true(reaches("203.0.113.10:80-90", "203.0.113.10", 90));
        assert_false(reaches("203.0.113.10:80-90", "203.0.113.10", 91));
        assert_true(reaches("203.0.113.0/24", "203.0.113.255", 1));
        assert_false(reaches("203.0.113.0/25", "203.0.113.128", 1));
        assert_true(reaches("0.0.0.0/0", "8.8.8.8", 65535));
        assert_false(reaches("0.0.0.0/0", "2001:db8::1", 1));
        assert_true(reaches("2001:db8::/33", "2001:db8:7fff::1", 1));
        assert_false(reaches("2001:db8::/33", "2001:db8:8000::1", 1));
        assert_true(reaches("::/0", "2001:db8::1", 1));
        assert_false(reaches("::/0", "8.8.8.8", 1));
        assert_true(reaches("[2001:db8::1]:443", "2001:db8::1", 443));
        assert_true(reaches("2001:db8::1", "2001:db8::1", 443));
        assert_false(reaches("example.org", "203.0.113.10", 443));
        assert_false(reaches("203.0.113.10:53/udp", "203.0.113.10", 53));
}

static void names_and_names_beneath(void **state)
{
        assert_true(names("Example.ORG", "example.org", 1));
        assert_true(names("example.org:443", "example.org", 443));
        assert_false(names("example.org:443", "example.org", 80));
        assert_false(names("example.org", "www.example.org", 443));
        assert_true(names("*.example.org", "www.example.org", 443));
        assert_true(names("*.example.org", "a.b.example.org", 443));
        assert_false(names("*.example.org", "example.org", 443));
        assert_false(names("*.example.org", "badexample.org", 443));
        assert_false(names("*.example.org", ".example.org.evil", 443));
        assert_false(names("203.0.113.10", "203.0.113.10", 443));
}

static void nonsense_is_refused(void **state)
{
        static const char *const no[] = { "",          "*.",          "a:0",        "a:65536",
                                          "a:9-8",     "a:x",         "1.2.3.4/33", "::1/129",
                                          "1.2.3.4/x", "[::1",        "[::1]x",     "a/24",
                                          "a*b",       "1.2.3.4:80-", "a:80,81" };
        struct rules rules = { 0 };

        for (size_t i = 0; i < ARRAY_SIZE(no); i++)
                if (rules_add(&rules, no[i], NULL) == 0)
                        fail_msg("'%s' is taken", no[i]);
        rules_done(&rules);
}

static void a_narrow_rule_names_outright(void **state)
{
        struct rules rules = one("10.0.0.0/8:80");
        struct address address;

        assert_true(address_parse("10.9.8.7", &address));
        assert_true(rules_have_narrow_address(&rules, &address, 96 + 8, 0, false));
        assert_true(rules_have_narrow_address(&rules, &address, 96 + 8, 80, false));
        assert_false(rules_have_narrow_address(&rules, &address, 96 + 8, 81, false));
        assert_false(rules_have_narrow_address(&rules, &address, 128, 80, false));
        rules_done(&rules);
}

static void a_whole_name_is_denied_before_it_is_asked(void **state)
{
        struct rules all = one("*.example.org"), some = one("www.example.org:25");

        assert_true(rules_have_name_wholly(&all, "www.example.org"));
        assert_false(rules_have_name_wholly(&some, "www.example.org"));
        assert_true(rules_have_name_anyhow(&some, "www.example.org"));
        rules_done(&all);
        rules_done(&some);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(addresses_networks_and_ports),
                cmocka_unit_test(names_and_names_beneath),
                cmocka_unit_test(nonsense_is_refused),
                cmocka_unit_test(a_narrow_rule_names_outright),
                cmocka_unit_test(a_whole_name_is_denied_before_it_is_asked),
        };

        return RUN(tests);
}
