/*
 * Theory of operation: the code is compiled once, by the calling thread. Then this thread and up to
 * jobs - 1 more take cases from a common counter and run each through the pipeline, as a request of
 * its own that shares program, policy and cancel descriptor with the others. All that is shared is
 * in struct session, under its lock; handlers are called under it too, so that they are never
 * called from two threads at once. Cancelling needs nothing of ours: every run polls the same
 * descriptor, and cases that have not begun find it readable.
 */
#include "engine/cases.h"
#include "engine/case_order.h"
#include "engine/case_verdict.h"
#include "engine/passage.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { STACK_BYTES = 2 << 20 };

struct session {
        struct engine *engine;
        const struct engine_order *order;
        const struct cases *cases;
        uint64_t started_ns;
        char id[CLOCK_ULID_MAX];       /* of the compilation: that of all */
        struct engine_program program; /* owned: what is run */
        struct result *compiled;       /* owned: how compiling it went; NULL once it is told */
        pthread_mutex_t lock;
        /* All below is guarded by lock. */
        size_t next;                  /* case to take */
        bool is_stopped;              /* no further case is begun */
        int failure;                  /* of the request itself: nothing can be run */
        struct error error;           /* its words */
        struct result *whole;         /* owned: of all cases, from the first that ended */
        struct result_case *verdicts; /* owned, one per case */
};

/* ---- events ---- */

static void tell(struct session *s, const char *kind, const char *data, const char *text)
{
        struct engine_event event = {
                .kind = kind,
                .id = s->id,
                .time = (double)(clock_now_ns() - s->started_ns) / 1e9,
                .data = data,
                .length = data ? strlen(data) : 0,
                .text = text,
                .result = s->whole,
        };

        if (s->order->event)
                s->order->event(s->order->context, &event);
        if (s->order->log && !data) /* single cases are not logged */
                s->order->log(s->order->log_context, &event);
}

static int tell_case(struct session *s, const struct result_case *verdict, struct error *err)
{
        AUTO_FREE char *json = NULL, *text = NULL;

        if (!s->order->event)
                return 0;
        json = result_case_to_json(verdict);
        text = result_case_to_text(verdict, false);
        if (!json || !text)
                return error_set_nomem(err);
        tell(s, "case", json, text);
        return 0;
}

/* Of compiling, the start is that of all; the rest is told by us. */
static void hear_start(void *context, const struct engine_event *event)
{
        struct session *s = context;

        if (strcmp(event->kind, "execution.start") != 0)
                return;
        (void)snprintf(s->id, sizeof(s->id), "%s", event->id);
        if (s->order->event)
                s->order->event(s->order->context, event);
        if (s->order->log)
                s->order->log(s->order->log_context, event);
}

/* ---- one case ---- */

static int run_case(struct session *s, size_t index, struct result **ret_result, struct error *err)
{
        const struct test_case *one = &s->cases->items[index];
        struct request request = *s->order->request; /* a view */
        struct engine_order order = *s->order;
        struct policy limits;
        int r = case_layers(s->order, s->cases, index, &limits, order.layers, err);

        if (r < 0)
                return r;
        request.arguments = (struct strlist){ 0 };
        request.stdin_data = one->stdin_part.data;
        request.stdin_length = one->stdin_part.length;
        request.turn_fd = request.stdin_fd = request.output_fds[1] = request.output_fds[2] =
                request.collect_fd = -1;
        request.collect_patterns = (struct strlist){ 0 };
        order.request = &request;
        order.program = s->order->program ? s->order->program : &s->program;
        order.event = order.log = NULL; /* several at once: the caller hears of the whole */
        order.usage = NULL;
        order.wait = NULL; /* it runs on threads of ours */
        r = case_arguments(s->order, s->cases, index, &request.arguments, err);
        if (r == 0)
                r = engine_run(s->engine, &order, ret_result, err);
        strlist_done(&request.arguments);
        policy_done(&limits);
        return r;
}

/* What concerns all cases alike ends the session. */
static bool concerns_all(enum outcome outcome)
{
        return outcome == OUTCOME_COMPILE_ERROR || outcome == OUTCOME_REFUSED ||
               outcome == OUTCOME_INTERNAL_ERROR || outcome == OUTCOME_BLOCKED;
}

/* The result of all is that of the first to end, with what the others add. Called under lock. */
static void add_to_whole(struct session *s, struct result *result)
{
        struct usage *sum;

        if (!s->whole) {
                s->whole = result;
                return;
        }
        if (concerns_all(result->run.outcome) && !concerns_all(s->whole->run.outcome)) {
                struct result *other = s->whole;

                s->whole = result;
                result = other;
        }
        sum = &s->whole->run.usage;
        sum->wall_ns += result->run.usage.wall_ns;
        sum->cpu_us += result->run.usage.cpu_us;
        sum->cpu_user_us += result->run.usage.cpu_user_us;
        sum->cpu_system_us += result->run.usage.cpu_system_us;
        sum->io_read_bytes += result->run.usage.io_read_bytes;
        sum->io_write_bytes += result->run.usage.io_write_bytes;
        sum->net_connections += result->run.usage.net_connections;
        sum->net_rx_bytes += result->run.usage.net_rx_bytes;
        sum->net_tx_bytes += result->run.usage.net_tx_bytes;
        if (result->fuel.consumed > s->whole->fuel.consumed)
                s->whole->fuel = result->fuel;
        if (result->run.usage.memory_peak > sum->memory_peak)
                sum->memory_peak = result->run.usage.memory_peak;
        if (result->run.usage.processes_peak > sum->processes_peak)
                sum->processes_peak = result->run.usage.processes_peak;
        for (size_t i = 0; i < result->violation_count; i++)
                result_add_violation(s->whole, result->violations[i].kind,
                                     result->violations[i].what, result->violations[i].why,
                                     result->violations[i].count);
        for (unsigned i = 0; i < PROTECTION_COUNT; i++)
                if (result->protections[i].state == STATE_MISSING)
                        s->whole->protections[i] = result->protections[i];
        result_free(result);
}

static void finish_case(struct session *s, size_t index, int r, struct result *result,
                        struct error *err)
{
        struct result_case *verdict = &s->verdicts[index];

        if (r == 0)
                r = verdict_fill(verdict, &s->cases->items[index], result, err); /* ours so far */
        (void)pthread_mutex_lock(&s->lock);
        if (r == 0)
                r = tell_case(s, verdict, err);
        if (r == 0)
                s->is_stopped = s->is_stopped || concerns_all(result->run.outcome);
        if (result)
                add_to_whole(s, result);
        if (r < 0 && !s->failure) {
                s->is_stopped = true;
                s->failure = r;
                s->error = *err;
        }
        (void)pthread_mutex_unlock(&s->lock);
}

/* ---- all cases ---- */

static bool is_cancelled(const struct session *s)
{
        struct pollfd slot = { .fd = s->order->cancel_fd, .events = POLLIN };

        return slot.fd >= 0 && poll(&slot, 1, 0) > 0;
}

static bool take_case(struct session *s, size_t *ret_index)
{
        bool taken = false;

        (void)pthread_mutex_lock(&s->lock);
        if (!s->is_stopped && s->next < s->cases->count && (s->next == 0 || !is_cancelled(s))) {
                *ret_index = s->next++;
                taken = true;
        }
        (void)pthread_mutex_unlock(&s->lock);
        return taken;
}

static void *work(void *argument)
{
        struct session *s = argument;
        size_t index = 0;

        while (take_case(s, &index)) {
                struct result *result = NULL;
                struct error err = { 0 };
                int r = run_case(s, index, &result, &err);

                finish_case(s, index, r, result, &err);
        }
        return NULL;
}

/* Signals are the caller's business, and must find its own thread. */
static void work_together(struct session *s, unsigned jobs)
{
        pthread_t threads[CASES_JOBS_MAX];
        pthread_attr_t attributes;
        unsigned count = 0;
        sigset_t all, before;

        (void)pthread_attr_init(&attributes);
        /* A whole run needs more than the little that some C libraries give a thread. */
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        while (count + 1 < jobs && pthread_create(&threads[count], &attributes, work, s) == 0)
                count++; /* one that cannot be made leaves its work to the others */
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        (void)pthread_attr_destroy(&attributes);
        (void)work(s);
        for (unsigned i = 0; i < count; i++)
                (void)pthread_join(threads[i], NULL); /* ours, and joined once */
}

/* Cases that write into the same place run one after another. */
static int choose_jobs(const struct session *s, unsigned asked, unsigned *ret_jobs,
                       struct error *err)
{
        struct policy_values policy;
        cpu_set_t cpus;
        int r = case_effective(s->order->layers, s->compiled ? s->compiled->language : NULL,
                               &policy, err);

        if (r < 0)
                return r;
        CPU_ZERO(&cpus);
        if (!asked)
                asked = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus)
                                                                       : 1;
        if (policy.workspace)
                asked = 1;
        for (size_t i = 0; i < policy.mount_count; i++)
                if (policy.mounts[i].writable)
                        asked = 1;
        policy_values_done(&policy);
        if (asked > s->cases->count)
                asked = (unsigned)s->cases->count;
        *ret_jobs = asked > CASES_JOBS_MAX ? CASES_JOBS_MAX : asked > 0 ? asked : 1;
        return 0;
}

/* What became of the session as a whole: OK where every case was run. */
static enum outcome find_fate(const struct session *s)
{
        enum outcome fate = s->whole->run.outcome;

        if (concerns_all(fate))
                return fate;
        fate = OUTCOME_OK;
        for (size_t i = 0; i < s->cases->count; i++) {
                const struct result_case *verdict = &s->verdicts[i];

                if (verdict->verdict && concerns_all(verdict->outcome))
                        return verdict->outcome;
                if (!verdict->verdict || verdict->outcome == OUTCOME_CANCELLED)
                        fate = OUTCOME_CANCELLED;
        }
        return fate;
}

/* Cases that were never begun share the fate of the one that ended the session. */
static int settle_rest(struct session *s, enum outcome fate, struct error *err)
{
        const char *message =
                fate == OUTCOME_CANCELLED ? "The run was cancelled" : s->whole->message;
        int r = 0;

        for (size_t i = 0; i < s->cases->count && r == 0; i++) {
                if (s->verdicts[i].verdict)
                        continue;
                r = verdict_not_run(&s->verdicts[i], fate, message, err);
                if (r == 0)
                        r = tell_case(s, &s->verdicts[i], err);
        }
        return r;
}

/* "2 of 3 cases accepted; case 2: wrong_answer: line 1: ..." */
static int count_accepted(struct result *whole, struct error *err)
{
        const struct result_case *worst = NULL;
        AUTO_STRBUF struct strbuf text = { 0 };
        size_t accepted = 0;

        for (size_t i = 0; i < whole->case_count; i++) {
                bool good = str_equal(whole->cases[i].verdict, "accepted");

                accepted += good;
                if (!good && !worst)
                        worst = &whole->cases[i];
        }
        strbuf_addf(&text, "%zu of %zu cases accepted", accepted, whole->case_count);
        if (worst)
                strbuf_addf(&text, "; case %zu: %s%s%s", worst->number, worst->verdict,
                            worst->message ? ": " : "", worst->message ? worst->message : "");
        whole->run.outcome = worst ? OUTCOME_FAILED : OUTCOME_OK;
        whole->run.exit_code = worst ? 1 : 0;
        whole->run.signal = 0;
        if (text.failed || result_set_message(whole, "%s", text.data) < 0)
                return error_set_nomem(err);
        return 0;
}

/* What one case alone had is dropped; the limits are those that hold where a case says nothing. */
static int forget_single(struct session *s, struct error *err)
{
        struct result *whole = s->whole;
        struct policy_values policy;
        int r;

        strbuf_done(&whole->run.out.kept);
        strbuf_done(&whole->run.err.kept);
        whole->run.out = whole->run.err = (struct result_stream){ 0 };
        strlist_done(&whole->created);
        strlist_done(&whole->modified);
        strlist_done(&whole->deleted);
        whole->files_truncated = false;
        if (s->id[0])
                memcpy(whole->id, s->id, sizeof(whole->id));
        if (s->compiled && s->compiled->compiled) {
                result_step_done(&whole->compile);
                whole->compiled = true;
                whole->compile = s->compiled->compile;
                s->compiled->compile = (struct result_step){ 0 };
        }
        r = case_effective(s->order->layers, whole->language, &policy, err);
        if (r < 0)
                return r;
        whole->limit_count = 0;
        limits_list(&policy.limits, whole);
        policy_values_done(&policy);
        return 0;
}

/* The one result of all: what every run had in common, and what became of the cases. */
static int compose(struct session *s, struct error *err)
{
        struct result *whole = s->whole;
        enum outcome fate = find_fate(s);
        int r;

        r = settle_rest(s, fate, err);
        if (r < 0)
                return r;
        whole->cases = TAKE(s->verdicts);
        whole->case_count = s->cases->count;
        r = forget_single(s, err);
        if (r < 0)
                return r;
        if (fate == OUTCOME_OK)
                return count_accepted(whole, err);
        whole->run.outcome = fate;
        if (fate == OUTCOME_CANCELLED)
                return result_set_message(whole, "The run was cancelled") < 0 ? error_set_nomem(err)
                                                                              : 0;
        return 0;
}

/* Compiles the code, where the caller has no program already. A compilation that ends otherwise
 * than well is the result of all. */
static int compile(struct session *s, struct error *err)
{
        struct engine_order order = *s->order;
        int r;

        if (order.program) {
                tell(s, "execution.start", NULL, order.program->code->language);
                return 0;
        }
        order.event = hear_start;
        order.log = NULL;
        order.usage = NULL;
        order.context = s;
        r = engine_compile(s->engine, &order, &s->program, &s->compiled, err);
        if (r == 0 && s->compiled->run.outcome != OUTCOME_OK)
                s->whole = TAKE(s->compiled);
        return r;
}

static int run_session(struct session *s, unsigned jobs, struct error *err)
{
        int r = case_check_all(s->order, s->cases, err);

        if (r == 0)
                r = compile(s, err);
        if (r == 0)
                r = choose_jobs(s, jobs, &jobs, err);
        if (r < 0)
                return r;
        if (!s->whole)
                work_together(s, jobs);
        if (s->failure) {
                if (err)
                        *err = s->error;
                return s->failure;
        }
        r = compose(s, err);
        if (r == 0)
                tell(s, "execution.complete", NULL, s->whole->language);
        return r;
}

int engine_run_cases(struct engine *engine, const struct engine_order *order,
                     const struct cases *cases, unsigned jobs, struct result **ret_result,
                     struct error *err)
{
        struct session s = {
                .engine = engine,
                .order = order,
                .cases = cases,
                .started_ns = clock_now_ns(),
                .verdicts = result_cases_new(cases->count),
        };
        int r = s.verdicts ? 0 : error_set_nomem(err);

        for (size_t i = 0; r == 0 && i < cases->count; i++)
                if (cases->items[i].name &&
                    !(s.verdicts[i].name = mem_strdup(cases->items[i].name)))
                        r = error_set_nomem(err);
        bundle_init(&s.program.built);
        (void)pthread_mutex_init(&s.lock, NULL); /* cannot fail with default attributes */
        if (r == 0)
                r = run_session(&s, jobs, err);
        (void)pthread_mutex_destroy(&s.lock);
        engine_program_done(&s.program);
        result_free(s.compiled);
        result_cases_free(s.verdicts, cases->count);
        if (r < 0)
                result_free(s.whole);
        else
                *ret_result = s.whole;
        return r;
}
