#include "api/api.h"
#include "engine/keeper.h"
#include "base/mem.h"

#include <string.h>

static void pass_slot(void *context, const struct engine_event *inner)
{
        const sbx_engine *engine = context;
        sbx_event event = api_event(inner);

        engine->slot_handler(&event, engine->slot_userdata);
}

sbx_engine *sbx_engine_new(const sbx_engine_options *options, sbx_error **err)
{
        sbx_engine_options given = { 0 };
        struct engine_options inner;
        struct error error;
        sbx_engine *engine = mem_alloc(sizeof(*engine));
        int r;

        if (!engine) {
                (void)error_set_nomem(&error);
                (void)api_fail(&error, err);
                return NULL;
        }
        if (options && options->size < sizeof(options->size)) {
                mem_free(engine);
                (void)error_set(&error, SBX_EINVAL,
                                "sbx_engine_new: the options say no size, so nothing of them "
                                "would count");
                error_hint(&error, "set .size = sizeof(sbx_engine_options)");
                (void)api_fail(&error, err);
                return NULL;
        }
        /* A caller of an older version knows fewer members, one of a newer version more. */
        if (options)
                memcpy(&given, options,
                       options->size < sizeof(given) ? options->size : sizeof(given));
        inner = (struct engine_options){ .init_path = given.init_path,
                                         .max_runs = given.max_runs,
                                         .warm_slots = given.warm_slots,
                                         .warm_least = given.warm_least,
                                         .warm_idle_ms = given.warm_idle_ms,
                                         .warm_memory = given.warm_memory,
                                         .warm_waits = given.warm_waits,
                                         .keeper_path = given.keeper_path,
                                         .early_start = given.early_start,
                                         .serves_alone = given.serves_alone,
                                         .slot_event = given.slot_handler ? pass_slot : NULL,
                                         .slot_context = engine };
        engine->slot_handler = given.slot_handler;
        engine->slot_userdata = given.slot_userdata;
        engine->untrusted_requests = given.untrusted_requests;
        r = engine_init(&engine->engine, &inner, &error);
        if (r < 0) {
                mem_free(engine);
                (void)api_fail(&error, err);
                return NULL;
        }
        r = api_languages_add_own(engine->engine.languages, &error);
        if (r == 0 && given.languages_dir)
                r = api_languages_add(engine->engine.languages, given.languages_dir, &error);
        if (r < 0) {
                sbx_engine_free(engine);
                (void)api_fail(&error, err);
                return NULL;
        }
        return engine;
}

void sbx_engine_free(sbx_engine *engine)
{
        if (!engine)
                return;
        engine_done(&engine->engine);
        mem_free(engine);
}

char *sbx_languages_json(sbx_engine *engine, sbx_error **err)
{
        struct error error;
        char *text = engine_languages_json(&engine->engine, &error);

        if (!text)
                (void)api_fail(&error, err);
        return text;
}

char *sbx_language_name(sbx_engine *engine, const char *name, sbx_error **err)
{
        struct error error = { 0 };
        char *own = engine_language_name(&engine->engine, name, &error);

        if (!own)
                (void)api_fail(&error, err);
        return own;
}

char *sbx_doctor_json(sbx_engine *engine, sbx_error **err)
{
        struct error error = { 0 };
        char *text = engine_doctor_json(&engine->engine, &error);

        if (!text)
                (void)api_fail(&error, err);
        return text;
}

int sbx_engine_stats(sbx_engine *engine, sbx_stats *stats, sbx_error **err)
{
        struct engine_stats now;
        sbx_stats all = { 0 };

        if (!engine || !stats)
                return api_fail_null("sbx_engine_stats", err);
        now = engine_stats(&engine->engine);
        all = (sbx_stats){ stats->size,  now.hatched, now.forked, now.missed, now.ended,
                           now.failures, now.ready,   now.parked, now.memory, now.making };
        memcpy(stats, &all, stats->size < sizeof(all) ? stats->size : sizeof(all));
        return 0;
}

int sbx_engine_serve(sbx_engine *engine, int listen_fd, int stop_fd, uint64_t idle_ms,
                     sbx_error **err)
{
        struct error error;
        int r;

        if (!engine)
                return api_fail_null("sbx_engine_serve", err);
        r = keeper_serve(&engine->engine, listen_fd, stop_fd, idle_ms, &error);
        return r < 0 ? api_fail(&error, err) : r;
}

char *sbx_keeper_json(const char *path, sbx_error **err)
{
        struct error error = { 0 };
        char *text = NULL;

        if (!path) {
                (void)api_fail_null("sbx_keeper_json", err);
                return NULL;
        }
        text = keeper_tell_json(path, &error);
        if (!text)
                (void)api_fail(&error, err);
        return text;
}

int sbx_keeper_end(const char *path, sbx_error **err)
{
        struct error error = { 0 };

        if (!path)
                return api_fail_null("sbx_keeper_end", err);
        return keeper_end(path, &error) < 0 ? api_fail(&error, err) : 0;
}
