/* The monitor over real pipes, with a socket pair where the helper would be. */
#include "monitor/monitor_helpers.h"
#include "base/mem.h"

#include <signal.h>
#include <sys/eventfd.h>

static void outcomes_follow_from_how_the_program_ended(void **state)
{
        static const struct {
                int wait_status;
                enum outcome outcome;
                int exit_code, signal;
        } all[] = {
                { 0, OUTCOME_OK, 0, 0 },
                { 3 << 8, OUTCOME_FAILED, 3, 0 },
                { 255 << 8, OUTCOME_FAILED, 255, 0 },
                { SIGSEGV, OUTCOME_SIGNALED, -1, SIGSEGV },
                { SIGKILL, OUTCOME_SIGNALED, -1, SIGKILL },
                /* It sent it itself: no time was used. */
                { SIGXCPU, OUTCOME_SIGNALED, -1, SIGXCPU },
                { SIGXFSZ, OUTCOME_DISK_LIMIT, -1, SIGXFSZ },
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                struct bench bench;

                set_up(&bench);
                tell(&bench, REPORT_READY, 0);
                tell(&bench, REPORT_EXITED, all[i].wait_status);
                tell(&bench, REPORT_GONE, 0);
                end(&bench);
                assert_int_equal(watch(&bench), 0);
                assert_int_equal(bench.result->run.outcome, all[i].outcome);
                assert_int_equal(bench.result->run.exit_code, all[i].exit_code);
                assert_int_equal(bench.result->run.signal, all[i].signal);
                tear_down(&bench);
        }
}

static void a_program_that_never_started_is_no_outcome_of_its_own(void **state)
{
        struct bench bench;

        set_up(&bench);
        tell(&bench, REPORT_FAILED, 0);
        end(&bench);
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_REFUSED);
        assert_true(bench.run.has_failed);
        assert_int_equal(bench.run.failed.stage, STAGE_SECCOMP);
        tear_down(&bench);
}

static void a_helper_that_dies_silently_is_noticed(void **state)
{
        struct bench bench;

        set_up(&bench);
        end(&bench);
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_REFUSED);
        tear_down(&bench);
        /* The same after the program was started: ended from outside. */
        set_up(&bench);
        tell(&bench, REPORT_READY, 0);
        end(&bench);
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_INTERNAL_ERROR);
        tear_down(&bench);
}

static void a_helper_that_speaks_nonsense_is_given_up(void **state)
{
        struct bench bench;

        set_up(&bench);
        tell(&bench, REPORT_READY, 0);
        assert_int_equal(send(bench.helper, "nonsense", 8, 0), 8);
        for (int i = 0; i < 3; i++) {
                close(bench.output[i]);
                bench.output[i] = -1;
        }
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_INTERNAL_ERROR);
        assert_has(bench.result->run.broken_why, "cannot be understood");
        tear_down(&bench);
}

static void a_program_that_is_not_started_in_time_is_given_up(void **state)
{
        struct bench bench;

        set_up(&bench);
        bench.order.setup_ms = 1;
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_INTERNAL_ERROR);
        assert_has(bench.result->run.broken_why, "not started in time");
        tear_down(&bench);
}

static void output_is_kept_up_to_its_cap_and_counted_beyond(void **state)
{
        struct bench bench;
        char much[151];

        memset(much, 'x', 150);
        much[150] = '\0';
        set_up(&bench);
        write_text(&bench, 1, much);
        write_text(&bench, 2, "to the error stream");
        tell(&bench, REPORT_READY, 0);
        tell(&bench, REPORT_EXITED, 0);
        end(&bench);
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_OK);
        assert_int_equal(bench.result->run.out.kept.length, 100);
        assert_int_equal(bench.result->run.out.bytes, 150);
        assert_true(bench.result->run.out.truncated);
        assert_string_equal(bench.result->run.err.kept.data, "to the error stream");
        assert_false(bench.result->run.err.truncated);
        tear_down(&bench);
}

static void exactly_the_cap_is_not_too_much(void **state)
{
        struct bench bench;
        char text[101];

        memset(text, 'x', 100);
        text[100] = '\0';
        set_up(&bench);
        write_text(&bench, 1, text);
        tell(&bench, REPORT_READY, 0);
        tell(&bench, REPORT_EXITED, 0);
        end(&bench);
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.out.kept.length, 100);
        assert_false(bench.result->run.out.truncated);
        tear_down(&bench);
}

static void output_is_passed_on_byte_for_byte(void **state)
{
        struct bench bench;
        int ends[2];
        char got[64];

        set_up(&bench);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        bench.order.output_fds[1] = ends[1];
        bench.order.output_caps[1] = 10;
        assert_int_equal(write(bench.output[1],
                               "a\0b\xff"
                               "cdefghijkl",
                               14),
                         14);
        tell(&bench, REPORT_READY, 0);
        tell(&bench, REPORT_EXITED, 0);
        end(&bench);
        assert_int_equal(watch(&bench), 0);
        close(ends[1]);
        assert_int_equal(read(ends[0], got, sizeof(got)), 10);
        assert_memory_equal(got,
                            "a\0b\xff"
                            "cdefgh",
                            10);
        assert_int_equal(bench.result->run.out.kept.length, 0);
        assert_int_equal(bench.result->run.out.bytes, 14);
        assert_true(bench.result->run.out.truncated);
        close(ends[0]);
        tear_down(&bench);
}

static void a_reader_that_is_gone_is_an_error(void **state)
{
        struct bench bench;
        int ends[2];

        set_up(&bench);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        close(ends[0]);
        bench.order.output_fds[1] = ends[1];
        write_text(&bench, 1, "nobody reads this");
        tell(&bench, REPORT_READY, 0);
        end(&bench);
        assert_int_equal(watch(&bench), SBX_EOUTPUT);
        assert_int_equal(bench.err.code, SBX_EOUTPUT);
        assert_has(bench.err.message, "output");
        close(ends[1]);
        tear_down(&bench);
}

static void input_is_fed_and_closed(void **state)
{
        struct bench bench;
        struct watch watch = { .run = &bench.run, .order = &bench.order };
        char got[64];

        set_up(&bench);
        bench.order.stdin_data = "some input";
        bench.order.stdin_length = 10;
        streams_feed_input(&watch);
        assert_int_equal(read(bench.output[0], got, sizeof(got)), 10);
        assert_memory_equal(got, "some input", 10);
        assert_int_equal(read(bench.output[0], got, sizeof(got)), 0); /* and its end */
        assert_int_equal(bench.run.streams[0], -1);
        assert_true(watch.stdin_done);
        tear_down(&bench);
}

static void more_input_than_fits_is_fed_as_it_is_taken(void **state)
{
        struct bench bench;
        struct watch watch = { .run = &bench.run, .order = &bench.order };
        static char much[1 << 20], chunk[1 << 16];
        size_t total = 0;

        set_up(&bench);
        memset(much, 'x', sizeof(much));
        bench.order.stdin_data = much;
        bench.order.stdin_length = sizeof(much);
        while (!watch.stdin_done) {
                ssize_t n;

                streams_feed_input(&watch);
                while ((n = read(bench.output[0], chunk, sizeof(chunk))) > 0)
                        total += (size_t)n;
        }
        assert_int_equal(total, sizeof(much));
        tear_down(&bench);
}

static void input_that_nobody_reads_is_no_failure(void **state)
{
        struct bench bench;
        static char much[1 << 20];

        set_up(&bench);
        bench.order.stdin_data = much;
        bench.order.stdin_length = sizeof(much);
        close(bench.output[0]);
        bench.output[0] = -1;
        tell(&bench, REPORT_READY, 0);
        tell(&bench, REPORT_EXITED, 0);
        end(&bench);
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_OK);
        tear_down(&bench);
}

static void a_run_that_was_called_off_is_cancelled(void **state)
{
        struct bench bench;
        int cancel = eventfd(1, EFD_CLOEXEC);

        set_up(&bench);
        bench.order.cancel_fd = cancel;
        tell(&bench, REPORT_READY, 0);
        /* No keeper: the monitor ends the connection, and that is the end of everything. */
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_CANCELLED);
        assert_int_equal(bench.result->run.exit_code, -1);
        close(cancel);
        tear_down(&bench);
}

static void a_run_that_was_called_off_before_its_program_began_took_no_time(void **state)
{
        struct bench bench;
        int cancel = eventfd(1, EFD_CLOEXEC);

        set_up(&bench);
        bench.order.cancel_fd = cancel;
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_CANCELLED);
        assert_int_equal(bench.result->run.usage.startup_ns, 0);
        assert_int_equal(bench.result->run.usage.wall_ns, 0);
        close(cancel);
        tear_down(&bench);
}

static void the_wall_clock_ends_what_does_not_end(void **state)
{
        struct bench bench;

        set_up(&bench);
        bench.order.timeout_ms = 20;
        tell(&bench, REPORT_READY, 0);
        close(bench.output[1]);
        close(bench.output[2]);
        bench.output[1] = bench.output[2] = -1;
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_TIMEOUT);
        assert_int_equal(bench.result->violation_count, 1);
        assert_string_equal(bench.result->violations[0].kind, "timeout");
        tear_down(&bench);
}

static void too_much_output_can_end_the_run(void **state)
{
        struct bench bench;
        char much[151];

        memset(much, 'x', 150);
        much[150] = '\0';
        set_up(&bench);
        bench.order.output_kill = true;
        write_text(&bench, 2, much);
        tell(&bench, REPORT_READY, 0);
        close(bench.output[1]);
        close(bench.output[2]);
        bench.output[1] = bench.output[2] = -1;
        assert_int_equal(watch(&bench), 0);
        assert_int_equal(bench.result->run.outcome, OUTCOME_OUTPUT_LIMIT);
        assert_int_equal(bench.result->run.err.kept.length, 100);
        tear_down(&bench);
}

static void output_there_is_no_memory_for_is_an_error(void **state)
{
        struct bench bench;
        int r;

        set_up(&bench);
        write_text(&bench, 1, "text");
        tell(&bench, REPORT_READY, 0);
        tell(&bench, REPORT_EXITED, 0);
        end(&bench);
        mem_fail_after(0);
        r = watch(&bench);
        mem_fail_after(UINT64_MAX);
        assert_int_equal(r, SBX_ENOMEM);
        tear_down(&bench);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(outcomes_follow_from_how_the_program_ended),
                cmocka_unit_test(a_program_that_never_started_is_no_outcome_of_its_own),
                cmocka_unit_test(a_helper_that_dies_silently_is_noticed),
                cmocka_unit_test(a_helper_that_speaks_nonsense_is_given_up),
                cmocka_unit_test(a_program_that_is_not_started_in_time_is_given_up),
                cmocka_unit_test(output_is_kept_up_to_its_cap_and_counted_beyond),
                cmocka_unit_test(exactly_the_cap_is_not_too_much),
                cmocka_unit_test(output_is_passed_on_byte_for_byte),
                cmocka_unit_test(a_reader_that_is_gone_is_an_error),
                cmocka_unit_test(input_is_fed_and_closed),
                cmocka_unit_test(more_input_than_fits_is_fed_as_it_is_taken),
                cmocka_unit_test(input_that_nobody_reads_is_no_failure),
                cmocka_unit_test(a_run_that_was_called_off_is_cancelled),
                cmocka_unit_test(a_run_that_was_called_off_before_its_program_began_took_no_time),
                cmocka_unit_test(the_wall_clock_ends_what_does_not_end),
                cmocka_unit_test(too_much_output_can_end_the_run),
                cmocka_unit_test(output_there_is_no_memory_for_is_an_error),
        };

        return RUN(tests);
}
