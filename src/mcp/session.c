#include "mcp/session.h"
#include "cli/cli.h"
#include "base/fd.h"
#include "base/tree.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct session *find(struct server *server, const char *id)
{
        struct session *session = server->sessions;

        while (session && strcmp(session->id, id) != 0)
                session = session->next;
        return session;
}

/* The session that a call is for, or NULL; one to be made is not waited for. */
static const char *wanted_session(const struct call *call)
{
        if (str_equal(rpc_string(call->params, "name"), "create_session"))
                return NULL;
        return rpc_string(json_object_get(call->params, "arguments"), "session_id");
}

bool session_reserve(struct call *call)
{
        const char *id = wanted_session(call);
        struct session *session = id && !call->cancelled ? find(call->server, id) : NULL;

        if (session && session->busy)
                return false;
        if (session)
                session->busy = true;
        call->reserved = session;
        return true;
}

void session_release(struct call *call)
{
        struct session *session;

        (void)pthread_mutex_lock(&call->server->lock);
        session = TAKE(call->reserved);
        (void)pthread_mutex_unlock(&call->server->lock);
        if (session)
                session_give(call->server, session);
}

/* One that was made since the call left the queue, maybe still in the making. The lock is held. */
static struct session *wait_for(struct call *call, const char *id)
{
        struct server *server = call->server;
        struct session *session;

        while ((session = find(server, id)) && session->busy && !call->cancelled)
                (void)pthread_cond_wait(&server->changed, &server->lock);
        return call->cancelled ? NULL : session;
}

struct session *session_take(struct call *call, const char *id, struct answer *answer)
{
        struct server *server = call->server;
        struct session *session;
        char shown[MCP_ID_MAX * 4 + 1];

        (void)pthread_mutex_lock(&server->lock);
        session = TAKE(call->reserved);
        if (!session)
                session = wait_for(call, id);
        if (session) {
                session->busy = true;
                session->calls++;
        }
        (void)pthread_mutex_unlock(&server->lock);
        if (session)
                return session;
        (void)answer_refuse(answer,
                            "There is no session '%s'. create_session makes one, list_sessions "
                            "names those that there are.",
                            str_printable(id, shown, sizeof(shown)));
        return NULL;
}

void session_give(struct server *server, struct session *session)
{
        (void)pthread_mutex_lock(&server->lock);
        session->busy = false;
        session->last_used_ns = clock_now_ns();
        (void)pthread_cond_broadcast(&server->changed);
        (void)pthread_mutex_unlock(&server->lock);
}

static void drop_list(struct session *session)
{
        if (session->packages_folder)
                (void)tree_remove(session->packages_folder); /* else it goes when we end */
        mem_free(session->packages_folder);
        session->packages_folder = NULL;
}

static void session_free(struct session *session)
{
        live_free(session->live);
        fd_close(session->folder);
        strlist_done(&session->packages);
        drop_list(session);
        mem_free(session->language);
        mem_free(session->path);
        mem_free(session);
}

static bool is_id(const char *id)
{
        size_t length = strlen(id);

        if (length == 0 || length > MCP_ID_MAX)
                return false;
        for (size_t i = 0; i < length; i++)
                if (!isalnum((unsigned char)id[i]) && id[i] != '-' && id[i] != '_')
                        return false;
        return true;
}

/* A folder that is there already is the user's, and holds what an earlier session left. In a root
 * of the user's that is not to be written, none is made: the session has one of ours. */
static int make_folder(struct server *server, struct session *session, struct error *err)
{
        AUTO_STRBUF struct strbuf path = { 0 };
        bool makes = !server->read_only || !server->keeps_workspaces;
        struct stat st;

        strbuf_addf(&path, "%s/%s", server->root, session->id);
        if (path.failed)
                return error_set_nomem(err);
        session->was_there =
                makes ? mkdirat(server->root_fd, session->id, 0700) < 0
                      : fstatat(server->root_fd, session->id, &st, AT_SYMLINK_NOFOLLOW) == 0;
        if (makes && session->was_there && errno != EEXIST)
                return error_set_errno(err, "make the workspace");
        session->path = makes || session->was_there ? strbuf_take(&path) : scratch_folder(server);
        return session->path ? 0 : error_set_errno(err, "make the workspace");
}

static int open_folder(struct server *server, struct session *session, struct error *err)
{
        int r = make_folder(server, session, err);
        int folder;

        if (r < 0)
                return r;
        folder = open(session->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder < 0)
                return error_set_errno(err, "open the workspace");
        (void)pthread_mutex_lock(&server->lock);
        session->folder = folder;
        (void)pthread_mutex_unlock(&server->lock);
        return 0;
}

int session_folder(struct server *server, const char *id)
{
        const struct session *session;
        int folder = -1;

        (void)pthread_mutex_lock(&server->lock);
        session = find(server, id);
        if (session && session->folder >= 0)
                folder = fcntl(session->folder, F_DUPFD_CLOEXEC, 3);
        (void)pthread_mutex_unlock(&server->lock);
        return folder;
}

/* 0, or -1: there are too many, or one of that name. */
static int enlist(struct server *server, struct session *session, struct answer *answer)
{
        bool many, taken;

        (void)pthread_mutex_lock(&server->lock);
        many = server->session_count >= server->max_sessions;
        taken = find(server, session->id) != NULL;
        if (!many && !taken) {
                session->next = server->sessions;
                server->sessions = session;
                server->session_count++;
        }
        (void)pthread_mutex_unlock(&server->lock);
        if (many)
                (void)answer_refuse(
                        answer,
                        "There are %u sessions already, and no more are allowed. End one "
                        "that is no longer needed with destroy_session.",
                        server->max_sessions);
        else if (taken)
                (void)answer_refuse(answer,
                                    "There is a session '%s' already: use it, or choose "
                                    "another name.",
                                    session->id);
        return many || taken ? -1 : 0;
}

/* Removes it from the list. */
static void delist(struct server *server, struct session *session)
{
        struct session **link = &server->sessions;

        (void)pthread_mutex_lock(&server->lock);
        while (*link != session)
                link = &(*link)->next;
        *link = session->next;
        server->session_count--;
        (void)pthread_cond_broadcast(&server->changed);
        (void)pthread_mutex_unlock(&server->lock);
}

static struct session *make(const char *id, const char *language)
{
        struct session *session = mem_alloc(sizeof(*session));
        char made[CLOCK_ULID_MAX];

        if (!session)
                return NULL;
        session->folder = -1;
        session->busy = true;
        session->last_used_ns = clock_now_ns();
        session->language = mem_strdup(language);
        if (!session->language || (!id && clock_ulid(made) < 0)) {
                session_free(session);
                return NULL;
        }
        (void)snprintf(session->id, sizeof(session->id), "%s", id ? id : made);
        return session;
}

struct session *session_new(struct call *call, const char *id, const char *language,
                            struct answer *answer)
{
        struct server *server = call->server;
        struct session *session;
        struct error error = { 0 };

        if (id && !is_id(id)) {
                (void)answer_refuse(answer, "A session's name has letters, digits, '-' and '_' "
                                            "alone, at most 64.");
                return NULL;
        }
        session = make(id, language);
        if (!session || enlist(server, session, answer) < 0) {
                if (session)
                        session_free(session);
                return NULL;
        }
        if (rules_read(server, language, &session->rules, &error) < 0 ||
            open_folder(server, session, &error) < 0) {
                (void)answer_refuse(answer, "The session could not be made: %s.", error.message);
                delist(server, session);
                session_free(session);
                return NULL;
        }
        return session;
}

int session_write(const struct session *session, const char *path, const void *data, size_t length,
                  struct error *err)
{
        AUTO_WORKSPACE_LIST struct workspace_list list = { 0 };
        int r = workspace_list(session->folder, &list, err);
        uint64_t replaced = 0;

        if (r < 0)
                return r;
        if (list.truncated)
                return error_set(err, SBX_ETOOBIG,
                                 "the workspace holds more files than can be counted: remove some");
        for (size_t i = 0; i < list.count; i++)
                replaced += strcmp(list.files[i].path, path) == 0 ? list.files[i].size : 0;
        if (workspace_bytes(&list) - replaced + length > session->rules.disk_bytes)
                return error_set(err, SBX_ETOOBIG,
                                 "the workspace would hold more than it may: "
                                 "get_limits has the limit 'disk'");
        return workspace_write(session->folder, path, data, length, err);
}

void session_stop(struct server *server, struct session *session)
{
        struct live *live;

        (void)pthread_mutex_lock(&server->lock);
        live = TAKE(session->live);
        (void)pthread_mutex_unlock(&server->lock);
        live_free(live);
}

int session_destroy(struct server *server, struct session *session, struct error *err)
{
        int r;

        session_stop(server, session);
        r = session->was_there ? 0 : tree_remove(session->path);
        if (r < 0)
                r = error_set_errno(err, "remove the session's files");
        delist(server, session);
        session_free(session);
        return r;
}

int session_place(const struct server *server, const struct session *session, sbx_request *req,
                  sbx_error **err)
{
        AUTO_WORKSPACE_LIST struct workspace_list list = { 0 };

        if (!server->read_only)
                return sbx_request_set_workspace(req, session->path, err);
        if (workspace_list(session->folder, &list, NULL) == 0 && list.count == 0)
                return 0; /* of nothing there is no copy */
        return sbx_request_add_input_fd(req, "", session->folder, err);
}

int session_start(struct server *server, struct session *session, struct error *err)
{
        struct live *live = NULL;
        sbx_request *req = NULL;
        sbx_error *failure = NULL;
        char name[sizeof(server->id) + 16];
        int r = request_make(server, session->language, &req, err);

        if (r < 0)
                return r;
        /* Not the name of our runs: those are the calls. */
        (void)snprintf(name, sizeof(name), "%s-interpreter", server->id);
        r = sbx_request_set_name(req, name, &failure);
        if (r == 0)
                r = session_place(server, session, req, &failure);
        drop_list(session);
        if (r == 0)
                r = request_add_packages(server, req, session->language, &session->packages,
                                         &session->packages_folder, err);
        if (r < 0) {
                sbx_request_free(req);
                return failure ? report_take(err, failure) : r;
        }
        if (live_new(server, req, &session->rules, session->language, &live, &failure) < 0)
                return report_take(err, failure);
        (void)pthread_mutex_lock(&server->lock);
        session->live = live;
        (void)pthread_mutex_unlock(&server->lock);
        return 0;
}

json_t *session_info(const struct session *session)
{
        bool keeps = live_driver(session->language) != NULL;
        AUTO_STRBUF struct strbuf uri = { 0 };

        strbuf_addf(&uri, "sandbox://session/%s/", session->id);
        if (uri.failed)
                return NULL;
        return json_pack(
                "{s:s, s:s, s:s, s:s, s:I, s:I, s:f, s:s}", "session_id", session->id, "language",
                session->language, "state", keeps ? "variables" : "files", "interpreter",
                session->live ? "running"
                : keeps       ? "stopped"
                              : "none",
                "memory_used", (json_int_t)(session->live ? live_memory(session->live) : 0),
                "calls", (json_int_t)session->calls, "idle_seconds",
                (double)(clock_now_ns() - session->last_used_ns) / 1e9, "workspace", uri.data);
}

void sessions_end(struct server *server)
{
        if (server->has_idle_thread)
                (void)pthread_join(server->idle_thread, NULL); /* ours, and joined once */
        for (struct session *one = server->sessions; one; one = one->next)
                if (one->live)
                        sbx_request_cancel(one->live->req);
        while (server->sessions) {
                struct session *session = server->sessions;

                server->sessions = session->next;
                session_free(session);
        }
}
