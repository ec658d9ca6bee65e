/* For each value the layer that set it, with its place. */
#include "policy_helpers.h"

#include <jansson.h>

struct stack {
        struct policy policies[4];
        const struct policy *layers[4];
        size_t count;
};

/* A profile, a file, the environment and a request over one another. */
static void stack_up(struct stack *stack)
{
        static char memory[] = "SANDBOX_MEMORY_MB=77";
        static char *environment[] = { memory, NULL };

        *stack = (struct stack){ .count = 4 };
        for (size_t i = 0; i < stack->count; i++) {
                policy_init(&stack->policies[i]);
                stack->layers[i] = &stack->policies[i];
        }
        assert_int_equal(policy_load_profile(&stack->policies[0], "judge", NULL), 0);
        assert_int_equal(load(&stack->policies[1],
                              "version: 1\n"
                              "limits:\n"
                              "  processes: 7\n"
                              "  memory: 9M\n"
                              "env: {A: x}\n"
                              "network:\n"
                              "  allow: [a.org]\n"
                              "analysis:\n"
                              "  shell:\n"
                              "    forbidden_commands: [rm]\n"
                              "languages:\n"
                              "  python: {limits: {disk: 5M}}\n",
                              NULL),
                         0);
        assert_int_equal(policy_load_environment(&stack->policies[2], environment, NULL), 0);
        stack->policies[3].layer = LAYER_REQUEST;
        assert_int_equal(policy_set(&stack->policies[3].general, "limits.timeout", "3s", NULL), 0);
        assert_int_equal(policy_set(&stack->policies[3].general, "env.B", "y", NULL), 0);
        assert_int_equal(policy_add_mount(&stack->policies[3].general, "/s", "/data", "ro", NULL),
                         0);
}

static json_t *explain(struct stack *stack, const char *language)
{
        struct policy_values values;
        char *text;
        json_t *rows;

        assert_int_equal(policy_effective(stack->layers, stack->count, language, &values, NULL), 0);
        text = policy_explain(stack->layers, stack->count, language, &values);
        assert_non_null(text);
        rows = json_loads(text, 0, NULL);
        assert_non_null(rows);
        mem_free(text);
        policy_values_done(&values);
        return rows;
}

static void check_row(const json_t *rows, const char *key, const char *text, const char *layer,
                      const char *source, int line, const char *language)
{
        size_t index;
        json_t *row;

        json_array_foreach(rows, index, row)
        {
                const char *found = json_string_value(json_object_get(row, "source"));
                const char *block = json_string_value(json_object_get(row, "language"));

                if (strcmp(json_string_value(json_object_get(row, "key")), key) != 0)
                        continue;
                assert_string_equal(json_string_value(json_object_get(row, "text")), text);
                assert_string_equal(json_string_value(json_object_get(row, "layer")), layer);
                assert_string_equal(found ? found : "", source);
                assert_int_equal(json_integer_value(json_object_get(row, "line")), line);
                assert_string_equal(block ? block : "", language);
                return;
        }
        fail_msg("no row for '%s'", key);
}

static void each_value_names_its_layer(void **state)
{
        struct stack stack;
        json_t *rows;

        stack_up(&stack);
        rows = explain(&stack, "python");
        check_row(rows, "enforcement", "strict", "profile", "judge", 6, "");
        check_row(rows, "limits.cpu_time", "5s", "profile", "judge", 24, "python");
        check_row(rows, "limits.processes", "7", "file", "p.yaml", 3, "");
        check_row(rows, "limits.disk", "5M", "file", "p.yaml", 12, "python");
        check_row(rows, "limits.memory", "77M", "environment", "SANDBOX_MEMORY_MB", 0, "");
        check_row(rows, "limits.timeout", "3s", "request", "", 0, "");
        check_row(rows, "limits.fuel", "5000000000", "default", "", 0, "");
        check_row(rows, "env.A", "x", "file", "p.yaml", 5, "");
        check_row(rows, "env.B", "y", "request", "", 0, "");
        check_row(rows, "env.LC_ALL", "C.UTF-8", "default", "", 0, "");
        /* The destinations imply the mode. */
        check_row(rows, "network.mode", "allowlist", "file", "p.yaml", 7, "");
        check_row(rows, "network.allow", "[\"a.org\"]", "file", "p.yaml", 7, "");
        check_row(rows, "filesystem.mounts",
                  "{\"source\": \"/s\", \"target\": \"/data\", \"mode\": \"ro\"}", "request", "", 0,
                  "");
        check_row(rows, "analysis.shell.forbidden_commands", "[\"rm\"]", "file", "p.yaml", 10, "");
        json_decref(rows);
        rows = explain(&stack, NULL);
        check_row(rows, "limits.disk", "64M", "profile", "judge", 13, "");
        json_decref(rows);
        for (size_t i = 0; i < stack.count; i++)
                policy_done(&stack.policies[i]);
}

static void what_suits_a_language_is_told_as_its_own_layer(void **state)
{
        struct stack stack = { .count = 2 };
        json_t *rows;

        for (size_t i = 0; i < stack.count; i++) {
                policy_init(&stack.policies[i]);
                stack.layers[i] = &stack.policies[i];
        }
        stack.policies[0].layer = LAYER_LANGUAGE;
        stack.policies[0].name = mem_strdup("java");
        assert_int_equal(policy_set(&stack.policies[0].general, "limits.memory", "1G", NULL), 0);
        assert_int_equal(policy_set(&stack.policies[0].general, "limits.processes", "99", NULL), 0);
        assert_int_equal(load(&stack.policies[1], "limits: {processes: 7}", NULL), 0);
        rows = explain(&stack, "java");
        check_row(rows, "limits.memory", "1G", "language", "java", 0, "");
        check_row(rows, "limits.processes", "7", "file", "p.yaml", 1, "");
        json_decref(rows);
        policy_done(&stack.policies[0]);
        policy_done(&stack.policies[1]);
}

static void without_layers_all_is_default(void **state)
{
        struct stack stack = { .count = 0 };
        json_t *rows = explain(&stack, NULL);
        size_t index;
        json_t *row;

        assert_true(json_array_size(rows) > 20);
        json_array_foreach(rows, index, row)
                assert_string_equal(json_string_value(json_object_get(row, "layer")), "default");
        json_decref(rows);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_value_names_its_layer),
                cmocka_unit_test(what_suits_a_language_is_told_as_its_own_layer),
                cmocka_unit_test(without_layers_all_is_default),
        };

        return RUN(tests);
}
