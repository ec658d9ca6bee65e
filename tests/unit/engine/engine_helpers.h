/* What the tests of whole runs share: an engine, a run, and what may be left behind by one. */
#ifndef TESTS_UNIT_ENGINE_HELPERS_H
#define TESTS_UNIT_ENGINE_HELPERS_H

#include "unit.h"
#include "sandbox.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static inline sbx_engine *new_engine(void)
{
        sbx_error *err = NULL;
        sbx_engine *engine = sbx_engine_new(NULL, &err);

        if (!engine)
                fail_msg("%s", sbx_error_message(err));
        return engine;
}

static inline sbx_request *new_request(const char *language, const char *code)
{
        sbx_request *req = sbx_request_new(language, code);

        assert_non_null(req);
        return req;
}

static inline sbx_result *run(sbx_engine *engine, sbx_request *req)
{
        sbx_error *err = NULL;
        sbx_result *result = sbx_run(engine, req, &err);

        if (!result)
                fail_msg("%s", sbx_error_message(err));
        return result;
}

static inline void has_status(const sbx_result *result, const char *status)
{
        if (strcmp(sbx_result_status(result), status) != 0)
                fail_msg("status '%s' (%s; %s), not '%s'", sbx_result_status(result),
                         sbx_result_message(result) ? sbx_result_message(result) : "",
                         sbx_result_stderr(result, NULL), status);
}

/* Open descriptors of this process. */
static inline int count_descriptors(void)
{
        DIR *dir = opendir("/proc/self/fd");
        int count = 0;

        assert_non_null(dir);
        while (readdir(dir))
                count++;
        (void)closedir(dir);
        return count;
}

/* No child is left, living or dead. */
static inline void has_no_children(void)
{
        assert_true(waitpid(-1, NULL, WNOHANG | __WALL) < 0);
}

#endif
