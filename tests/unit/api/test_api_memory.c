/* Every allocation of a whole run fails once: an error or a complete result, and nothing left
 * behind (the build with the address sanitizer looks for lost memory). */
#include "../engine/engine_helpers.h"
#include "base/mem.h"

#include <glob.h>
#include <sys/stat.h>

enum { SWEEP_MAX = 3000 };

struct setting {
        const char *language, *code, *backend, *enforcement;
};

static size_t count_matches(const char *pattern)
{
        glob_t found;
        size_t count = 0;

        if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
                count = found.gl_pathc;
                globfree(&found);
        }
        return count;
}

/* Groups and scratch directories of this process. */
static size_t count_leftovers(void)
{
        char pattern[128];
        size_t count;

        (void)snprintf(pattern, sizeof(pattern), "/sys/fs/cgroup/*/sandbox-run.*.%d.*",
                       (int)getpid());
        count = count_matches(pattern);
        (void)snprintf(pattern, sizeof(pattern), "/sys/fs/cgroup/sandbox-run.*.%d.*",
                       (int)getpid());
        count += count_matches(pattern);
        (void)snprintf(pattern, sizeof(pattern), "%s/sandbox-run.*", getenv("TMPDIR"));
        return count + count_matches(pattern);
}

/* What a complete result holds; the test fails where one is not. */
static void is_complete(const sbx_result *result)
{
        AUTO_FREE char *text = NULL;

        assert_string_equal(sbx_result_stdout(result, NULL), "hello\n");
        text = sbx_result_format(result, "jsonline", false, NULL);
        assert_non_null(text);
        assert_has(text, "\"name\":\"given\"");
        assert_has(text, "\"created\":[\"made.txt\"]");
        assert_lacks(text, "\"language\":null");
        assert_lacks(text, "\"version\":null");
}

/* Code of the error, or 0. */
static int run_once(sbx_engine *engine, const struct setting *setting, uint64_t fail_after)
{
        sbx_error *err = NULL;
        sbx_request *req;
        sbx_result *result = NULL;
        int r = SBX_ENOMEM;

        mem_fail_after(fail_after);
        req = sbx_request_new(setting->language, setting->code);
        if (req && (r = sbx_request_set(req, "backend", setting->backend, NULL)) == 0 &&
            (r = sbx_request_set(req, "enforcement", setting->enforcement, NULL)) == 0 &&
            (r = sbx_request_set(req, "env.MINE", "value", NULL)) == 0 &&
            (r = sbx_request_set_name(req, "given", NULL)) == 0 &&
            (r = sbx_request_add_argument(req, "argument", NULL)) == 0) {
                result = sbx_run(engine, req, &err);
                r = result ? 0 : sbx_error_code(err);
        }
        mem_fail_after(UINT64_MAX);
        if (result) {
                has_status(result, "ok");
                is_complete(result);
        }
        sbx_error_free(err);
        sbx_result_free(result);
        sbx_request_free(req);
        return r;
}

static void sweep(const struct setting *setting)
{
        sbx_engine *engine = new_engine();
        int descriptors, good = 0, failed = 0;

        assert_int_equal(run_once(engine, setting, UINT64_MAX),
                         0); /* the version is in the cache now */
        descriptors = count_descriptors();
        /* Some failures cost nothing (a program is copied that could have been mounted), so that
         * one success is not yet the end. */
        for (uint64_t n = 0; n < SWEEP_MAX && good < 40; n++) {
                int r = run_once(engine, setting, n);

                if (r != 0 && r != SBX_ENOMEM)
                        fail_msg("allocation %llu: code %d", (unsigned long long)n, r);
                good = r == 0 ? good + 1 : 0;
                failed += r != 0;
                if (count_leftovers() != 0 || count_descriptors() != descriptors)
                        fail_msg("allocation %llu (code %d): %zu groups or files and %d "
                                 "descriptors are left",
                                 (unsigned long long)n, r, count_leftovers(),
                                 count_descriptors() - descriptors);
        }
        assert_int_equal(good, 40);
        assert_true(failed > 50);
        sbx_engine_free(engine);
        has_no_children();
}

static void a_contained_run_survives_every_failing_allocation(void **state)
{
        sweep(&(struct setting){ "shell",
                                 "echo hello; test \"$1$MINE\" = argumentvalue && echo x >made.txt",
                                 "container", "strict" });
}

static void a_local_run_survives_every_failing_allocation(void **state)
{
        sweep(&(struct setting){ "shell",
                                 "echo hello; test \"$1$MINE\" = argumentvalue && echo x >made.txt",
                                 "local", "best-effort" });
}

static void making_an_engine_survives_every_failing_allocation(void **state)
{
        sbx_engine *engine = NULL;
        int descriptors = count_descriptors();

        for (uint64_t n = 0; !engine && n < SWEEP_MAX; n++) {
                sbx_error *err = NULL;

                mem_fail_after(n);
                engine = sbx_engine_new(NULL, &err);
                mem_fail_after(UINT64_MAX);
                assert_true(engine || sbx_error_code(err) == SBX_ENOMEM);
                sbx_error_free(err);
                if (!engine)
                        assert_int_equal(count_descriptors(), descriptors);
        }
        assert_non_null(engine);
        sbx_engine_free(engine);
}

static int make_place(void **state)
{
        static char place[] = "/tmp/unit-api-memory.XXXXXX";

        *state = mkdtemp(place);
        return *state && chmod(place, 0755) == 0 ? setenv("TMPDIR", place, 1) : -1;
}

static int remove_place(void **state)
{
        return rmdir(*state); /* fails, and the group with it, where something was left */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_contained_run_survives_every_failing_allocation),
                cmocka_unit_test(a_local_run_survives_every_failing_allocation),
                cmocka_unit_test(making_an_engine_survives_every_failing_allocation),
        };

        return cmocka_run_group_tests(tests, make_place, remove_place);
}
