/* What the tests of nests share: an engine that keeps something warm, and how much of it there is.
 */
#ifndef TESTS_UNIT_NESTS_HELPERS_H
#define TESTS_UNIT_NESTS_HELPERS_H

#include "engine_helpers.h"
#include "api/api.h"
#include "engine/nests_stock.h"

enum { WAIT_SECONDS = 40, LOOK_US = 10000 };

static inline sbx_engine *warm_engine(sbx_engine_options options)
{
        sbx_error *err = NULL;
        sbx_engine *engine;

        options.size = sizeof(options);
        options.warm_waits = true;
        engine = sbx_engine_new(&options, &err);
        if (!engine)
                fail_msg("%s", sbx_error_message(err));
        return engine;
}

static inline sbx_stats stats_of(sbx_engine *engine)
{
        sbx_stats stats = { .size = sizeof(stats) };

        assert_int_equal(sbx_engine_stats(engine, &stats, NULL), 0);
        return stats;
}

/* Until nothing is being made, ended or put back any more. */
static inline void settle(sbx_engine *engine)
{
        for (int i = 0; stats_of(engine).making > 0; i++) {
                assert_true(i < WAIT_SECONDS * 1000000 / LOOK_US);
                (void)usleep(LOOK_US);
        }
}

static inline void end(sbx_engine *engine)
{
        sbx_engine_free(engine);
        has_no_children();
}

#endif
