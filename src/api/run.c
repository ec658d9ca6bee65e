#include "api/api.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <pthread.h>
#include <string.h>

enum { THREAD_STACK = 2 << 20 };

struct sbx_execution {
        sbx_engine *engine;
        sbx_request *req;
        pthread_t thread;
        pthread_mutex_t lock;
        struct engine_usage usage; /* guarded by lock */
        uint64_t sampled_ns;       /* guarded by lock; 0: not yet */
        uint64_t started_ns;
        sbx_result *result;
        sbx_error *err;
};

static void fill_usage(sbx_event *event, const struct engine_usage *usage)
{
        event->memory = usage->memory;
        event->cpu_time = (double)usage->cpu_us / 1e6;
        event->processes = usage->processes;
        event->cpu_percent = (double)usage->cpu_milli / 10;
        event->memory_peak = usage->memory_peak;
        event->disk = usage->disk;
        event->io_read = usage->io_read;
        event->io_write = usage->io_write;
        event->network_in = usage->network_in;
        event->network_out = usage->network_out;
}

sbx_event api_event(const struct engine_event *inner)
{
        sbx_event event = {
                .size = sizeof(event),
                .kind = inner->kind,
                .id = inner->id,
                .time = inner->time,
                .data = inner->data,
                .length = inner->length,
                .text = inner->text,
                .used = inner->used,
                .allowed = inner->allowed,
                .result = (const sbx_result *)inner->result,
        };

        if (inner->usage)
                fill_usage(&event, inner->usage);
        return event;
}

static void pass_event(void *context, const struct engine_event *inner)
{
        const sbx_request *req = context;
        sbx_event event = api_event(inner);

        req->handler(&event, req->userdata);
}

static void pass_log(void *context, const struct engine_event *inner)
{
        const sbx_request *req = context;
        sbx_event event = api_event(inner);

        req->log_handler(&event, req->log_userdata);
}

static void pass_wait(void *context)
{
        const sbx_request *req = context;

        req->wait_handler(req->wait_userdata);
}

/* The latest sample is kept for sbx_usage(). */
static void keep_usage(void *context, const struct engine_usage *usage)
{
        const sbx_request *req = context;
        sbx_execution *execution = req->execution;

        (void)pthread_mutex_lock(&execution->lock);
        execution->usage = *usage;
        execution->sampled_ns = clock_now_ns();
        (void)pthread_mutex_unlock(&execution->lock);
}

/* A block for a language that nobody has heard of is a mistake, not something to pass over. */
static int check_file_languages(const struct engine *engine, const struct policy *file,
                                struct error *err)
{
        for (size_t i = 0; i < file->language_count; i++) {
                const struct policy_language *block = &file->languages[i];
                const struct language *language = languages_by_name(engine->languages, block->name);
                char shown[64];

                if (policy_knows_language(block->name) ||
                    (language && str_equal(language->name, block->name)))
                        continue;
                str_printable(block->name, shown, sizeof(shown));
                (void)error_set(err, SBX_EPOLICY, "%s:%zu:%zu: unknown language '%s'",
                                file->name ? file->name : "policy", block->line, block->column,
                                shown);
                if (language)
                        error_hint(err, "write '%s'", language->name);
                return SBX_EPOLICY;
        }
        return 0;
}

static int check_language_blocks(const struct engine *engine, const struct sbx_policy *policy,
                                 struct error *err)
{
        int r = 0;

        for (size_t i = 0; r == 0 && i < policy->file_count; i++)
                r = check_file_languages(engine, &policy->files[i], err);
        return r;
}

/* As it stands for a language, or in general where that is NULL. */
static int check_effective(const sbx_policy *policy, const char *language, struct error *err)
{
        const struct policy *layers[ENGINE_LAYERS_MAX];
        size_t count = api_policy_layers(policy, layers);
        struct policy_values values;
        int r = policy_effective(layers, count, language, &values, err);

        if (r < 0)
                return r;
        r = engine_check_policy(&values, err);
        policy_values_done(&values);
        return r;
}

int sbx_engine_check_policy(sbx_engine *engine, const sbx_policy *policy, sbx_error **err)
{
        struct error error;
        int r = check_language_blocks(&engine->engine, policy, &error);

        if (r == 0)
                r = check_effective(policy, NULL, &error);
        for (size_t i = 0; i < policy->file_count; i++)
                for (size_t j = 0; r == 0 && j < policy->files[i].language_count; j++)
                        r = check_effective(policy, policy->files[i].languages[j].name, &error);
        return r < 0 ? api_fail(&error, err) : 0;
}

/* What a request says, made ready for the engine. */
int api_order(sbx_engine *engine, sbx_request *req, struct engine_order *ret_order,
              struct error *err)
{
        size_t count;
        int r = check_language_blocks(&engine->engine, &req->policy, err);

        if (r == 0)
                r = bundle_settle(&req->request.sources, err);
        if (r == 0)
                r = bundle_settle(&req->request.inputs, err);
        *ret_order = (struct engine_order){
                .request = &req->request,
                .program = req->program ? &req->program->program : NULL,
                .template = template_use_is_given(&req->template) ? &req->template : NULL,
                .cancel_fd = req->cancel_fd,
                .event = req->handler ? pass_event : NULL,
                .log = req->log_handler ? pass_log : NULL,
                .usage = req->execution ? keep_usage : NULL,
                .wait = req->wait_handler ? pass_wait : NULL,
                .context = req,
                .log_context = req,
        };
        count = api_policy_layers(&req->policy, ret_order->layers);
        if (engine->untrusted_requests)
                ret_order->layers[count++] = &policy_seal;
        if (r == 0 && engine->untrusted_requests && req->request.trusted)
                r = error_set(err, SBX_EPOLICY,
                              "this engine's requests cannot leave static analysis out");
        ret_order->layers[count] = &req->settings;
        if (r == 0 && ret_order->program && ret_order->template)
                return error_set(err, SBX_EINVAL,
                                 "a program was compiled with its template, and takes no other");
        if (r == 0 && req->template.count && !ret_order->template)
                return error_set(err, SBX_EINVAL, "values are given, and no template for them");
        return r;
}

sbx_result *sbx_run(sbx_engine *engine, sbx_request *req, sbx_error **err)
{
        struct engine_order order;
        struct result *result = NULL;
        struct error error = { 0 };

        if (!engine || !req) {
                (void)api_fail_null("sbx_run", err);
                return NULL;
        }
        if (api_order(engine, req, &order, &error) < 0 ||
            engine_run(&engine->engine, &order, &result, &error) < 0) {
                (void)api_fail(&error, err);
                return NULL;
        }
        return (sbx_result *)result;
}

char *sbx_check(sbx_engine *engine, sbx_request *req, sbx_error **err)
{
        struct engine_order order;
        struct error error = { 0 };
        char *report = NULL;

        if (!engine || !req) {
                (void)api_fail_null("sbx_check", err);
                return NULL;
        }
        if (api_order(engine, req, &order, &error) == 0)
                report = engine_check(&engine->engine, &order, &error);
        if (!report)
                (void)api_fail(&error, err);
        return report;
}

sbx_program *sbx_program_new(sbx_engine *engine, sbx_request *req, sbx_error **err)
{
        struct engine_order order;
        struct error error = { 0 };
        sbx_program *program;
        int r;

        if (!engine || !req) {
                (void)api_fail_null("sbx_program_new", err);
                return NULL;
        }
        program = mem_alloc(sizeof(*program));
        r = program ? api_order(engine, req, &order, &error) : error_set_nomem(&error);
        if (r == 0)
                r = engine_compile(&engine->engine, &order, &program->program, &program->result,
                                   &error);
        if (r < 0) {
                mem_free(program);
                (void)api_fail(&error, err);
                return NULL;
        }
        return program;
}

void sbx_program_free(sbx_program *program)
{
        if (!program)
                return;
        engine_program_done(&program->program);
        result_free(program->result);
        mem_free(program);
}

const sbx_result *sbx_program_result(const sbx_program *program)
{
        return program ? (const sbx_result *)program->result : NULL;
}

int sbx_request_set_program(sbx_request *req, const sbx_program *program, sbx_error **err)
{
        if (!req || !program)
                return api_fail_null("sbx_request_set_program", err);
        req->program = program;
        return 0;
}

static void *run_thread(void *argument)
{
        sbx_execution *execution = argument;

        execution->result = sbx_run(execution->engine, execution->req, &execution->err);
        return NULL;
}

/* Some C libraries give a thread 128 KiB; a run keeps larger buffers on its stack. */
static int start_thread(sbx_execution *execution)
{
        pthread_attr_t attributes;
        int r = pthread_attr_init(&attributes);

        if (r != 0)
                return r;
        (void)pthread_attr_setstacksize(&attributes, THREAD_STACK); /* else: the default */
        r = pthread_create(&execution->thread, &attributes, run_thread, execution);
        (void)pthread_attr_destroy(&attributes);
        return r;
}

sbx_execution *sbx_start(sbx_engine *engine, sbx_request *req, sbx_error **err)
{
        sbx_execution *execution;
        struct error error;
        int r;

        if (!engine || !req) {
                (void)api_fail_null("sbx_start", err);
                return NULL;
        }
        execution = mem_alloc(sizeof(*execution));
        if (!execution) {
                (void)error_set_nomem(&error);
                (void)api_fail(&error, err);
                return NULL;
        }
        execution->engine = engine;
        execution->req = req;
        execution->started_ns = clock_now_ns();
        (void)pthread_mutex_init(&execution->lock, NULL); /* cannot fail with default attributes */
        req->execution = execution;
        r = start_thread(execution);
        if (r != 0) {
                req->execution = NULL;
                (void)pthread_mutex_destroy(&execution->lock);
                mem_free(execution);
                (void)error_set(&error, SBX_ESYSTEM, "start a thread: %s", strerror(r));
                (void)api_fail(&error, err);
                return NULL;
        }
        return execution;
}

sbx_result *sbx_wait(sbx_execution *execution, sbx_error **err)
{
        sbx_result *result;

        if (!execution) {
                (void)api_fail_null("sbx_wait", err);
                return NULL;
        }
        (void)pthread_join(execution->thread, NULL); /* ours, and joined once */
        result = execution->result;
        if (!result && err)
                *err = execution->err;
        else
                sbx_error_free(execution->err);
        execution->req->execution = NULL;
        (void)pthread_mutex_destroy(&execution->lock);
        mem_free(execution);
        return result;
}

int sbx_usage(sbx_execution *execution, sbx_usage_sample *usage, sbx_error **err)
{
        struct engine_usage last;
        uint64_t sampled_ns;

        if (!execution || !usage)
                return api_fail_null("sbx_usage", err);
        if (usage->size < sizeof(*usage)) {
                struct error error;

                (void)error_set(&error, SBX_EINVAL, "sbx_usage: the size of the sample is not set");
                return api_fail(&error, err);
        }
        (void)pthread_mutex_lock(&execution->lock);
        last = execution->usage;
        sampled_ns = execution->sampled_ns;
        (void)pthread_mutex_unlock(&execution->lock);
        *usage = (sbx_usage_sample){
                .size = sizeof(*usage),
                .time = sampled_ns ? (double)(sampled_ns - execution->started_ns) / 1e9 : 0,
                .cpu_time = (double)last.cpu_us / 1e6,
                .cpu_percent = (double)last.cpu_milli / 10,
                .memory = last.memory,
                .memory_peak = last.memory_peak,
                .disk = last.disk,
                .io_read = last.io_read,
                .io_write = last.io_write,
                .network_in = last.network_in,
                .network_out = last.network_out,
                .processes = last.processes,
        };
        return 0;
}

void sbx_cancel(sbx_execution *execution)
{
        if (execution)
                sbx_request_cancel(execution->req);
}
