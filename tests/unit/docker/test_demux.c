#include "unit.h"
#include "base/str.h"
#include "docker/demux.h"

#include <string.h>

static const char secret[INSIDE_SECRET] = "aab-secret-aab-secret-ab";
static const char seal[INSIDE_SECRET] = "seal";

struct heard {
        struct strbuf outputs[3];
};

static void hear(void *context, unsigned stream, const void *data, size_t length)
{
        struct heard *heard = context;

        strbuf_add(&heard->outputs[stream], data, length);
}

static void forget(struct heard *heard)
{
        for (int i = 0; i < 3; i++)
                strbuf_done(&heard->outputs[i]);
}

static void add_frame(struct strbuf *stream, unsigned char output, const void *data, size_t length)
{
        const unsigned char head[DEMUX_HEAD] = { output,
                                                 0,
                                                 0,
                                                 0,
                                                 (unsigned char)(length >> 24),
                                                 (unsigned char)(length >> 16),
                                                 (unsigned char)(length >> 8),
                                                 (unsigned char)length };

        strbuf_add(stream, head, sizeof(head));
        strbuf_add(stream, data, length);
}

static void add_record(struct strbuf *stream, unsigned char output, int status)
{
        struct inside_end end = { .wait_status = status };

        memcpy(end.secret, secret, INSIDE_SECRET);
        memcpy(end.seal, seal, INSIDE_SECRET);
        add_frame(stream, output, &end, sizeof(end));
}

/* Whatever the pieces are in which it comes. */
static void outputs_are_told_apart_and_the_record_is_kept_back(void **state)
{
        AUTO_STRBUF struct strbuf stream = { 0 };

        add_frame(&stream, 1, "hello a", 7);
        add_frame(&stream, 2, "aab-secret-aab-secreX", 21); /* almost */
        add_frame(&stream, 1, "aaaab-secret!", 13);
        add_record(&stream, 1, 0);
        add_record(&stream, 2, 512);
        for (size_t size = 1; size <= stream.length; size++) {
                struct demux demux;
                struct heard heard = { 0 };
                struct inside_end end;

                demux_init(&demux, secret, seal);
                for (size_t at = 0; at < stream.length; at += size) {
                        size_t left = stream.length - at;

                        assert_null(demux_end(&demux, &end));
                        assert_true(demux_feed(&demux, stream.data + at, left < size ? left : size,
                                               hear, &heard));
                }
                assert_non_null(demux_end(&demux, &end));
                assert_int_equal(end.wait_status, 512);
                assert_string_equal(heard.outputs[1].data, "hello aaaaab-secret!");
                assert_string_equal(heard.outputs[2].data, "aab-secret-aab-secreX");
                forget(&heard);
        }
}

static void what_is_no_stream_is_noticed(void **state)
{
        static const unsigned char heads[][DEMUX_HEAD] = {
                { 0, 0, 0, 0, 0, 0, 0, 1 },       { 3, 0, 0, 0, 0, 0, 0, 1 },
                { 1, 1, 0, 0, 0, 0, 0, 1 },       { 1, 0, 0, 0, 255, 0, 0, 1 },
                { 'H', 'T', 'T', 'P', '/', '1' },
        };

        for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
                struct demux demux;
                struct heard heard = { 0 };

                demux_init(&demux, secret, seal);
                assert_false(demux_feed(&demux, heads[i], DEMUX_HEAD, hear, &heard));
                assert_null(heard.outputs[1].data);
                forget(&heard);
        }
}

static void a_stream_that_breaks_off_loses_nothing(void **state)
{
        AUTO_STRBUF struct strbuf stream = { 0 };
        struct demux demux;
        struct heard heard = { 0 };
        struct inside_end end;

        add_frame(&stream, 1, "so aab-sec", 10);
        demux_init(&demux, secret, seal);
        assert_true(demux_feed(&demux, stream.data, stream.length, hear, &heard));
        assert_string_equal(heard.outputs[1].data, "so ");
        demux_flush(&demux, hear, &heard);
        assert_string_equal(heard.outputs[1].data, "so aab-sec");
        assert_null(demux_end(&demux, &end));
        forget(&heard);
}

static void feed(struct demux *demux, struct heard *heard, const char *text)
{
        AUTO_STRBUF struct strbuf frame = { 0 };

        add_frame(&frame, 1, text, strlen(text));
        assert_true(demux_feed(demux, frame.data, frame.length, hear, heard));
}

/* Somebody may be waiting for the last byte of a line before he answers. */
static void a_byte_that_looks_like_the_record_is_let_go_once(void **state)
{
        AUTO_STRBUF struct strbuf end = { 0 };
        struct demux demux;
        struct heard heard = { 0 };
        struct inside_end record;

        demux_init(&demux, secret, seal);
        feed(&demux, &heard, "first a");
        assert_string_equal(heard.outputs[1].data, "first ");
        assert_true(demux_holds_few(&demux));
        demux_release(&demux, hear, &heard);
        assert_string_equal(heard.outputs[1].data, "first a");
        assert_false(demux_holds_few(&demux));
        demux_release(&demux, hear, &heard);
        feed(&demux, &heard, "a");
        demux_release(&demux, hear, &heard);
        assert_string_equal(heard.outputs[1].data, "first aa");
        feed(&demux, &heard, "aab-X");
        assert_string_equal(heard.outputs[1].data, "first aaaab-X");
        feed(&demux, &heard, "last aa");
        demux_release(&demux, hear, &heard);
        add_record(&end, 1, 0);
        add_record(&end, 2, 7);
        assert_true(demux_feed(&demux, end.data, end.length, hear, &heard));
        assert_non_null(demux_end(&demux, &record));
        assert_int_equal(record.wait_status, 7);
        assert_string_equal(heard.outputs[1].data, "first aaaab-Xlast aa");
        assert_null(heard.outputs[2].data);
        forget(&heard);
}

static void what_may_well_be_the_record_is_not_let_go(void **state)
{
        AUTO_STRBUF struct strbuf frame = { 0 };
        struct demux demux;
        struct heard heard = { 0 };

        demux_init(&demux, secret, seal);
        feed(&demux, &heard, "aab");
        assert_false(demux_holds_few(&demux));
        add_frame(&frame, 2, "ab", 2);
        assert_true(demux_feed(&demux, frame.data, frame.length - 1, hear, &heard));
        assert_false(demux_holds_few(&demux)); /* the rest of the frame is on its way */
        demux_release(&demux, hear, &heard);
        assert_null(heard.outputs[1].data);
        assert_null(heard.outputs[2].data);
        forget(&heard);
}

/* A program that found the secret out, writes a record of its own, and another that is cut short by
 * the true one. */
static void a_record_without_the_seal_is_output(void **state)
{
        AUTO_STRBUF struct strbuf stream = { 0 }, forged = { 0 };
        struct inside_end end = { .wait_status = 1 };

        memcpy(end.secret, secret, INSIDE_SECRET);
        strbuf_add(&forged, &end, sizeof(end));
        strbuf_add(&forged, secret, INSIDE_SECRET);
        strbuf_adds(&forged, "and more");
        add_frame(&stream, 1, forged.data, forged.length);
        add_record(&stream, 1, 0);
        add_frame(&stream, 2, forged.data, forged.length);
        add_record(&stream, 2, 512);
        for (size_t size = 1; size <= stream.length; size++) {
                struct demux demux;
                struct heard heard = { 0 };

                demux_init(&demux, secret, seal);
                for (size_t at = 0; at < stream.length; at += size) {
                        size_t left = stream.length - at;

                        assert_true(demux_feed(&demux, stream.data + at, left < size ? left : size,
                                               hear, &heard));
                        demux_release(&demux, hear, &heard);
                }
                assert_non_null(demux_end(&demux, &end));
                assert_int_equal(end.wait_status, 512);
                assert_memory_equal(heard.outputs[1].data, forged.data, forged.length);
                assert_memory_equal(heard.outputs[2].data, forged.data, forged.length);
                forget(&heard);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(outputs_are_told_apart_and_the_record_is_kept_back),
                cmocka_unit_test(what_is_no_stream_is_noticed),
                cmocka_unit_test(a_stream_that_breaks_off_loses_nothing),
                cmocka_unit_test(a_byte_that_looks_like_the_record_is_let_go_once),
                cmocka_unit_test(what_may_well_be_the_record_is_not_let_go),
                cmocka_unit_test(a_record_without_the_seal_is_output),
        };

        return RUN(tests);
}
