/*
 * The descriptions of the tools (tools.json), and values checked against them. Of JSON Schema there
 * is what the descriptions use. In the file {"use": NAME} stands for a definition of that name;
 * with other keys beside it, those come on top.
 */
#include "mcp/mcp.h"

#include <stdio.h>
#include <string.h>

enum { SCHEMA_DEPTH_MAX = 16 };

static json_t *expand(const json_t *definitions, json_t *value, int depth);

static json_t *expand_object(const json_t *definitions, json_t *value, int depth)
{
        const char *used = json_string_value(json_object_get(value, "use"));
        json_t *expanded = used ? expand(definitions, json_object_get(definitions, used), depth)
                                : json_object();
        const char *key;
        json_t *member;

        json_object_foreach(value, key, member)
        {
                if (strcmp(key, "use") != 0 || !used)
                        (void)json_object_set_new(expanded, key,
                                                  expand(definitions, member, depth));
        }
        return expanded;
}

static json_t *expand(const json_t *definitions, json_t *value, int depth)
{
        json_t *list, *member;
        size_t index;

        if (depth > SCHEMA_DEPTH_MAX)
                return NULL;
        if (json_is_object(value))
                return expand_object(definitions, value, depth + 1);
        if (!json_is_array(value))
                return json_incref(value);
        list = json_array();
        json_array_foreach(value, index, member)
        {
                (void)json_array_append_new(list, expand(definitions, member, depth + 1));
        }
        return list;
}

const char *const schema_packages[] = { "packages", "libraries", NULL };

json_t *schema_load_tools(bool read_only, bool no_packages)
{
        json_t *file = json_loads(mcp_tools_json, 0, NULL);
        json_t *tools = json_array(), *tool;
        size_t index;

        json_array_foreach(json_object_get(file, "tools"), index, tool)
        {
                bool writes = json_is_true(json_object_get(tool, "writes"));
                json_t *arguments =
                        json_object_get(json_object_get(tool, "inputSchema"), "properties");

                (void)json_object_del(tool, "writes"); /* it need not be there */
                for (size_t i = 0; no_packages && schema_packages[i]; i++)
                        (void)json_object_del(arguments, schema_packages[i]);
                if (!writes || !read_only)
                        (void)json_array_append_new(
                                tools, expand(json_object_get(file, "definitions"), tool, 0));
        }
        json_decref(file);
        if (json_array_size(tools) > 0)
                return tools;
        json_decref(tools);
        return NULL;
}

static const char *type_of(const json_t *value)
{
        switch (json_typeof(value)) {
        case JSON_OBJECT:
                return "object";
        case JSON_ARRAY:
                return "array";
        case JSON_STRING:
                return "string";
        case JSON_INTEGER:
                return "integer";
        case JSON_REAL:
                return "number";
        case JSON_NULL:
                return "null";
        default:
                return "boolean";
        }
}

static bool fits_type(const json_t *schema, const json_t *value)
{
        const char *wanted = json_string_value(json_object_get(schema, "type"));

        if (!wanted || strcmp(wanted, type_of(value)) == 0)
                return true;
        if (strcmp(wanted, "integer") == 0 && json_is_real(value))
                return json_real_value(value) == (double)(long long)json_real_value(value);
        return strcmp(wanted, "number") == 0 && json_is_integer(value);
}

static bool fits_choice(const json_t *schema, const json_t *value)
{
        const json_t *choices = json_object_get(schema, "enum");
        size_t index;
        json_t *choice;

        json_array_foreach(choices, index, choice)
        {
                if (json_equal(choice, value))
                        return true;
        }
        return choices == NULL;
}

/* Bounds of numbers, of lengths and of counts; NULL where the value is within. */
static const char *find_excess(const json_t *schema, const json_t *value)
{
        double number = json_is_string(value)  ? (double)json_string_length(value)
                        : json_is_array(value) ? (double)json_array_size(value)
                                               : json_number_value(value);
        const struct {
                const char *key;
                bool applies;
                int direction; /* 1: at most, -1: at least, -2: more than */
                const char *problem;
        } bounds[] = {
                { "maximum", json_is_number(value), 1, "is too large" },
                { "minimum", json_is_number(value), -1, "is too small" },
                { "exclusiveMinimum", json_is_number(value), -2, "is too small" },
                { "maxLength", json_is_string(value), 1, "is too long" },
                { "minLength", json_is_string(value), -1, "is empty" },
                { "maxItems", json_is_array(value), 1, "has too many items" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
                const json_t *bound = json_object_get(schema, bounds[i].key);
                double limit = json_number_value(bound);

                if (!bound || !bounds[i].applies)
                        continue;
                if ((bounds[i].direction == 1 && number > limit) ||
                    (bounds[i].direction == -1 && number < limit) ||
                    (bounds[i].direction == -2 && number <= limit))
                        return bounds[i].problem;
        }
        return NULL;
}

static bool check_members(const json_t *schema, const json_t *value, char *reason, size_t size)
{
        const json_t *properties = json_object_get(schema, "properties"), *word;
        bool closed = json_is_false(json_object_get(schema, "additionalProperties"));
        const char *key;
        json_t *member;
        size_t index;
        char shown[80];

        json_array_foreach(json_object_get(schema, "required"), index, word)
        {
                if (json_object_get(value, json_string_value(word)))
                        continue;
                (void)snprintf(reason, size, "'%s' is missing", json_string_value(word));
                return false;
        }
        json_object_foreach((json_t *)(uintptr_t)value, key, member)
        {
                const json_t *inner = json_object_get(properties, key);

                str_printable(key, shown, sizeof(shown));
                if (!inner && closed) {
                        (void)snprintf(reason, size, "there is no argument '%s'", shown);
                        return false;
                }
                if (inner && !schema_check(inner, member, shown, reason, size))
                        return false;
        }
        return true;
}

bool schema_check(const json_t *schema, const json_t *value, const char *name, char *reason,
                  size_t size)
{
        const json_t *items = json_object_get(schema, "items");
        const char *excess = find_excess(schema, value);
        json_t *item;
        size_t index;

        if (!fits_type(schema, value)) {
                (void)snprintf(reason, size, "'%s' must be of type %s, not %s", name,
                               json_string_value(json_object_get(schema, "type")), type_of(value));
                return false;
        }
        if (excess || !fits_choice(schema, value)) {
                (void)snprintf(reason, size, "'%s' %s", name,
                               excess ? excess : "is none of the values that are allowed");
                return false;
        }
        json_array_foreach(value, index, item)
        {
                if (items && !schema_check(items, item, name, reason, size))
                        return false;
        }
        return !json_is_object(value) || check_members(schema, value, reason, size);
}
