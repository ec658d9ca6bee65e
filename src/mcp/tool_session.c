/* create_session, list_sessions, reset_session, destroy_session. */
#include "mcp/session.h"

int tool_create_session(struct call *call, const json_t *arguments, struct answer *answer)
{
        const char *word = rpc_string(arguments, "language");
        const char *language = tools_language(call->server, word ? word : "python", answer);
        const char *id = rpc_string(arguments, "session_id");
        struct strlist packages = { 0 };
        struct error error = { 0 };
        struct session *session;
        json_t *info;

        if (!language)
                return 0;
        if (request_read_packages(json_object_get(arguments, "packages"), &packages, &error) < 0) {
                strlist_done(&packages);
                return answer_refuse(answer, "Not made: %s.", error.message);
        }
        session = session_new(call, json_object_get(arguments, "session_id") && !id ? "" : id,
                              language, answer);
        if (!session) {
                strlist_done(&packages);
                return answer->is_error ? 0 : -1;
        }
        session->packages = packages;
        info = session_info(session);
        session_give(call->server, session);
        return answer_value(answer, info);
}

int tool_list_sessions(struct call *call, const json_t *arguments, struct answer *answer)
{
        struct server *server = call->server;
        json_t *list = json_array();
        uint64_t memory = 0;

        (void)pthread_mutex_lock(&server->lock);
        for (const struct session *one = server->sessions; one; one = one->next) {
                memory += one->live ? live_memory(one->live) : 0;
                (void)json_array_append_new(list, session_info(one));
        }
        (void)pthread_mutex_unlock(&server->lock);
        return answer_value(answer, json_pack("{s:o, s:I, s:I}", "sessions", list, "max_sessions",
                                              (json_int_t)server->max_sessions, "memory_used",
                                              (json_int_t)memory));
}

int tool_reset_session(struct call *call, const json_t *arguments, struct answer *answer)
{
        const char *id = rpc_string(arguments, "session_id");
        struct session *session = session_take(call, id ? id : "", answer);
        json_t *info;

        if (!session)
                return 0;
        session_stop(call->server, session);
        session->state_was_lost = false; /* it was asked for */
        info = session_info(session);
        session_give(call->server, session);
        return answer_value(answer, info);
}

int tool_destroy_session(struct call *call, const json_t *arguments, struct answer *answer)
{
        const char *id = rpc_string(arguments, "session_id");
        struct session *session = session_take(call, id ? id : "", answer);
        struct error error = { 0 };

        if (!session)
                return 0;
        if (session_destroy(call->server, session, &error) < 0)
                return answer_refuse(answer, "The session has ended, but: %s.", error.message);
        return answer_value(answer, json_pack("{s:s, s:b}", "session_id", id, "destroyed", 1));
}
