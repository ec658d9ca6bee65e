/* The languages as they are on this machine. */
#include "engine/engine.h"

#include <jansson.h>

static json_t *list_of(const char *const *items)
{
        json_t *list = json_array();

        for (; *items; items++)
                (void)json_array_append_new(list, json_string(*items));
        return list;
}

static json_t *describe(const struct engine *engine, const struct language *language)
{
        struct error why = { 0 };
        struct language_tool tool = { 0 };
        bool found = language_find(language, engine->cache_dir, &tool, &why) == 0;
        json_t *json = json_pack("{s:s, s:s, s:o, s:o}", "name", language->name, "title",
                                 language->title, "aliases", list_of(language->aliases),
                                 "extensions", list_of(language->extensions));

        (void)json_object_set_new(json, "version",
                                  tool.version[0] ? json_string(tool.version) : json_null());
        (void)json_object_set_new(json, "path",
                                  tool.path[0] ? json_string(tool.path) : json_null());
        (void)json_object_set_new(json, "warm",
                                  json_string(language->park.command[0] ? language->warm : "none"));
        (void)json_object_set_new(json, "status", json_string(found ? "ready" : "missing"));
        (void)json_object_set_new(json, "reason", found ? json_null() : json_string(why.message));
        (void)json_object_set_new(json, "fix",
                                  found || !why.hint[0] ? json_null() : json_string(why.hint));
        return json;
}

char *engine_languages_json(struct engine *engine, struct error *err)
{
        json_t *list = json_array();
        char *text;

        for (size_t i = 0; i < languages_count(engine->languages); i++)
                (void)json_array_append_new(list,
                                            describe(engine, languages_at(engine->languages, i)));
        text = json_dumps(list, JSON_INDENT(2));
        json_decref(list);
        if (!text)
                (void)error_set_nomem(err);
        return text;
}
