/* An engine of a program's own that lends what it has: looked at, and ended, by another. */
#include "nests_helpers.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

struct served {
        sbx_engine *engine;
        int listen_fd;
        uint64_t idle_ms;
        int result;
};

static char folder[] = "/tmp/sandbox-test-keeper.XXXXXX", path[sizeof(folder) + 16];

static void *serve(void *argument)
{
        struct served *served = argument;

        served->result =
                sbx_engine_serve(served->engine, served->listen_fd, -1, served->idle_ms, NULL);
        return NULL;
}

static pthread_t start(struct served *served)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        pthread_t thread;

        (void)unlink(path);
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        served->engine = warm_engine((sbx_engine_options){ .warm_slots = 1 });
        served->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_true(served->listen_fd >= 0);
        assert_int_equal(bind(served->listen_fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(served->listen_fd, 8), 0);
        assert_int_equal(pthread_create(&thread, NULL, serve, served), 0);
        return thread;
}

static void finish(struct served *served, pthread_t thread, int result)
{
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(served->result, result);
        close(served->listen_fd);
        end(served->engine);
}

/* It is this process that serves, and it goes on. */
static void who_ends_it_waits_for_the_end_of_serving_alone(void **state)
{
        struct served served = { 0 };
        pthread_t thread = start(&served);
        sbx_error *err = NULL;
        char *text = sbx_keeper_json(path, &err);

        assert_non_null(text);
        assert_has(text, "\"kinds\": []");
        assert_has(text, "\"ends_in\": null");
        sbx_string_free(text);
        assert_int_equal(sbx_keeper_end(path, &err), 0);
        finish(&served, thread, 0);
        assert_null(sbx_keeper_json(path, &err)); /* nobody listens there any more */
        assert_int_equal(sbx_error_code(err), SBX_ESYSTEM);
        assert_has(sbx_error_message(err), "no keeper of yours");
        sbx_error_free(err);
}

static void one_that_nobody_comes_to_says_so(void **state)
{
        struct served served = { .idle_ms = 1 };
        pthread_t thread = start(&served);

        finish(&served, thread, 1);
}

static void options_without_a_size_are_refused(void **state)
{
        const sbx_engine_options options = { .warm_slots = 1 };
        sbx_error *err = NULL;

        assert_null(sbx_engine_new(&options, &err));
        assert_int_equal(sbx_error_code(err), SBX_EINVAL);
        assert_has(sbx_error_hint(err), ".size = sizeof(");
        sbx_error_free(err);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_ends_it_waits_for_the_end_of_serving_alone),
                cmocka_unit_test(one_that_nobody_comes_to_says_so),
                cmocka_unit_test(options_without_a_size_are_refused),
        };
        int r;

        if (!mkdtemp(folder))
                return 1;
        (void)snprintf(path, sizeof(path), "%s/keeper.sock", folder);
        r = RUN(tests);
        (void)unlink(path);
        (void)rmdir(folder);
        return r;
}
