/* The languages as they are on this machine. */
#include "engine/engine.h"
#include "engine/wasm.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/policy_keys.h"

#include <jansson.h>
#include <string.h>

static json_t *list_of(const char *const *items)
{
        json_t *list = json_array();

        for (; *items; items++)
                (void)json_array_append_new(list, json_string(*items));
        return list;
}

/* A module has its interpreter in the wasm backend alone. */
static bool find(const struct engine *engine, const struct language *language, const json_t *built,
                 struct language_tool *ret_tool, struct error *ret_why)
{
        if (!str_equal(language->name, "wasm") || built)
                return language_find(language, engine->cache_dir, ret_tool, ret_why) == 0;
        (void)error_set(ret_why, SBX_EUNAVAILABLE, "backend 'wasm' is not built");
        error_hint(ret_why, "build it once, in the source's folder: make wasm");
        return false;
}

/* `built`: what the wasm backend has, or NULL. */
static json_t *describe(const struct engine *engine, const struct language *language,
                        const json_t *built)
{
        struct error why = { 0 };
        struct language_tool tool = { 0 };
        bool found = find(engine, language, built, &tool, &why);
        json_t *guest = json_object_get(
                json_object_get(json_object_get(built, "guests"), language->name), "version");
        json_t *json = json_pack("{s:s, s:s, s:o, s:o}", "name", language->name, "title",
                                 language->title, "aliases", list_of(language->aliases),
                                 "extensions", list_of(language->extensions));

        (void)json_object_set_new(json, "version",
                                  tool.version[0] ? json_string(tool.version) : json_null());
        (void)json_object_set_new(json, "path",
                                  tool.path[0] ? json_string(tool.path) : json_null());
        (void)json_object_set_new(json, "warm",
                                  json_string(language->park.command[0] ? language->warm : "none"));
        (void)json_object_set_new(json, "wasm", json_incref(guest ? guest : json_null()));
        (void)json_object_set_new(json, "status", json_string(found ? "ready" : "missing"));
        (void)json_object_set_new(json, "reason", found ? json_null() : json_string(why.message));
        (void)json_object_set_new(json, "fix",
                                  found || !why.hint[0] ? json_null() : json_string(why.hint));
        return json;
}

char *engine_languages_json(struct engine *engine, struct error *err)
{
        AUTO_FREE char *about = wasm_about(engine, NULL);
        json_t *built = about ? json_loads(about, 0, NULL) : NULL;
        json_t *list = json_array();
        char *text;

        for (size_t i = 0; i < languages_count(engine->languages); i++) {
                const struct language *language = languages_at(engine->languages, i);

                (void)json_array_append_new(list, describe(engine, language, built));
        }
        json_decref(built);
        text = json_dumps(list, JSON_INDENT(2));
        json_decref(list);
        if (!text)
                (void)error_set_nomem(err);
        return text;
}

/* The language whose name is nearest to a wrong one; NULL where none is near. */
static const char *nearest(const struct engine *engine, const char *wrong)
{
        const char *best = NULL;
        int best_distance = 0;

        for (size_t i = 0; i < languages_count(engine->languages); i++) {
                const char *name = languages_at(engine->languages, i)->name;
                int distance = policy_distance(wrong, name, strlen(name));

                if (distance >= 0 && (!best || distance < best_distance)) {
                        best = name;
                        best_distance = distance;
                }
        }
        return best;
}

int engine_unknown_language(const struct engine *engine, const char *name, struct error *err)
{
        AUTO_FREE char *list = languages_list(engine->languages);
        const char *near = name ? nearest(engine, name) : NULL;
        char shown[160];
        int r;

        if (name)
                r = error_set(err, SBX_ELANGUAGE, "no such language: '%s'",
                              str_printable(name, shown, sizeof(shown)));
        else
                r = error_set(err, SBX_ELANGUAGE, "cannot tell the language of the code");
        if (near)
                error_hint(err, "did you mean '%s'? There are: %s", near, list ? list : "");
        else
                error_hint(err, "name one of these with --lang: %s", list ? list : "");
        return r;
}

char *engine_language_name(const struct engine *engine, const char *name, struct error *err)
{
        const struct language *language = languages_by_name(engine->languages, name);
        char *own = language ? mem_strdup(language->name) : NULL;

        if (!language)
                (void)engine_unknown_language(engine, name, err);
        else if (!own)
                (void)error_set_nomem(err);
        return own;
}
