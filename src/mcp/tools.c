/* tools/call: finds the tool, checks its arguments against its schema, runs it. */
#include "mcp/mcp.h"

#include <string.h>

static const struct {
        const char *name;
        tool_function run;
} tools[] = {
        { "run_code", tool_run_code },
        { "run_python_code", tool_run_python_code },
        { "execute_code", tool_execute_code },
        { "check_code", tool_check_code },
        { "list_languages", tool_list_languages },
        { "create_session", tool_create_session },
        { "list_sessions", tool_list_sessions },
        { "reset_session", tool_reset_session },
        { "destroy_session", tool_destroy_session },
        { "write_file", tool_write_file },
        { "read_file", tool_read_file },
        { "list_files", tool_list_files },
        { "get_limits", tool_get_limits },
        { "history", tool_history },
};

/* Only what is listed can be called: a server that is read-only lists less. */
static const json_t *find_description(const struct server *server, const char *name)
{
        json_t *tool;
        size_t index;

        json_array_foreach(server->tools, index, tool)
        {
                if (str_equal(json_string_value(json_object_get(tool, "name")), name))
                        return tool;
        }
        return NULL;
}

static tool_function find_function(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
                if (strcmp(tools[i].name, name) == 0)
                        return tools[i].run;
        return NULL;
}

static json_t *pack(struct call *call, struct answer *answer)
{
        json_t *result =
                json_pack("{s:o, s:b}", "content", answer->content ? answer->content : json_array(),
                          "isError", answer->is_error);

        if (answer->structured && call->version >= MCP_2025_06_18 && result)
                (void)json_object_set(result, "structuredContent", answer->structured);
        json_decref(answer->structured);
        return result;
}

/* 1: they want something that this server does not do, and the answer says so. */
static int refuse_packages(const struct server *server, const json_t *arguments,
                           struct answer *answer)
{
        for (size_t i = 0; server->no_packages && schema_packages[i]; i++)
                if (json_object_get(arguments, schema_packages[i])) {
                        (void)answer_refuse(answer,
                                            "Not done: this server installs no packages. Use the "
                                            "standard library and what is installed here.");
                        return 1;
                }
        return 0;
}

int tools_call(struct call *call, json_t **ret_result)
{
        const char *name = rpc_string(call->params, "name");
        const json_t *description = name ? find_description(call->server, name) : NULL;
        json_t *given = json_object_get(call->params, "arguments");
        json_t *arguments = given ? json_incref(given) : json_object();
        struct answer answer = { 0 };
        char reason[256], shown[80];
        int r = 0;

        if (!description) {
                json_decref(arguments);
                return name ? call_fail(call, RPC_INVALID_PARAMS, "Unknown tool: %s",
                                        str_printable(name, shown, sizeof(shown)))
                            : call_fail(call, RPC_INVALID_PARAMS, "'name' must be a string");
        }
        if (refuse_packages(call->server, arguments, &answer))
                r = 0;
        else if (schema_check(json_object_get(description, "inputSchema"), arguments, "arguments",
                              reason, sizeof(reason)))
                r = find_function(name)(call, arguments, &answer);
        else if (call->version < MCP_2025_11_25)
                r = call_fail(call, RPC_INVALID_PARAMS, "%s: %s", name, reason);
        else /* so that the model can mend it */
                r = answer_refuse(&answer, "The arguments do not fit: %s.", reason);
        *ret_result = pack(call, &answer);
        json_decref(arguments);
        if (r < 0) {
                json_decref(*ret_result);
                *ret_result = NULL;
        }
        return r < 0 || !*ret_result ? -1 : 0;
}
