#include "unit.h"
#include "proxy/request.h"

static enum request_state parse(const char *text, struct proxy_request *ret_request)
{
        memset(ret_request, 0, sizeof(*ret_request));
        return request_parse(text, strlen(text), ret_request);
}

static void a_tunnel_names_host_and_port(void **state)
{
        struct proxy_request request;

        assert_int_equal(parse("CONNECT Example.ORG:443 HTTP/1.1\r\nHost: x\r\n\r\n", &request),
                         REQUEST_WHOLE);
        assert_true(request.is_tunnel);
        assert_string_equal(request.host, "example.org");
        assert_int_equal(request.port, 443);
        assert_int_equal(parse("CONNECT example.org.:8443 HTTP/1.0\r\n\r\nrest", &request),
                         REQUEST_WHOLE);
        assert_string_equal(request.host, "example.org");
        assert_int_equal(request.head_length, strlen("CONNECT example.org.:8443 HTTP/1.0\r\n\r\n"));
        assert_int_equal(parse("CONNECT [2001:DB8::1]:443 HTTP/1.1\r\n\r\n", &request),
                         REQUEST_WHOLE);
        assert_string_equal(request.host, "2001:db8::1");
}

static void a_head_is_incomplete_until_its_empty_line(void **state)
{
        static const char text[] = "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n";
        struct proxy_request request;

        for (size_t i = 0; i < sizeof(text) - 1; i++)
                assert_int_equal(request_parse(text, i, &request), REQUEST_INCOMPLETE);
        assert_int_equal(request_parse(text, sizeof(text) - 1, &request), REQUEST_WHOLE);
}

static void what_is_no_request_to_a_proxy_is_refused(void **state)
{
        static const char *const wrong[] = {
                "GET / HTTP/1.1\r\n\r\n",
                "GET https://a/ HTTP/1.1\r\n\r\n",
                "GET http:/// HTTP/1.1\r\n\r\n",
                "GET http://a:0/ HTTP/1.1\r\n\r\n",
                "GET http://a:65536/ HTTP/1.1\r\n\r\n",
                "GET http://a:80x/ HTTP/1.1\r\n\r\n",
                "GET http://user@a/ HTTP/1.1\r\n\r\n",
                "GET http://a%2eb/ HTTP/1.1\r\n\r\n",
                "GET http://a/ HTTP/2.0\r\n\r\n",
                "GET http://a/\r\n\r\n",
                "get http://a/ HTTP/1.1\r\n\r\n",
                "CONNECT a HTTP/1.1\r\n\r\n",
                "CONNECT a: HTTP/1.1\r\n\r\n",
                "CONNECT :443 HTTP/1.1\r\n\r\n",
                "CONNECT [::1:443 HTTP/1.1\r\n\r\n",
                "CONNECT [a.example]:443 HTTP/1.1\r\n\r\n",
                "CONNECT a:443 HTTP/1.1 \r\n\r\n",
                "CONNECT  a:443 HTTP/1.1\r\n\r\n",
                "CONNECT a:443 HTTP/1.1\nHost: a\n\n",
                "CONNECT a:443 HTTP/1.1\r\n folded: x\r\n\r\n",
                "CONNECT a:443 HTTP/1.1\r\nno colon\r\n\r\n",
                "CONNECT a:443 HTTP/1.1\r\nHost : a\r\n\r\n",
                "CONNECT a:443 HTTP/1.1\r\nX: a\rb\r\n\r\n",
                "\x16\x03\x01\x02",
                "\r\n\r\n",
        };
        struct proxy_request request;

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
                if (parse(wrong[i], &request) != REQUEST_WRONG)
                        fail_msg("taken: %s", wrong[i]);
}

static void a_head_without_end_is_refused_at_the_maximum(void **state)
{
        static char text[REQUEST_HEAD_MAX + 10];
        struct proxy_request request;

        memset(text, 'A', sizeof(text));
        assert_int_equal(request_parse(text, REQUEST_HEAD_MAX - 1, &request), REQUEST_INCOMPLETE);
        assert_int_equal(request_parse(text, REQUEST_HEAD_MAX, &request), REQUEST_WRONG);
        assert_int_equal(request_parse(text, sizeof(text), &request), REQUEST_WRONG);
}

static void the_server_sees_origin_form_and_its_own_name(void **state)
{
        static const char text[] = "GET http://Example.org:8080/a?b#c HTTP/1.1\r\n"
                                   "Host: elsewhere\r\nProxy-Authorization: secret\r\n"
                                   "Connection: keep-alive\r\nAccept: */*\r\n\r\nBODY";
        struct proxy_request request;
        char out[1024];
        size_t n;

        assert_int_equal(parse(text, &request), REQUEST_WHOLE);
        assert_false(request.is_tunnel);
        assert_int_equal(request.port, 8080);
        n = request_rewrite(text, &request, out, sizeof(out));
        out[n] = '\0';
        assert_string_equal(out, "GET /a?b HTTP/1.1\r\nHost: example.org:8080\r\nAccept: */*\r\n"
                                 "Connection: close\r\n\r\n");
        assert_int_equal(request_rewrite(text, &request, out, 20), 0);
}

static void a_target_without_a_path_gets_one(void **state)
{
        static const char *const texts[] = { "GET http://a HTTP/1.1\r\n\r\n",
                                             "GET http://a?q HTTP/1.1\r\n\r\n" };
        static const char *const lines[] = { "GET / HTTP/1.1\r\n", "GET /?q HTTP/1.1\r\n" };
        struct proxy_request request;
        char out[256];

        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(parse(texts[i], &request), REQUEST_WHOLE);
                assert_int_equal(request.port, 80);
                assert_true(request_rewrite(texts[i], &request, out, sizeof(out)) > 0);
                assert_memory_equal(out, lines[i], strlen(lines[i]));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_tunnel_names_host_and_port),
                cmocka_unit_test(a_head_is_incomplete_until_its_empty_line),
                cmocka_unit_test(what_is_no_request_to_a_proxy_is_refused),
                cmocka_unit_test(a_head_without_end_is_refused_at_the_maximum),
                cmocka_unit_test(the_server_sees_origin_form_and_its_own_name),
                cmocka_unit_test(a_target_without_a_path_gets_one),
        };

        return RUN(tests);
}
