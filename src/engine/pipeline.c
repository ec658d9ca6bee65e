/*
 * The way of a run, one line per stage. The order is the order of the folders of src/.
 */
#include "engine/passage.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#include <poll.h>
#include <string.h>
#include <time.h>

static const struct {
        const char *name;
        int (*go)(struct passage *passage, struct error *err);
} pipeline[] = {
        { "request", passage_identify },    /* asked: which language is it? */
        { "policy", passage_allow },        /* allowed: what may it do? */
        { "analysis", passage_analyse },    /* looked at: what does it want? */
        { "languages", passage_find_tool }, /* found: what runs it here? */
        { "prepare", passage_prepare },     /* plan, backend, monitor: the toolchain, once */
        { "deps", passage_install },        /* plan, backend, monitor: what the program needs */
        { "compile", passage_compile },     /* plan, backend, monitor: the compiler, contained */
        { "run", passage_run },             /* plan, backend, monitor: the program, contained */
};

enum { STAGE_POLICY = 1 };

/* A refusal or a failure of ours becomes a result; whatever else is wrong is the caller's error. So
 * is output that could not be delivered, but its program ran, and that is recorded. */
static int settle(struct passage *passage, int r, const struct error *err)
{
        struct result *result = passage->result;

        if (r != SBX_EREFUSED && r != SBX_ESYSTEM && r != SBX_EOUTPUT)
                return r;
        result->run.outcome = r == SBX_EREFUSED ? OUTCOME_REFUSED : OUTCOME_INTERNAL_ERROR;
        result->run.exit_code = -1;
        if (result_set_message(result, "%s", err->message) < 0)
                return SBX_ENOMEM;
        if (err->hint[0]) {
                mem_free(result->hint);
                result->hint = mem_strdup(err->hint);
        }
        return r == SBX_EOUTPUT ? r : 0;
}

static void passage_done(struct passage *passage)
{
        analysis_end(&passage->analysis);
        request_rules_done(&passage->rules);
        history_artifacts_drop(&passage->artifacts);
        fd_close(passage->history.dir);
        policy_values_done(&passage->policy);
        strlist_done(&passage->writable);
        mem_free(passage->workspace);
        files_done(&passage->files_before);
        for (size_t i = 0; i < passage->counted_count; i++)
                fd_close(passage->counted_fds[i]);
        mem_free(passage->resolver);
        strlist_done(&passage->sources);
        mem_free(passage->module);
        strbuf_done(&passage->error_tail);
        bundle_done(&passage->package);
        cache_entry_done(&passage->built);
        deps_done(passage);
        mem_free(passage->prepared_path);
        fd_close(passage->program_fd);
        fd_close(passage->own_code_fd);
        mem_free(passage->program_path);
        wasm_done(&passage->wasm);
        docker_done(&passage->docker);
        templating_end(&passage->templating);
}

static bool is_cancelled(const struct engine_order *order)
{
        struct pollfd cancel = { .fd = order->cancel_fd, .events = POLLIN };

        return poll(&cancel, 1, 0) > 0;
}

/* Until a place may be free; the caller is asked now and then. The engine's lock is held. */
static void wait_for_place(struct engine *engine, const struct engine_order *order)
{
        struct timespec until = { 0 };

        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += ENGINE_WAIT_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&engine->freed, &engine->lock, &until);
        if (!order->wait)
                return;
        (void)pthread_mutex_unlock(&engine->lock);
        order->wait(order->log_context);
        (void)pthread_mutex_lock(&engine->lock);
}

/* False where the run was cancelled before there was a place for it. */
static bool enter(struct engine *engine, const struct engine_order *order)
{
        bool has_place = true;

        (void)pthread_mutex_lock(&engine->lock);
        while (has_place && engine->running >= engine->max_runs) {
                wait_for_place(engine, order);
                has_place = !is_cancelled(order);
        }
        engine->running += has_place;
        (void)fd_open_standard(NULL); /* a caller may have closed them since */
        (void)pthread_mutex_unlock(&engine->lock);
        return has_place;
}

static void leave(struct engine *engine)
{
        (void)pthread_mutex_lock(&engine->lock);
        engine->running--;
        (void)pthread_cond_signal(&engine->freed);
        (void)pthread_mutex_unlock(&engine->lock);
}

static bool did_begin(const struct passage *passage, bool has_result)
{
        enum outcome outcome = passage->result->run.outcome;

        return has_result && outcome != OUTCOME_REFUSED && outcome != OUTCOME_BLOCKED;
}

/* It never had a place: what it is, and what it may do, is all that is told of it. */
static void call_off(struct passage *passage)
{
        passage->result->run.outcome = OUTCOME_CANCELLED;
        passage->result->run.exit_code = -1;
}

/* Goes through the stages up to, not including, `end`. */
static int go(struct passage *passage, size_t end, struct error *err)
{
        bool has_place = enter(passage->engine, passage->order), has_result;
        int r = 0;

        passage->result->warm = "none";
        for (size_t i = 0; i < end && r == 0; i++) {
                r = pipeline[i].go(passage, err);
                if (i == 0 && r == 0)
                        passage_tell(passage, "execution.start", passage->result->language);
                if (r == 0 && passage->result->run.outcome != OUTCOME_OK)
                        break; /* the program could not be compiled */
                if (i == STAGE_POLICY && r == 0 && end == ARRAY_SIZE(pipeline))
                        record_begin(passage);
                if (i == STAGE_POLICY && r == 0 && !has_place) {
                        call_off(passage);
                        break;
                }
        }
        if (r == 0)
                r = passage_analysed(passage, err);
        if (r == 0)
                r = templating_finish(&passage->templating, passage->result, err);
        if (r == 0)
                message_compose(passage);
        else
                r = settle(passage, r, err);
        has_result = r == 0 || r == SBX_EOUTPUT;
        if (!has_place || !did_begin(passage, has_result))
                passage_forget_workspace(passage);
        running_close(&passage->running);
        deps_tell(passage);
        if (has_result && end == ARRAY_SIZE(pipeline))
                record_end(passage);
        step_end(passage); /* before anybody hears that it is over */
        if (has_place)
                leave(passage->engine);
        if (has_result)
                passage_tell_end(passage);
        return r;
}

/* A template is filled before the first stage: the pipeline knows nothing of it. */
static int begin(struct passage *passage, struct engine *engine, const struct engine_order *order,
                 struct error *err)
{
        int r;

        *passage = (struct passage){
                .engine = engine,
                .program_fd = -1,
                .own_code_fd = -1,
                .analysis = { .pidfd = -1, .socket = -1 },
                .entry = "",
                .history = { .dir = -1 },
                .started_ns = clock_now_ns(),
                .result = result_new(),
        };
        bundle_init(&passage->built.files);
        bundle_init(&passage->package);
        running_init(&passage->running);
        history_artifacts_init(&passage->artifacts);
        deps_init(&passage->deps);
        wasm_init(&passage->wasm);
        docker_init(&passage->docker);
        r = templating_begin(&passage->templating, engine, order, err);
        passage->order = &passage->templating.order;
        passage->code = passage->templating.code;
        if (order->program && order->program->built.count > 0)
                passage->program = &order->program->built;
        return r < 0 || passage->result ? r : error_set_nomem(err);
}

static int end(struct passage *passage, int r, struct result **ret_result)
{
        if (r < 0)
                result_free(passage->result);
        else
                *ret_result = passage->result;
        passage_done(passage);
        return r;
}

int engine_run(struct engine *engine, const struct engine_order *order, struct result **ret_result,
               struct error *err)
{
        struct passage passage;
        int r = begin(&passage, engine, order, err);

        if (r == 0)
                r = go(&passage, ARRAY_SIZE(pipeline), err);
        return end(&passage, r, ret_result);
}

int engine_compile(struct engine *engine, const struct engine_order *order,
                   struct engine_program *ret_program, struct result **ret_result,
                   struct error *err)
{
        struct passage passage;
        int r = begin(&passage, engine, order, err);

        *ret_program = (struct engine_program){ .code = passage.code };
        bundle_init(&ret_program->built);
        if (r == 0)
                r = go(&passage, ARRAY_SIZE(pipeline) - 1, err);
        if (r == 0)
                ret_program->filled = TAKE(passage.templating.own);
        if (r == 0 && passage.program) {
                ret_program->built = passage.built.files;
                bundle_init(&passage.built.files);
        }
        return end(&passage, r, ret_result);
}

char *engine_check(struct engine *engine, const struct engine_order *order, struct error *err)
{
        struct passage passage;
        struct result *result = NULL;
        char *report = NULL;
        int r = begin(&passage, engine, order, err);

        if (r == 0)
                r = passage_identify(&passage, err);
        if (r == 0)
                r = passage_policy(&passage, err);
        if (r == 0)
                r = passage_check(&passage, err);
        if (r == 0)
                report = TAKE(passage.result->analysis);
        if (end(&passage, r, &result) == 0)
                result_free(result);
        return report;
}

int engine_record_turn(struct engine *engine, const struct engine_order *order,
                       const struct engine_turn *turn, char ret_id[CLOCK_ULID_MAX],
                       struct error *err)
{
        struct passage passage;
        struct result *result = NULL;
        int r = begin(&passage, engine, order, err);

        if (r == 0)
                r = passage_identify(&passage, err);
        if (r == 0)
                r = passage_policy(&passage, err);
        if (r == 0)
                r = record_turn(&passage, turn, err);
        if (r == 0) {
                record_begin(&passage);
                record_end(&passage);
                memcpy(ret_id, passage.result->id, CLOCK_ULID_MAX);
        }
        if (end(&passage, r, &result) == 0)
                result_free(result);
        return r;
}

void engine_program_done(struct engine_program *program)
{
        bundle_done(&program->built);
        filled_free(program->filled);
}
