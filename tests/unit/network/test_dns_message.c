#include "unit.h"
#include "base/mem.h"
#include "network/dns_message.h"

#include <string.h>

static const uint8_t asked[] = "\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x04GooD\x07"
                               "example\0\0\x01\0\x01";
enum { ASKED = sizeof(asked) - 1 };

static void a_question_is_read_and_answered(void **state)
{
        struct dns_question question;
        struct dns_answer answer = { .code = DNS_OK, .count = 2, .ttl = 60 }, read;
        uint8_t out[DNS_UDP_MAX];
        size_t length;

        assert_true(address_parse("203.0.113.10", &answer.addresses[0]));
        assert_true(address_parse("2001:db8::1", &answer.addresses[1]));
        assert_int_equal(dns_parse_question(asked, ASKED, &question), DNS_OK);
        assert_string_equal(question.name, "good.example");
        assert_true(question.is_ordinary_name);
        length = dns_write_answer(&question, &answer, out, sizeof(out));
        assert_true(dns_parse_answer(out, length, 0x1234, "good.example", DNS_A, &read));
        assert_int_equal(read.count, 1); /* the other one is no A */
        assert_true(address_equal(&read.addresses[0], &answer.addresses[0]));
        assert_int_equal(read.ttl, 60);
        assert_false(dns_parse_answer(out, length, 0x1235, "good.example", DNS_A, &read));
        assert_false(dns_parse_answer(out, length, 0x1234, "other.example", DNS_A, &read));
        assert_false(dns_parse_answer(out, length, 0x1234, "good.example", DNS_AAAA, &read));
        assert_false(dns_parse_answer(asked, ASKED, 0x1234, "good.example", DNS_A, &read));
}

static void every_cut_question_is_refused(void **state)
{
        struct dns_question question;

        for (size_t length = 0; length < ASKED; length++) {
                AUTO_FREE uint8_t *copy = mem_dup(asked, length);
                int code = dns_parse_question(copy, length, &question);

                assert_int_not_equal(code, DNS_OK);
                assert_int_equal(code, length < 12 ? -1 : DNS_FORMAT_ERROR);
        }
}

static void answers_are_as_long_as_the_asker_takes(void **state)
{
        struct dns_question question;
        struct dns_answer answer = { .code = DNS_OK, .count = DNS_ADDRESSES_MAX };
        uint8_t out[DNS_UDP_MAX];

        for (size_t i = 0; i < DNS_ADDRESSES_MAX; i++)
                assert_true(address_parse("203.0.113.10", &answer.addresses[i]));
        assert_int_equal(dns_parse_question(asked, ASKED, &question), DNS_OK);
        assert_int_equal(question.answer_max, DNS_UDP_PLAIN);
        for (size_t size = 0; size < 600; size++)
                assert_true(dns_write_answer(&question, &answer, out, size) <= size);
}

static void names_with_odd_bytes_are_not_ordinary(void **state)
{
        uint8_t odd[ASKED];
        struct dns_question question;

        memcpy(odd, asked, ASKED);
        odd[14] = '.';
        assert_int_equal(dns_parse_question(odd, ASKED, &question), DNS_OK);
        assert_false(question.is_ordinary_name);
        odd[14] = 0;
        assert_int_equal(dns_parse_question(odd, ASKED, &question), DNS_OK);
        assert_false(question.is_ordinary_name);
}

static void pointers_in_a_question_and_loops_in_an_answer_are_refused(void **state)
{
        static const uint8_t pointer[] = "\x12\x34\x01\0\0\x01\0\0\0\0\0\0\xc0\x0c\0\x01\0\x01";
        static const uint8_t loop[] = "\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0\x01"
                                      "a\0\0\x01\0\x01\xc0\x13\0\x01\0\x01\0\0\0\0\0\x04\1\2\3\4";
        struct dns_question question;
        struct dns_answer answer;

        assert_int_equal(dns_parse_question(pointer, sizeof(pointer) - 1, &question),
                         DNS_FORMAT_ERROR);
        assert_false(dns_parse_answer(loop, sizeof(loop) - 1, 0x1234, "a", DNS_A, &answer));
}

static void our_questions_are_questions(void **state)
{
        uint8_t out[DNS_UDP_PLAIN];
        char name[300];
        struct dns_question question;
        size_t length = dns_write_question(7, "good.example", DNS_AAAA, out, sizeof(out));

        assert_int_equal(dns_parse_question(out, length, &question), DNS_OK);
        assert_string_equal(question.name, "good.example");
        assert_int_equal(question.type, DNS_AAAA);
        assert_int_equal(question.answer_max, DNS_UDP_MAX);
        assert_int_equal(dns_write_question(7, "a..b", DNS_A, out, sizeof(out)), 0);
        memset(name, 'a', sizeof(name));
        name[64] = '\0';
        assert_int_equal(dns_write_question(7, name, DNS_A, out, sizeof(out)), 0);
        for (size_t i = 0; i < sizeof(name); i++)
                name[i] = i % 50 == 49 ? '.' : 'a';
        name[298] = '\0';
        assert_int_equal(dns_write_question(7, name, DNS_A, out, sizeof(out)), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_question_is_read_and_answered),
                cmocka_unit_test(every_cut_question_is_refused),
                cmocka_unit_test(answers_are_as_long_as_the_asker_takes),
                cmocka_unit_test(names_with_odd_bytes_are_not_ordinary),
                cmocka_unit_test(pointers_in_a_question_and_loops_in_an_answer_are_refused),
                cmocka_unit_test(our_questions_are_questions),
        };

        return RUN(tests);
}
