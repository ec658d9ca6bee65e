/* How the monitor comes to its end, whatever others do. */
#include "monitor/monitor_helpers.h"

enum { REFILLS_MAX = 1000 };

struct refill {
        int fd;
        unsigned count;
};

/* Somebody else who was sent the program's end of a stream writes again as soon as there is room.
 */
static void write_again(void *context, int stream, const void *data, size_t length)
{
        struct refill *refill = context;

        (void)stream;
        if (refill->count++ < REFILLS_MAX)
                assert_int_equal(write(refill->fd, data, length), (ssize_t)length);
}

static void what_others_write_when_the_run_is_over_is_not_waited_for(void **state)
{
        struct bench bench;
        struct refill refill = { 0 };

        set_up(&bench);
        bench.order.output_caps[1] = UINT64_MAX;
        write_text(&bench, 1, "the program's");
        tell(&bench, REPORT_READY, 0);
        tell(&bench, REPORT_EXITED, 0);
        /* Hears that before it reads the first byte. */
        assert_int_equal(run_receive(&bench.run), 1);
        assert_int_equal(run_receive(&bench.run), 1);
        refill.fd = bench.output[1];
        bench.order.listener.output = write_again;
        bench.order.listener.context = &refill;
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_OK);
        assert_string_equal(bench.result->run.out.kept.data, "the program's");
        assert_int_equal(refill.count, 1);
        tear_down(&bench);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_others_write_when_the_run_is_over_is_not_waited_for),
        };

        return RUN(tests);
}
