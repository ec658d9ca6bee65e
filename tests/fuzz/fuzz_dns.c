/*
 * Messages of the domain name system from foreign bytes: as a guest's question and as a server's
 * answer. What is written from what was read must be read again as the same.
 */
#include "network/dns_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what)
{
        if (condition)
                return;
        (void)fprintf(stderr, "%s\n", what);
        abort();
}

static void check_question(const uint8_t *data, size_t size)
{
        struct dns_question question, again;
        struct dns_answer answer = { .code = DNS_OK, .count = DNS_ADDRESSES_MAX, .ttl = 60 };
        uint8_t out[DNS_UDP_MAX], asked[DNS_UDP_MAX];
        size_t length;
        int code = dns_parse_question(data, size, &question);

        if (code < 0)
                return;
        require(strlen(question.name) <= DNS_NAME_MAX, "a name too long");
        length = dns_write_answer(&question, &answer, out, question.answer_max);
        require(length <= question.answer_max, "an answer too long");
        if (code != DNS_OK || !question.is_ordinary_name)
                return;
        length = dns_write_question(7, question.name, (enum dns_type)question.type, asked,
                                    sizeof(asked));
        if (length == 0)
                return;
        require(dns_parse_question(asked, length, &again) == DNS_OK, "our question is none");
        require(strcmp(again.name, question.name) == 0 && again.type == question.type,
                "our question is another");
}

static void check_answer(const uint8_t *data, size_t size)
{
        static const char *const names[] = { "good.example", "a", "" };
        struct dns_answer answer;

        if (size < 2)
                return;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                for (int v4 = 0; v4 < 2; v4++)
                        if (dns_parse_answer(data, size, (uint16_t)(data[0] << 8 | data[1]),
                                             names[i], v4 ? DNS_A : DNS_AAAA, &answer))
                                require(answer.count <= DNS_ADDRESSES_MAX, "too many addresses");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        check_question(data, size);
        check_answer(data, size);
        return 0;
}
