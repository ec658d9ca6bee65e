/* The library as somebody who embeds it uses it: threads, signals of their own, cancellation. */
#include "../engine/engine_helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

enum { THREADS = 8, RUNS = 10 };

static void a_program_runs_and_every_protection_holds(void **state)
{
        static const char *const names[] = { "mount_namespace", "network", "seccomp",
                                             "capabilities",    "memory",  "timeout" };
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "echo hello; echo oops >&2; exit 3");
        sbx_result *result;

        assert_int_equal(sbx_request_set_name(req, "mine", NULL), 0);
        result = run(engine, req);
        has_status(result, "failed");
        assert_int_equal(sbx_result_exit_code(result), 3);
        assert_int_equal(sbx_result_process_exit_code(result), 3);
        assert_string_equal(sbx_result_stdout(result, NULL), "hello\n");
        assert_string_equal(sbx_result_stderr(result, NULL), "oops\n");
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                const char *by = NULL;

                assert_true(sbx_result_enforced(result, names[i], &by));
                assert_non_null(by);
        }
        assert_false(sbx_result_enforced(result, "no such protection", NULL));
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
        has_no_children();
}

struct worker {
        pthread_t thread;
        sbx_engine *engine;
        int number;
        int good;
};

static void *work(void *argument)
{
        struct worker *worker = argument;

        for (int i = 0; i < RUNS; i++) {
                char code[64], expected[32];
                sbx_request *req;
                sbx_result *result;

                (void)snprintf(code, sizeof(code), "echo %d-%d", worker->number, i);
                (void)snprintf(expected, sizeof(expected), "%d-%d\n", worker->number, i);
                req = sbx_request_new("shell", code);
                result = req ? sbx_run(worker->engine, req, NULL) : NULL;
                worker->good += result && sbx_result_success(result) &&
                                strcmp(sbx_result_stdout(result, NULL), expected) == 0;
                sbx_result_free(result);
                sbx_request_free(req);
        }
        return NULL;
}

static void many_threads_share_one_engine(void **state)
{
        sbx_engine *engine = new_engine();
        struct worker workers[THREADS];
        int before = count_descriptors();

        for (int i = 0; i < THREADS; i++) {
                workers[i] = (struct worker){ .engine = engine, .number = i };
                assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
                assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
                assert_int_equal(workers[i].good, RUNS);
        }
        assert_int_equal(count_descriptors(), before);
        sbx_engine_free(engine);
        has_no_children();
}

static void an_engine_with_one_place_makes_the_others_wait(void **state)
{
        sbx_engine_options options = { .size = sizeof(options), .max_runs = 1 };
        sbx_engine *engine = sbx_engine_new(&options, NULL);
        struct worker workers[2];

        assert_non_null(engine);
        for (int i = 0; i < 2; i++) {
                workers[i] = (struct worker){ .engine = engine, .number = i };
                assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < 2; i++) {
                assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
                assert_int_equal(workers[i].good, RUNS);
        }
        sbx_engine_free(engine);
}

/* Tells by a pipe when the program is at work. */
static void hear_output(const sbx_event *event, void *userdata)
{
        if (strcmp(event->kind, "stdout") == 0)
                (void)!write(*(int *)userdata, "x", 1);
}

static void a_started_run_can_be_cancelled(void **state)
{
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "echo up; while :; do :; done");
        sbx_execution *execution;
        sbx_result *result;
        int ends[2];
        char byte;

        assert_int_equal(pipe(ends), 0);
        assert_int_equal(sbx_request_set_event_handler(req, hear_output, &ends[1], NULL), 0);
        execution = sbx_start(engine, req, NULL);
        assert_non_null(execution);
        assert_int_equal(read(ends[0], &byte, 1), 1);
        sbx_cancel(execution);
        result = sbx_wait(execution, NULL);
        assert_non_null(result);
        has_status(result, "cancelled");
        assert_false(sbx_result_success(result));
        assert_string_equal(sbx_result_stdout(result, NULL), "up\n");
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
        close(ends[0]);
        close(ends[1]);
        has_no_children();
}

static void a_run_cancelled_before_it_starts_does_not_go_on(void **state)
{
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "while :; do :; done");
        sbx_result *result;

        sbx_request_cancel(req);
        result = run(engine, req);
        has_status(result, "cancelled");
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
}

static void a_caller_that_ignores_sigchld_gets_its_result(void **state)
{
        void (*before)(int) = signal(SIGCHLD, SIG_IGN);
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "exit 7");
        sbx_result *result = run(engine, req);

        assert_int_equal(sbx_result_exit_code(result), 7);
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
        assert_true(signal(SIGCHLD, before) == SIG_IGN); /* and nobody has changed it */
}

/* What careless callers do: wait for whatever there is. */
static void reap_everything(int signal_number)
{
        int saved = errno;

        while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
                ;
        errno = saved;
}

static void a_caller_that_reaps_everything_gets_its_result(void **state)
{
        void (*before)(int) = signal(SIGCHLD, reap_everything);
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "exit 7");
        sbx_result *result = run(engine, req);

        (void)signal(SIGCHLD, before);
        assert_int_equal(sbx_result_exit_code(result), 7);
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
}

static void the_callers_own_children_are_left_to_it(void **state)
{
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "echo hello");
        pid_t mine = fork();
        sbx_result *result;
        int status;

        assert_true(mine >= 0);
        if (mine == 0)
                _exit(9);
        result = run(engine, req);
        assert_int_equal(waitpid(mine, &status, 0), mine);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 9);
        has_status(result, "ok");
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
}

static void a_program_that_closes_its_input_kills_nobody(void **state)
{
        static char data[1 << 20];
        sigset_t pending;
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "exec <&-; echo closed");
        sbx_result *result;

        assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
        memset(data, 'x', sizeof(data));
        assert_int_equal(sbx_request_set_stdin(req, data, sizeof(data), NULL), 0);
        result = run(engine, req);
        has_status(result, "ok");
        assert_string_equal(sbx_result_stdout(result, NULL), "closed\n");
        assert_int_equal(sigpending(&pending), 0);
        assert_int_equal(sigismember(&pending, SIGPIPE), 0);
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
}

static void a_reader_that_is_gone_is_an_error_and_no_signal(void **state)
{
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "while echo much; do :; done");
        sbx_error *err = NULL;
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        close(ends[0]);
        assert_int_equal(sbx_request_set_output_fd(req, 1, ends[1], NULL), 0);
        assert_null(sbx_run(engine, req, &err));
        assert_int_equal(sbx_error_code(err), SBX_EOUTPUT);
        sbx_error_free(err);
        close(ends[1]);
        sbx_request_free(req);
        sbx_engine_free(engine);
        has_no_children();
}

static void a_request_can_be_run_again(void **state)
{
        sbx_engine *engine = new_engine();
        sbx_request *req = new_request("shell", "cat; echo \"$1\"");

        assert_int_equal(sbx_request_set_stdin(req, "in ", 3, NULL), 0);
        assert_int_equal(sbx_request_add_argument(req, "argument", NULL), 0);
        for (int i = 0; i < 2; i++) {
                sbx_result *result = run(engine, req);

                assert_string_equal(sbx_result_stdout(result, NULL), "in argument\n");
                sbx_result_free(result);
        }
        sbx_request_free(req);
        sbx_engine_free(engine);
}

static void a_helper_that_is_not_there_is_our_failure(void **state)
{
        sbx_engine_options options = { .size = sizeof(options),
                                       .init_path = "/nonexistent/helper" };
        sbx_engine *engine = sbx_engine_new(&options, NULL);
        sbx_request *req = new_request("shell", "echo never");
        sbx_result *result;
        int before;

        assert_non_null(engine);
        before = count_descriptors();
        result = run(engine, req);
        has_status(result, "internal_error");
        assert_has(sbx_result_message(result), "/nonexistent/helper");
        assert_string_equal(sbx_result_stdout(result, NULL), "");
        assert_int_equal(sbx_result_process_exit_code(result), 125);
        assert_int_equal(count_descriptors(), before);
        sbx_result_free(result);
        sbx_request_free(req);
        sbx_engine_free(engine);
        has_no_children();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_program_runs_and_every_protection_holds),
                cmocka_unit_test(many_threads_share_one_engine),
                cmocka_unit_test(an_engine_with_one_place_makes_the_others_wait),
                cmocka_unit_test(a_started_run_can_be_cancelled),
                cmocka_unit_test(a_run_cancelled_before_it_starts_does_not_go_on),
                cmocka_unit_test(a_caller_that_ignores_sigchld_gets_its_result),
                cmocka_unit_test(a_caller_that_reaps_everything_gets_its_result),
                cmocka_unit_test(the_callers_own_children_are_left_to_it),
                cmocka_unit_test(a_program_that_closes_its_input_kills_nobody),
                cmocka_unit_test(a_reader_that_is_gone_is_an_error_and_no_signal),
                cmocka_unit_test(a_request_can_be_run_again),
                cmocka_unit_test(a_helper_that_is_not_there_is_our_failure),
        };

        return RUN(tests);
}
