/*
 * From a line to the method that it asks for.
 *
 * Up to the revision 2025-11-25 a connection begins with a handshake, which settles the revision.
 * From 2026-07-28 on each request says its own in `params._meta`. What the first request does
 * decides for the connection; the other way is then refused.
 */
#include "mcp/mcp.h"

#include <string.h>

#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_SERVER       "io.modelcontextprotocol/serverInfo"

static const char instructions[] =
        "Runs code in many languages, contained: limits on time, memory and disk, no network but "
        "what "
        "get_limits names. Without a session every call starts from nothing; create_session gives "
        "one that keeps "
        "variables (Python, JavaScript) and files. Where something is refused, the answer says "
        "why and what to do instead. get_limits has the limits, list_languages the languages.";

static const char *const version_names[] = {
        [MCP_NONE] = "none",
        [MCP_2024_11_05] = "2024-11-05",
        [MCP_2025_03_26] = "2025-03-26",
        [MCP_2025_06_18] = "2025-06-18",
        [MCP_2025_11_25] = "2025-11-25",
        [MCP_2026_07_28] = "2026-07-28",
};

const char *version_name(enum mcp_version version)
{
        return version_names[version];
}

static enum mcp_version version_find(const char *name)
{
        for (enum mcp_version i = MCP_2024_11_05; name && i <= MCP_2026_07_28; i++)
                if (strcmp(version_names[i], name) == 0)
                        return i;
        return MCP_NONE;
}

static json_t *server_info(void)
{
        return json_pack("{s:s, s:s, s:s}", "name", "sandbox", "title", "Sandbox", "version",
                         sbx_version());
}

static json_t *capabilities(void)
{
        return json_pack("{s:{}, s:{}}", "tools", "resources");
}

json_t *dispatch_result(json_t *result, enum mcp_version version, bool is_cacheable)
{
        json_t *meta;

        if (version < MCP_2026_07_28)
                return result;
        meta = json_object_get(result, "_meta");
        if (!meta) {
                meta = json_object();
                (void)json_object_set_new(result, "_meta", meta);
        }
        (void)json_object_set_new(meta, META_SERVER, server_info());
        (void)json_object_set_new(result, "resultType", json_string("complete"));
        if (is_cacheable) {
                (void)json_object_set_new(result, "ttlMs", json_integer(0));
                (void)json_object_set_new(result, "cacheScope", json_string("private"));
        }
        return result;
}

static json_t *answer_ping(struct server *server, enum mcp_version version)
{
        return json_object();
}

static json_t *answer_tools(struct server *server, enum mcp_version version)
{
        return json_pack("{s:O}", "tools", server->tools);
}

static json_t *answer_templates(struct server *server, enum mcp_version version)
{
        return resources_templates();
}

static json_t *answer_discover(struct server *server, enum mcp_version version)
{
        return json_pack("{s:[s], s:o, s:s}", "supportedVersions", version_names[MCP_2026_07_28],
                         "capabilities", capabilities(), "instructions", instructions);
}

static const struct method methods[] = {
        { "ping", MCP_NONE, MCP_2025_11_25, false, answer_ping, NULL },
        { "server/discover", MCP_2026_07_28, MCP_2026_07_28, true, answer_discover, NULL },
        { "tools/list", MCP_2024_11_05, MCP_2026_07_28, true, answer_tools, NULL },
        { "tools/call", MCP_2024_11_05, MCP_2026_07_28, false, NULL, tools_call },
        { "resources/list", MCP_2024_11_05, MCP_2026_07_28, true, NULL, resources_list },
        { "resources/read", MCP_2024_11_05, MCP_2026_07_28, true, NULL, resources_read },
        { "resources/templates/list", MCP_2024_11_05, MCP_2026_07_28, true, answer_templates,
          NULL },
};

static const struct method *find_method(const char *name)
{
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
                if (strcmp(methods[i].name, name) == 0)
                        return &methods[i];
        return NULL;
}

/* One message, and where its answer goes. */
struct asked {
        struct server *server;
        const struct message *message;
        struct batch *batch; /* borrowed, or NULL */
};

static void refuse(const struct asked *asked, int code, const char *text, json_t *data)
{
        answer_send(asked->server, asked->batch,
                    rpc_error(json_incref(asked->message->id), code, text, data));
}

static void initialize(const struct asked *asked)
{
        struct server *server = asked->server;
        const char *wanted = rpc_string(asked->message->params, "protocolVersion");
        enum mcp_version version = version_find(wanted);

        if (server->version == MCP_2026_07_28) {
                refuse(asked, RPC_UNSUPPORTED_VERSION, "this connection has no handshake",
                       json_pack("{s:[s], s:s}", "supported", version_names[MCP_2026_07_28],
                                 "requested", wanted ? wanted : ""));
                return;
        }
        if (server->version != MCP_NONE || asked->batch) {
                refuse(asked, RPC_INVALID_REQUEST, "initialize comes once, first and alone", NULL);
                return;
        }
        if (!wanted) {
                refuse(asked, RPC_INVALID_PARAMS, "'protocolVersion' must be a string", NULL);
                return;
        }
        /* What we do not know gets the newest that has a handshake; the client decides. */
        server->version =
                version == MCP_NONE || version == MCP_2026_07_28 ? MCP_2025_11_25 : version;
        answer_send(
                server, NULL,
                rpc_result(json_incref(asked->message->id),
                           json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion",
                                     version_names[server->version], "capabilities", capabilities(),
                                     "serverInfo", server_info(), "instructions", instructions)));
}

/* Whether the request may go on: the revision that it speaks is in `*ret_version`. */
static bool settle_version(const struct asked *asked, enum mcp_version *ret_version)
{
        struct server *server = asked->server;
        const json_t *meta = json_object_get(asked->message->params, "_meta");
        const char *wanted = rpc_string(meta, META_VERSION);
        bool has_envelope = json_object_get(meta, META_VERSION) != NULL;

        *ret_version = server->version;
        if (!has_envelope && server->version != MCP_2026_07_28) {
                if (server->version != MCP_NONE || strcmp(asked->message->method, "ping") == 0)
                        return true;
                refuse(asked, RPC_INVALID_REQUEST, "the first request must be initialize", NULL);
                return false;
        }
        if (server->version != MCP_NONE && server->version != MCP_2026_07_28) {
                refuse(asked, RPC_INVALID_REQUEST,
                       "this connection began with a handshake, which settled the revision", NULL);
                return false;
        }
        if (!wanted || !json_is_object(json_object_get(meta, META_CAPABILITIES))) {
                refuse(asked, RPC_INVALID_PARAMS,
                       "params._meta must have '" META_VERSION "' and '" META_CAPABILITIES "'",
                       NULL);
                return false;
        }
        if (version_find(wanted) != MCP_2026_07_28) {
                refuse(asked, RPC_UNSUPPORTED_VERSION, "Unsupported protocol version",
                       json_pack("{s:[s], s:s}", "supported", version_names[MCP_2026_07_28],
                                 "requested", wanted));
                return false;
        }
        server->version = *ret_version = MCP_2026_07_28;
        return true;
}

static void handle_request(const struct asked *asked)
{
        struct server *server = asked->server;
        const struct method *method = find_method(asked->message->method);
        enum mcp_version version;

        if (strcmp(asked->message->method, "initialize") == 0) {
                initialize(asked);
                return;
        }
        if (!settle_version(asked, &version))
                return;
        if (!method || version < method->since || version > method->until) {
                refuse(asked, RPC_METHOD_NOT_FOUND, "no such method", NULL);
                return;
        }
        if (calls_has(server, asked->message->id)) {
                refuse(asked, RPC_INVALID_REQUEST, "a request with this id is in flight", NULL);
                return;
        }
        if (method->run)
                calls_add(server, asked->message, version, method, batch_ref(asked->batch));
        else
                answer_send(server, asked->batch,
                            rpc_result(json_incref(asked->message->id),
                                       dispatch_result(method->at_once(server, version), version,
                                                       method->is_cacheable)));
}

static void handle_notification(struct server *server, const struct message *message)
{
        const json_t *id = json_object_get(message->params, "requestId");

        if (strcmp(message->method, "notifications/cancelled") == 0 && id)
                calls_cancel(server, id);
}

static void handle(struct server *server, json_t *value, struct batch *batch)
{
        struct message message;
        const struct asked asked = { server, &message, batch };

        rpc_read(value, &message);
        if (message.kind == MESSAGE_BAD)
                refuse(&asked, RPC_INVALID_REQUEST, message.problem, NULL);
        else if (message.kind == MESSAGE_REQUEST)
                handle_request(&asked);
        else if (message.kind == MESSAGE_NOTIFICATION)
                handle_notification(server, &message);
        /* We ask the client nothing, so a response answers nothing. */
}

static void refuse_line(struct server *server, int code, const char *text)
{
        out_send(server->out, rpc_error(NULL, code, text, NULL));
}

static void handle_batch(struct server *server, json_t *values)
{
        struct batch *batch;
        size_t index;
        json_t *value;

        if (server->version != MCP_2025_03_26 || json_array_size(values) == 0) {
                refuse_line(server, RPC_INVALID_REQUEST,
                            json_array_size(values) ? "this revision has no batches"
                                                    : "the batch is empty");
                return;
        }
        if (json_array_size(values) > MCP_BATCH_MAX) {
                refuse_line(server, RPC_INVALID_REQUEST, "the batch is too long");
                return;
        }
        batch = batch_new(server->out);
        if (!batch)
                return;
        json_array_foreach(values, index, value)
        {
                handle(server, value, batch);
        }
        batch_unref(batch);
}

/* About how many values a line has; never fewer. */
static size_t count_values(const char *line, size_t length)
{
        bool in_string = false;
        size_t count = 1;

        for (size_t i = 0; i < length; i++) {
                if (in_string && line[i] == '\\')
                        i++;
                else if (line[i] == '"')
                        in_string = !in_string;
                else if (!in_string && (line[i] == ',' || line[i] == '[' || line[i] == '{'))
                        count++;
        }
        return count;
}

void dispatch_line(struct server *server, const char *line, size_t length)
{
        bool too_many = count_values(line, length) > MCP_VALUES_MAX;
        json_t *value = too_many ? NULL : rpc_parse(line, length);

        server->line_bytes = length;
        if (too_many)
                refuse_line(server, RPC_INVALID_REQUEST, "the message has too many values");
        else if (!value)
                refuse_line(server, RPC_PARSE_ERROR, "the line is no JSON");
        else if (json_is_array(value))
                handle_batch(server, value);
        else
                handle(server, value, NULL);
        json_decref(value);
}

void dispatch_too_long(struct server *server)
{
        refuse_line(server, RPC_PARSE_ERROR, "the line is longer than 48 MiB");
}
