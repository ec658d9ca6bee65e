/* What an engine keeps warm: how many, for how long, how much, and what is counted of it. */
#include "nests_helpers.h"
#include "base/clock.h"

#define MIB (UINT64_C(1) << 20)

/* Nothing is being made or ended any more, and so many are there. */
static void wait_for(sbx_engine *engine, unsigned ready, unsigned parked)
{
        sbx_stats stats;

        for (int i = 0; i < WAIT_SECONDS * 1000000 / LOOK_US; i++) {
                stats = stats_of(engine);
                if (stats.making == 0 && stats.ready == ready && stats.parked == parked)
                        return;
                (void)usleep(LOOK_US);
        }
        fail_msg("%u ready, %u parked, %u being made", stats.ready, stats.parked, stats.making);
}

/* Each policy is a kind of its own. */
static void run_under(sbx_engine *engine, const char *language, const char *code,
                      const char *policy_text)
{
        sbx_request *req = new_request(language, code);
        sbx_policy *policy = sbx_policy_new();
        sbx_error *err = NULL;
        sbx_result *result;

        if (sbx_policy_load_text(policy, policy_text, strlen(policy_text), "policy", &err) < 0)
                fail_msg("%s", sbx_error_message(err));
        assert_int_equal(sbx_request_set_policy(req, policy, NULL), 0);
        result = run(engine, req);
        has_status(result, "ok");
        sbx_result_free(result);
        sbx_policy_free(policy);
        sbx_request_free(req);
}

static void what_nobody_asks_for_ends(void **state)
{
        sbx_engine *engine =
                warm_engine((sbx_engine_options){ .warm_slots = 3, .warm_idle_ms = 200 });

        run_under(engine, "shell", "echo 1", "limits: {timeout: 20s}\n");
        wait_for(engine, 0, 0);
        end(engine);
}

static void so_many_stay_as_were_wanted(void **state)
{
        sbx_engine *engine = warm_engine(
                (sbx_engine_options){ .warm_slots = 4, .warm_least = 2, .warm_idle_ms = 200 });
        sbx_engine *more = warm_engine((sbx_engine_options){ .warm_slots = 2, .warm_least = 9 });

        run_under(engine, "shell", "echo 1", "limits: {timeout: 20s}\n");
        /* That of the run is back beside two, where one can be used again; it goes when idle. */
        wait_for(engine, 2, 1);
        run_under(more, "shell", "echo 1", "limits: {timeout: 20s}\n");
        settle(more);
        assert_int_equal(stats_of(more).ready, 2); /* no more than at most */
        sbx_engine_free(more);
        end(engine);
}

static void runs_are_counted(void **state)
{
        sbx_engine *engine = warm_engine((sbx_engine_options){ .warm_slots = 1 });
        sbx_request *cold = new_request("shell", "echo 1");
        sbx_stats stats;

        assert_int_equal(sbx_request_set_no_warm(cold, true, NULL), 0);
        sbx_result_free(run(engine, cold));
        sbx_request_free(cold);
        stats = stats_of(engine);
        assert_int_equal(stats.hatched + stats.forked + stats.missed, 0);
        run_under(engine, "shell", "echo 1", "limits: {timeout: 20s}\n");
        run_under(engine, "shell", "echo 1", "limits: {timeout: 20s}\n");
        stats = stats_of(engine);
        assert_int_equal(stats.hatched, 2);
        assert_int_equal(stats.forked, 2);
        assert_int_equal(stats.missed + stats.failures, 0);
        assert_true(stats.memory > 0 && stats.parked == 1);
        end(engine);
}

static void interpreters_take_no_more_than_they_may(void **state)
{
        const uint64_t most = 44 * MIB;
        sbx_engine *engine =
                warm_engine((sbx_engine_options){ .warm_slots = 1, .warm_memory = most });
        char policy[64];

        for (int i = 0; i < 6; i++) {
                (void)snprintf(policy, sizeof(policy), "limits: {processes: %d}\n", 20 + i);
                run_under(engine, "shell", "echo 1", policy);
                assert_true(stats_of(engine).memory <= most);
        }
        settle(engine);
        assert_true(stats_of(engine).parked >= 1);
        assert_int_equal(stats_of(engine).failures, 0);
        end(engine);
}

/* How large it is shows when it was made; a run that could have had it starts without. */
static void one_that_is_too_large_is_not_kept(void **state)
{
        sbx_engine *engine;
        sbx_stats stats;

        engine = warm_engine((sbx_engine_options){ .warm_slots = 1, .warm_memory = 33 * MIB });
        for (int i = 0; i < 3; i++)
                run_under(engine, "python", "print(1)",
                          "preload: [asyncio, unittest, xmlrpc.server, email.mime.text, ctypes,"
                          " tests_have_none, decimal, sqlite3, turtle, tkinter, pandas]\n");
        settle(engine);
        stats = stats_of(engine);
        if (stats.parked == 1 && stats.memory <= 33 * MIB)
                skip(); /* without pandas it is small */
        assert_int_equal(stats.parked, 0);
        assert_true(stats.failures >= 1);
        end(engine);
}

/* Of guests that wait, those that there is room for stay, and are replaced when they were used. */
static void one_that_is_too_many_ends_alone(void **state)
{
        const char *const policy = "limits: {timeout: 60s}\n";
        sbx_engine *engine;
        struct nests *nests;
        sbx_stats stats;

        if (geteuid() != 0 || access("/usr/bin/node", X_OK) < 0)
                skip(); /* nobody may be there to count its memory */
        engine = warm_engine((sbx_engine_options){ .warm_slots = 3, .warm_least = 2 });
        nests = engine->engine.nests;
        run_under(engine, "javascript", "0", policy);
        settle(engine);
        stats = stats_of(engine);
        assert_int_equal(stats.ready, 2);
        (void)pthread_mutex_lock(&nests->lock);
        nests->memory_most = stats.memory - stats.memory / 8;
        (void)pthread_mutex_unlock(&nests->lock);
        for (unsigned i = 2; i < 5; i++) {
                run_under(engine, "javascript", "0", policy);
                settle(engine);
                stats = stats_of(engine);
                assert_int_equal(stats.ready, 1);
                assert_int_equal(stats.forked, i);
                assert_int_equal(stats.failures, 0); /* its size is known: it is not tried */
        }
        end(engine);
}

static void an_interpreter_that_was_copied_often_is_replaced(void **state)
{
        sbx_engine *engine = warm_engine((sbx_engine_options){ .warm_slots = 1 });
        struct nests *nests = engine->engine.nests;
        const struct park *first;

        run_under(engine, "shell", "echo 1", "limits: {timeout: 20s}\n");
        settle(engine);
        (void)pthread_mutex_lock(&nests->lock);
        assert_int_equal(nests->stock_count, 1);
        assert_int_equal(nests->stocks[0].park_copies, 1);
        nests->stocks[0].park_copies = COPIES_MAX;
        first = nests->stocks[0].park;
        (void)pthread_mutex_unlock(&nests->lock);
        assert_non_null(first);
        run_under(engine, "shell", "echo 1", "limits: {timeout: 20s}\n");
        settle(engine);
        (void)pthread_mutex_lock(&nests->lock);
        assert_true(nests->stocks[0].park_copies < 2);
        assert_null(nests->stocks[0].old_park);
        (void)pthread_mutex_unlock(&nests->lock);
        assert_int_equal(stats_of(engine).parked, 1);
        assert_int_equal(stats_of(engine).forked, 2);
        end(engine);
}

static void what_fails_is_tried_again_later(void **state)
{
        struct attempts attempts = { 0 };
        uint64_t pause;

        for (int i = 1; i < FAILURES_FREE; i++) {
                attempts_note(&attempts, false);
                assert_true(attempts_may_go_on(&attempts));
        }
        attempts_note(&attempts, false);
        assert_false(attempts_may_go_on(&attempts));
        pause = attempts.pause_ns;
        assert_true(pause > 0 && attempts.next_ns > clock_now_ns());
        attempts.next_ns = clock_now_ns(); /* as if it had passed */
        assert_true(attempts_may_go_on(&attempts));
        attempts_note(&attempts, false);
        assert_false(attempts_may_go_on(&attempts));
        assert_true(attempts.pause_ns == 2 * pause);
        for (int i = 0; i < 100; i++)
                attempts_note(&attempts, false);
        assert_true(attempts.pause_ns == PAUSE_MOST);
        attempts_note(&attempts, true);
        assert_true(attempts_may_go_on(&attempts) && attempts.pause_ns == 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_nobody_asks_for_ends),
                cmocka_unit_test(so_many_stay_as_were_wanted),
                cmocka_unit_test(runs_are_counted),
                cmocka_unit_test(interpreters_take_no_more_than_they_may),
                cmocka_unit_test(one_that_is_too_large_is_not_kept),
                cmocka_unit_test(one_that_is_too_many_ends_alone),
                cmocka_unit_test(an_interpreter_that_was_copied_often_is_replaced),
                cmocka_unit_test(what_fails_is_tried_again_later),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
