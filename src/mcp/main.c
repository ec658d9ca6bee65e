/*
 * The program behind `sandbox mcp`. Standard output belongs to the protocol; what there is to say
 * to a person goes to standard error. See mcp.h for the threads.
 */
#include "mcp/reader.h"
#include "mcp/session.h"
#include "cli/cli.h"
#include "cli/mcp.h"
#include "base/fd.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
        READ_CHUNK = 64 << 10,
        LAST_WORDS_MS = 1000, /* for a reader to take the answers that are written when all ends */
        ROOM_MS = 50,         /* between two looks whether a client has read something */
        IDLE_DEFAULT_MS = 600000,
        SESSIONS_DEFAULT = 16,
        WARM_SLOTS = 1,
};

static void on_line(void *context, const char *line, size_t length)
{
        dispatch_line(context, line, length);
}

static void on_too_long(void *context)
{
        dispatch_too_long(context);
}

/* 1: there may be more; 0: the client has closed it. */
static int read_input(struct server *server, struct reader *reader)
{
        const struct reader_listener listener = { on_line, on_too_long, server };
        char chunk[READ_CHUNK];
        ssize_t n = read(0, chunk, sizeof(chunk));

        if (n < 0)
                return errno == EAGAIN || errno == EINTR;
        return n > 0 && reader_feed(reader, chunk, (size_t)n, &listener) == 0;
}

/* Until standard input ends, standard output fails, or a signal asks for the end. */
static void serve(struct server *server, int signal_fd)
{
        struct reader reader = { .max = MCP_LINE_MAX };
        bool goes_on = true;

        while (goes_on) {
                bool has_room = out_has_room(server->out);
                struct pollfd slots[] = {
                        { .fd = has_room ? 0 : -1, .events = POLLIN },
                        { .fd = signal_fd, .events = POLLIN },
                        { .fd = server->wake_fd, .events = POLLIN },
                };

                if (poll(slots, ARRAY_SIZE(slots), has_room ? -1 : ROOM_MS) < 0)
                        continue;
                if (slots[1].revents || slots[2].revents)
                        goes_on = false;
                else if (slots[0].revents)
                        goes_on = read_input(server, &reader) > 0;
        }
        reader_done(&reader);
}

static int catch_signals(void)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGHUP);
        if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
                return -1;
        return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int read_number(const char *text, unsigned max, unsigned *ret_number)
{
        char *end;
        unsigned long number;

        errno = 0;
        number = strtoul(text, &end, 10);
        if (errno || *end || end == text || text[0] == '-' || number < 1 || number > max)
                return -1;
        *ret_number = (unsigned)number;
        return 0;
}

/* A value with a slash is a folder of further languages; else names of those that may run. */
static int read_languages(struct server *server, const char *value, const char **ret_folder,
                          struct error *err)
{
        if (strchr(value, '/')) {
                *ret_folder = value;
                return 0;
        }
        while (*value) {
                size_t length = strcspn(value, ",");

                if (length > 0 && strlist_addn(&server->languages, value, length) < 0)
                        return error_set_nomem(err);
                value += length + (value[length] == ',');
        }
        return 0;
}

static int read_options(struct server *server, const struct options *options,
                        const char **ret_folder, struct error *err)
{
        const char *sessions = options_value(options, "max-sessions");
        const char *idle = options_value(options, "idle-timeout");
        int r = 0;

        server->max_sessions = SESSIONS_DEFAULT;
        server->idle_ms = IDLE_DEFAULT_MS;
        server->read_only = options_given(options, "read-only");
        server->no_packages = options_given(options, "no-packages");
        if (sessions && read_number(sessions, MCP_SESSIONS_MAX, &server->max_sessions) < 0)
                return error_set(err, SBX_EINVAL,
                                 "option '--max-sessions': '%s' is no number from 1 to %d",
                                 sessions, MCP_SESSIONS_MAX);
        if (idle && units_parse_duration(idle, &server->idle_ms, err) < 0) {
                error_prefix(err, "option '--idle-timeout'");
                return err->code;
        }
        for (size_t i = 0; r == 0 && i < options->use_count; i++)
                if (strcmp(options->uses[i].option->name, "languages") == 0)
                        r = read_languages(server, options->uses[i].value, ret_folder, err);
        return r;
}

static int make_engine(const char *folder, bool untrusted, sbx_engine **ret_engine,
                       struct error *err)
{
        sbx_engine_options options = {
                .size = sizeof(options),
                .languages_dir = folder,
                .warm_slots = untrusted ? WARM_SLOTS : 0,
                .untrusted_requests = untrusted,
        };
        sbx_error *failure = NULL;

        *ret_engine = sbx_engine_new(&options, &failure);
        return *ret_engine ? 0 : report_take(err, failure);
}

static json_t *take_json(char *text)
{
        json_t *value = text ? json_loads(text, 0, NULL) : NULL;

        sbx_string_free(text);
        return value;
}

/* Names and aliases of --languages become the languages' own names. */
static int settle_languages(struct server *server, struct error *err)
{
        struct strlist own = { 0 };
        char shown[80];

        for (size_t i = 0; i < server->languages.count; i++) {
                struct answer unused = { 0 };
                struct server all = { .known = server->known };
                const char *name = tools_language(&all, server->languages.items[i], &unused);

                json_decref(unused.content);
                if (name && strlist_add(&own, name) == 0)
                        continue;
                strlist_done(&own);
                str_printable(server->languages.items[i], shown, sizeof(shown));
                return name ? error_set_nomem(err)
                            : error_set(err, SBX_ELANGUAGE, "--languages: no such language '%s'",
                                        shown);
        }
        strlist_done(&server->languages);
        server->languages = own;
        return 0;
}

static int set_up(struct server *server, const struct options *options, struct error *err)
{
        const char *folder = NULL;
        char ulid[CLOCK_ULID_MAX];
        sbx_error *failure = NULL;
        int r = setup_refuse_words(options, err);

        if (r == 0)
                r = read_options(server, options, &folder, err);
        if (r == 0)
                r = setup_policy(options, NULL, &server->policy, err);
        if (r == 0)
                r = make_engine(folder, true, &server->runs, err);
        if (r == 0)
                r = make_engine(folder, false, &server->drivers, err);
        if (r < 0)
                return r;
        if (sbx_engine_check_policy(server->runs, server->policy, &failure) < 0)
                return report_take(err, failure);
        server->known = take_json(sbx_languages_json(server->runs, &failure));
        if (!server->known)
                return report_take(err, failure);
        server->tools = schema_load_tools(server->read_only, server->no_packages);
        if (!server->tools || clock_ulid(ulid) < 0)
                return error_set_nomem(err);
        (void)snprintf(server->id, sizeof(server->id), "mcp-%s", ulid);
        r = settle_languages(server, err);
        return r < 0 ? r : scratch_open(server, options_value(options, "workspace-root"), err);
}

static void server_done(struct server *server)
{
        sbx_engine_free(server->runs);
        sbx_engine_free(server->drivers);
        sbx_policy_free(server->policy);
        scratch_close(server);
        strlist_done(&server->languages);
        json_decref(server->known);
        json_decref(server->tools);
}

static int mcp_main(const char *program, const struct options *options, struct error *err)
{
        struct server server = { .program = program, .root_fd = -1, .scratch_fd = -1 };
        int signal_fd = catch_signals();
        int r;

        (void)pthread_mutex_init(&server.lock, NULL);
        (void)pthread_cond_init(&server.changed, NULL);
        server.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (signal_fd < 0 || server.wake_fd < 0)
                return error_set_errno(err, "wait for signals");
        r = set_up(&server, options, err);
        if (r == 0)
                r = sessions_watch_idle(&server, err);
        server.out = r == 0 ? out_new(1, server.wake_fd) : NULL;
        if (r == 0 && !server.out)
                r = error_set_nomem(err);
        if (r < 0) {
                server_done(&server);
                return r;
        }
        serve(&server, signal_fd);
        calls_end(&server);
        sessions_end(&server);
        server_done(&server);
        out_close(server.out, LAST_WORDS_MS);
        /* Workers wait for work that does not come: they hold nothing, and end with the process. */
        _exit(0);
}

/* argv: the path of `sandbox`, "mcp", options. */
int main(int argc, char **argv)
{
        AUTO_OPTIONS struct options options = { 0 };
        struct error err = { 0 };
        int r;

        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
        r = options_parse(&options, mcp_options, argc - 2, argv + 2, &err);
        if (argc < 2)
                r = error_set(&err, SBX_EINVAL, "start it as 'sandbox mcp'");
        if (r == 0)
                r = mcp_main(argv[0], &options, &err);
        if (r >= 0)
                return r;
        options_hint(mcp_options, "mcp", &err);
        report_error(&err);
        return EXIT_NOT_RUN;
}
