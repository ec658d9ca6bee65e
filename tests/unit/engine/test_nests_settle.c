/* Nests of runs that are over: they come back by themselves, a run waits a moment for one, and one
 * that does not come back costs nobody anything. */
#include "nests_helpers.h"

enum { RUNS = 40, CLIENTS = 4 };

static void run_shell(sbx_engine *engine, const char *code)
{
        sbx_request *req = new_request("shell", code);
        sbx_result *result = run(engine, req);

        has_status(result, "ok");
        sbx_result_free(result);
        sbx_request_free(req);
}

/* Those of version 2 are for one run each, since their group cannot count from zero again. */
static bool are_used_again(const sbx_engine *engine)
{
        return engine->engine.site.version != CGROUP_V2;
}

static void the_only_one_is_waited_for(void **state)
{
        sbx_engine *engine = warm_engine((sbx_engine_options){ .warm_slots = 1 });

        run_shell(engine, "echo 1"); /* waits until it is built */
        settle(engine);
        /* Nobody reads them now. Those that are being built are not waited for, those that settle
         * as long as a busy machine may take. */
        engine->engine.nests->waits = false;
        engine->engine.nests->settle_wait_ms = WAIT_SECONDS * 1000;
        for (int i = 0; i < RUNS; i++)
                run_shell(engine, "echo 1");
        settle(engine);
        if (are_used_again(engine)) {
                assert_int_equal(stats_of(engine).missed, 0);
                assert_int_equal(stats_of(engine).ended, 0);
                assert_int_equal(stats_of(engine).ready, 1);
        }
        assert_int_equal(stats_of(engine).hatched + stats_of(engine).missed, RUNS + 1);
        end(engine);
}

static void *run_many(void *engine)
{
        for (int i = 0; i < RUNS; i++)
                run_shell(engine, "echo 1");
        return NULL;
}

static void many_clients_share_few(void **state)
{
        sbx_engine *engine = warm_engine((sbx_engine_options){ .warm_slots = 2 });
        pthread_t clients[CLIENTS];

        engine->engine.nests->waits = false; /* nobody else has it yet */
        for (int i = 0; i < CLIENTS; i++)
                assert_int_equal(pthread_create(&clients[i], NULL, run_many, engine), 0);
        for (int i = 0; i < CLIENTS; i++)
                assert_int_equal(pthread_join(clients[i], NULL), 0);
        settle(engine);
        assert_int_equal(stats_of(engine).hatched + stats_of(engine).missed, CLIENTS * RUNS);
        assert_true(stats_of(engine).ready <= 2);
        assert_int_equal(engine->engine.nests->stocks[0].lent, 0);
        assert_int_equal(engine->engine.nests->stocks[0].settling, 0);
        assert_null(engine->engine.nests->settling);
        end(engine);
}

/* Where a run cannot be handed on, its client waits itself. */
static void one_that_nobody_else_waits_for_is_waited_for(void **state)
{
        sbx_engine *engine = warm_engine((sbx_engine_options){ .warm_slots = 2 });
        struct nests *nests = engine->engine.nests;
        int epoll;

        run_shell(engine, "echo 1");
        settle(engine);
        epoll = nests->settler_epoll; /* set once, and only runs look at it here */
        nests->settler_epoll = -1;
        for (int i = 0; i < 5; i++) {
                run_shell(engine, "echo 1");
                assert_null(nests->settling);
                assert_int_equal(nests->stocks[0].settling, 0);
                assert_int_equal(nests->stocks[0].lent, 0);
        }
        nests->settler_epoll = epoll;
        assert_int_equal(stats_of(engine).missed, 0);
        end(engine);
}

/* What is under way when the engine ends is taken down with it. */
static void an_engine_ends_with_what_settles(void **state)
{
        int before = 0;

        for (int i = 0; i < 8; i++) {
                sbx_engine *engine = warm_engine((sbx_engine_options){ .warm_slots = 2 });

                run_shell(engine, "echo 1");
                end(engine);
                if (i == 0)
                        before = count_descriptors();
        }
        assert_int_equal(count_descriptors(), before);
}

/* The first process of the container, and its parent, who would end it. */
struct stopped {
        pid_t nest, warden;
};

static struct stopped nest_of(const sbx_engine *engine)
{
        struct nests *nests = engine->engine.nests;
        struct stopped pids;

        (void)pthread_mutex_lock(&nests->lock);
        assert_int_equal(nests->stock_count, 1);
        assert_int_equal(nests->stocks[0].idle_count, 1);
        pids = (struct stopped){ nests->stocks[0].idle[0]->run.keeper_pid,
                                 nests->stocks[0].idle[0]->run.helper_pid };
        (void)pthread_mutex_unlock(&nests->lock);
        assert_true(pids.nest > 1 && pids.warden > 1);
        return pids;
}

static void *stop_soon(void *argument)
{
        const struct stopped *pids = argument;

        (void)usleep(300000);
        (void)kill(pids->warden, SIGSTOP);
        (void)kill(pids->nest, SIGSTOP);
        return NULL;
}

static bool still_settles(const sbx_engine *engine)
{
        struct nests *nests = engine->engine.nests;
        bool settles;

        (void)pthread_mutex_lock(&nests->lock);
        settles = nests->settling != NULL;
        (void)pthread_mutex_unlock(&nests->lock);
        return settles;
}

/* A nest that is stopped in the middle of a run never says that the run is gone. */
static void one_that_says_nothing_is_given_up(void **state)
{
        sbx_engine *engine = warm_engine((sbx_engine_options){ .warm_slots = 1 });
        struct stopped pids;
        pthread_t stopper;
        uint64_t before;

        run_shell(engine, "echo 1");
        settle(engine);
        pids = nest_of(engine);
        assert_int_equal(pthread_create(&stopper, NULL, stop_soon, &pids), 0);
        run_shell(engine, "exec sleep 1"); /* one process, so that its nest may come back */
        assert_int_equal(pthread_join(stopper, NULL), 0);
        assert_true(still_settles(engine));
        before = stats_of(engine).missed;
        run_shell(engine, "echo 1"); /* goes without */
        assert_true(stats_of(engine).missed == before + 1);
        settle(engine); /* also of a warden that is stopped */
        assert_true(stats_of(engine).ended >= 1);
        assert_int_equal(kill(pids.nest, 0), -1);
        run_shell(engine, "echo 1");
        end(engine);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_only_one_is_waited_for),
                cmocka_unit_test(many_clients_share_few),
                cmocka_unit_test(one_that_nobody_else_waits_for_is_waited_for),
                cmocka_unit_test(an_engine_ends_with_what_settles),
                cmocka_unit_test(one_that_says_nothing_is_given_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
