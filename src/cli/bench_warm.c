/*
 * What is kept warm for the bench: an engine with slots in this process, and a keeper of its own on
 * a socket of its own, which ends with the bench. Nobody else's keeper is asked.
 */
#include "cli/bench.h"
#include "cli/run.h"
#include "base/fd.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
        TRIES = 100,
        PAUSE_NS = 50000000,
        ANSWER_MAX = 1 << 20,
        SETTLE_NS = 1000000,
        SETTLE_TRIES = 20000
};

static void pause_a_moment(void)
{
        const struct timespec moment = { .tv_nsec = PAUSE_NS };

        (void)nanosleep(&moment, NULL); /* a signal that cuts it short does no harm */
}

static sbx_engine *engine_of(struct bench *bench, const struct bench_row_kind *kind)
{
        return kind->is_warm ? bench->warm_engine : bench->engine;
}

static int prepare_request(struct bench *bench, const struct bench_row_kind *kind, sbx_request *req,
                           sbx_error **failure)
{
        if (!kind->code && sbx_request_set_code_fd(req, bench->hello_fd, failure) < 0)
                return -1;
        if (kind->profile && sbx_request_set_policy(req, bench->policy, failure) < 0)
                return -1;
        if (kind->fuel && sbx_request_set(req, "limits.fuel", kind->fuel, failure) < 0)
                return -1;
        /* What a compiler makes is made each time, as it is bare. */
        if (!kind->backend && sbx_request_set_no_cache(req, true, failure) < 0)
                return -1;
        return sbx_request_set(req, "backend", kind->backend ? kind->backend : "container",
                               failure);
}

int bench_call(struct bench *bench, const struct bench_row_kind *kind, sbx_result **ret_result,
               struct error *err)
{
        AUTO_REQUEST sbx_request *req =
                sbx_request_new(kind->code ? kind->language : NULL, kind->code);
        AUTO_RESULT sbx_result *result = NULL;
        sbx_error *failure = NULL;

        if (!req)
                return error_set_nomem(err);
        if (prepare_request(bench, kind, req, &failure) < 0)
                return report_take(err, failure);
        result = sbx_run(engine_of(bench, kind), req, &failure);
        if (!result)
                return report_take(err, failure);
        if (!sbx_result_success(result))
                return error_set(err, SBX_ESYSTEM, "%s: %s", sbx_result_status(result),
                                 sbx_result_message(result) ? sbx_result_message(result)
                                                            : "no message");
        *ret_result = result;
        result = NULL;
        return 0;
}

/* What a run took is made anew, which is nobody's time to be measured. */
void bench_settle(struct bench *bench)
{
        const struct timespec moment = { .tv_nsec = SETTLE_NS };
        sbx_stats now = { .size = sizeof(now) };

        for (int i = 0; i < SETTLE_TRIES && bench->warm_engine && !run_signals_caught(); i++) {
                if (sbx_engine_stats(bench->warm_engine, &now, NULL) < 0 || now.making == 0)
                        return;
                (void)nanosleep(&moment, NULL);
        }
}

static bool text_is_warm(const char *text)
{
        json_t *root = text ? json_loads(text, 0, NULL) : NULL;
        json_t *metrics = json_object_get(root, "metrics");
        const char *warm = json_string_value(json_object_get(metrics, "warm"));
        bool is_warm = warm && !str_equal(warm, "none");

        json_decref(root);
        return is_warm;
}

bool bench_is_warm(const sbx_result *result)
{
        char *text = sbx_result_format(result, "json", false, NULL);
        bool is_warm = text_is_warm(text);

        sbx_string_free(text);
        return is_warm;
}

static int open_warm_engine(struct bench *bench, struct error *err)
{
        const sbx_engine_options options = { .size = sizeof(options), .warm_slots = BENCH_SLOTS };
        sbx_error *failure = NULL;

        if (bench->warm_engine)
                return 0;
        bench->warm_engine = sbx_engine_new(&options, &failure);
        return bench->warm_engine ? 0 : report_take(err, failure);
}

static int load_policy(struct bench *bench, const char *profile, struct error *err)
{
        sbx_error *failure = NULL;

        if (!profile || bench->policy)
                return 0;
        bench->policy = sbx_policy_new();
        if (!bench->policy)
                return error_set_nomem(err);
        return sbx_policy_load_profile(bench->policy, profile, &failure) < 0
                       ? report_take(err, failure)
                       : 0;
}

/* ---- the keeper ---- */

int bench_start_keeper(struct bench *bench, struct error *err)
{
        const char *const command[] = { "{self}", "keeper",   "--quiet",     "--idle",
                                        "2m",     "--socket", bench->socket, NULL };
        struct stat st;
        int r;

        if (bench->keeper > 0)
                return 0;
        r = bench_command(bench, command, "", BENCH_ALONE, -1, &bench->keeper, err);
        (void)alarm(0); /* it lives as long as we do */
        for (int i = 0; r == 0 && i < TRIES && !run_signals_caught(); i++) {
                if (stat(bench->socket, &st) == 0)
                        return 0;
                pause_a_moment();
        }
        return r < 0 ? r : error_set(err, SBX_ESYSTEM, "the keeper does not listen");
}

void bench_end_keeper(struct bench *bench)
{
        if (bench->keeper <= 0)
                return;
        (void)kill(bench->keeper, SIGTERM); /* our child, not yet waited for */
        (void)alarm(BENCH_CHILD_SECONDS);
        (void)bench_wait(bench->keeper, "keeper", NULL); /* it is gone in either case */
        bench->keeper = 0;
}

/* One run by `sandbox run` with the keeper, which says how it started. */
static int ask_command(struct bench *bench, const struct bench_row_kind *kind, bool *ret_warm,
                       struct error *err)
{
        const char *const command[] = { "{self}",   "run",    "--backend",    "container",
                                        "--json",   "--lang", kind->language, "--code",
                                        kind->code, NULL };
        AUTO_CLOSE int reader = -1;
        AUTO_FREE char *text = NULL;
        size_t length = 0;
        int ends[2];
        pid_t pid;
        int r;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return error_set_errno(err, "make pipe");
        reader = ends[0];
        r = bench_command(bench, command, "", BENCH_WITH_KEEPER, ends[1], &pid, err);
        fd_close(ends[1]);
        if (r < 0)
                return r;
        r = fd_read_all(reader, ANSWER_MAX, "the answer", &text, &length, err);
        if (bench_wait(pid, kind->name, r == 0 ? err : NULL) < 0 || r < 0)
                return SBX_ESYSTEM;
        *ret_warm = text_is_warm(text);
        return 0;
}

static int ask_library(struct bench *bench, const struct bench_row_kind *kind, bool *ret_warm,
                       struct error *err)
{
        AUTO_RESULT sbx_result *result = NULL;
        int r = bench_call(bench, kind, &result, err);

        *ret_warm = r == 0 && bench_is_warm(result);
        return r;
}

/* Whether the language says that it can; a row that cannot be warm is not tried for long. On
 * another backend it is not the language that is parked. */
static bool can_be_warm(struct bench *bench, const struct bench_row_kind *kind)
{
        char *text = sbx_languages_json(bench->engine, NULL);
        json_t *languages = text ? json_loads(text, 0, NULL) : NULL;
        bool can = kind->backend != NULL;
        size_t index;
        json_t *item;

        json_array_foreach(languages, index, item)
        {
                const char *name = json_string_value(json_object_get(item, "name"));
                const char *warm = json_string_value(json_object_get(item, "warm"));

                can |= str_equal(name, kind->language) && warm && !str_equal(warm, "none");
        }
        json_decref(languages);
        sbx_string_free(text);
        return can;
}

int bench_warm_up(struct bench *bench, const struct bench_row_kind *kind, struct error *err)
{
        bool through_keeper = kind->surroundings == BENCH_WITH_KEEPER;
        bool is_warm = false;
        int r;

        if (!can_be_warm(bench, kind))
                return error_set(err, SBX_ESYSTEM, "%s has no warm start", kind->language);
        r = through_keeper ? bench_start_keeper(bench, err) : open_warm_engine(bench, err);

        if (r == 0)
                r = load_policy(bench, kind->profile, err);
        for (int i = 0; r == 0 && i < TRIES && !run_signals_caught(); i++) {
                r = through_keeper ? ask_command(bench, kind, &is_warm, err)
                                   : ask_library(bench, kind, &is_warm, err);
                if (is_warm)
                        return 0;
                pause_a_moment();
        }
        return r < 0 ? r : error_set(err, SBX_ESYSTEM, "it does not start warm here");
}
