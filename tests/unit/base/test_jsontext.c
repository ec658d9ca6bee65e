/* JSON written by hand: whatever a guest puts into a text, the line stays one line of JSON. */
#include "unit.h"
#include "base/jsontext.h"
#include "base/mem.h"

#include <jansson.h>

static void is_written(const char *text, const char *expected)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        jsontext_string(&out, text);
        assert_string_equal(out.data, expected);
}

static void plain_text_stays(void **state)
{
        is_written("hello", "\"hello\"");
        is_written("", "\"\"");
        is_written(NULL, "null");
        is_written("Grüße 漢字 🙂", "\"Grüße 漢字 🙂\"");
}

static void what_json_demands_is_escaped(void **state)
{
        is_written("a\"b\\c\nd\te", "\"a\\\"b\\\\c\\nd\\u0009e\"");
}

static void what_a_terminal_obeys_is_escaped(void **state)
{
        is_written("\033[2J", "\"\\u001b[2J\"");
        is_written("\x7f", "\"\\u007f\"");
        is_written("\xc2\x9b"
                   "31m",
                   "\"\\u009b31m\"");
        is_written("\r", "\"\\u000d\"");
}

static void what_deceives_the_eye_is_escaped(void **state)
{
        is_written("a\xe2\x80\xae"
                   "b",
                   "\"a\\u202eb\""); /* right to left */
        is_written("a\xe2\x80\xa8"
                   "b",
                   "\"a\\u2028b\""); /* a line of its own */
        is_written("\xef\xbb\xbf"
                   "x",
                   "\"\\ufeffx\""); /* no width */
}

static void bytes_that_are_no_text_are_shown(void **state)
{
        is_written("a\xff\xfe", "\"a\\\\xff\\\\xfe\"");
        is_written("\xe2\x80", "\"\\\\xe2\\\\x80\"");
        is_written("\xed\xa0\x80", "\"\\\\xed\\\\xa0\\\\x80\""); /* half of a pair */
}

static void every_byte_makes_valid_json(void **state)
{
        for (int first = 1; first < 256; first++) {
                for (int second = 1; second < 256; second++) {
                        const char text[] = { (char)first, (char)second, 'z', '\0' };
                        AUTO_STRBUF struct strbuf out = { 0 };
                        json_t *value;

                        jsontext_string(&out, text);
                        value = json_loads(out.data, JSON_DECODE_ANY, NULL);
                        if (!value)
                                fail_msg("%d %d: %s", first, second, out.data);
                        for (size_t i = 0; i < out.length; i++)
                                assert_true((unsigned char)out.data[i] >= 0x20);
                        json_decref(value);
                }
        }
}

static void fields_are_separated(void **state)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        strbuf_adds(&out, "{");
        jsontext_put_string(&out, "a", "x");
        jsontext_put_integer(&out, "b", -3);
        jsontext_put_size(&out, "c", UINT64_MAX);
        jsontext_put_seconds(&out, "d", 1.5);
        jsontext_put_seconds(&out, "e", 2);
        jsontext_put_bool(&out, "f", true);
        jsontext_put_null(&out, "g");
        strbuf_adds(&out, "}");
        assert_string_equal(out.data, "{\"a\":\"x\",\"b\":-3,\"c\":9223372036854775807,\"d\":1.5,"
                                      "\"e\":2.0,\"f\":true,\"g\":null}");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(plain_text_stays),
                cmocka_unit_test(what_json_demands_is_escaped),
                cmocka_unit_test(what_a_terminal_obeys_is_escaped),
                cmocka_unit_test(what_deceives_the_eye_is_escaped),
                cmocka_unit_test(bytes_that_are_no_text_are_shown),
                cmocka_unit_test(every_byte_makes_valid_json),
                cmocka_unit_test(fields_are_separated),
        };

        return RUN(tests);
}
