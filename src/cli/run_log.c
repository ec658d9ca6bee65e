/*
 * `--log`: what happens, one JSON object a line, for people and programs that watch many runs. The
 * fields are those of an OpenTelemetry log record, so that a collector reads them as they are; see
 * docs/EVENTS.md. Never code, input, output or values of variables.
 *
 * Each line is written with one call, to a file opened for appending or as one datagram, so that
 * lines of many runs do not mix. A log that cannot be written does not stop a run.
 */
#include "cli/run.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/jsontext.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Severities of OpenTelemetry, and the priority of syslog that goes with each. */
enum { SEVERITY_INFO = 9, SEVERITY_WARN = 13, SEVERITY_ERROR = 17 };

static const struct kind {
        const char *name;
        int severity;
        const char *text_is; /* the attribute that the event's text is */
} kinds[] = {
        { "execution.start", SEVERITY_INFO, "sandbox.language" },
        { "execution.complete", SEVERITY_INFO, "sandbox.language" },
        { "security.violation", SEVERITY_WARN, "sandbox.violation" },
        { "security.blocked", SEVERITY_WARN, "sandbox.reason" },
        { "security.bypass", SEVERITY_WARN, "sandbox.protection" },
        { "limit.warning", SEVERITY_WARN, "sandbox.limit.name" },
        { "limit.exceeded", SEVERITY_WARN, "sandbox.limit.name" },
        { "cleanup.leftover", SEVERITY_ERROR, "sandbox.reason" },
        { "backend.fallback", SEVERITY_WARN, "sandbox.reason" },
        { "record.failed", SEVERITY_ERROR, "sandbox.reason" },
        { "record.incomplete", SEVERITY_ERROR, "sandbox.reason" },
        { "slot.made", SEVERITY_INFO, "sandbox.slot" },
        { "slot.used", SEVERITY_INFO, "sandbox.slot" },
        { "slot.ended", SEVERITY_INFO, "sandbox.slot" },
        { "slot.died", SEVERITY_WARN, "sandbox.slot" },
        { "slot.failed", SEVERITY_WARN, "sandbox.slot" },
};

static const struct kind *find_kind(const char *name)
{
        static const struct kind other = { "", SEVERITY_INFO, "sandbox.text" };

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (strcmp(kinds[i].name, name) == 0)
                        return &kinds[i];
        return &other;
}

static int connect_to(const char *path, struct error *err)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        memcpy(address.sun_path, path, strlen(path) + 1);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return error_set(err, SBX_EINVAL, "option '--log': connect to '%s': %s", path,
                                 strerror(errno));
        return fd_take(&fd);
}

/* A pipe that nobody reads is refused instead of waited for: no limit of a run would end that. */
static int open_file(struct run_log *log, sbx_request *req, const char *where, struct error *err)
{
        static const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY;
        char shown[256];
        int r = 0;

        if (req)
                r = run_open(req, where, flags, 0600, &log->fd, err);
        else
                log->fd = open(where, flags | O_CLOEXEC, 0600);
        if (r < 0) {
                error_prefix(err, "option '--log'");
                return r;
        }
        if (log->fd >= 0)
                return fcntl(log->fd, F_SETFL, O_APPEND) < 0
                               ? error_set_errno(err, "option '--log'")
                               : 0;
        (void)error_set(err, SBX_EINVAL, "option '--log': open '%s': %s",
                        str_printable(where, shown, sizeof(shown)),
                        errno == ENXIO ? "nobody reads this pipe" : strerror(errno));
        if (errno == ENXIO)
                error_hint(err, "start what reads it first");
        return SBX_EINVAL;
}

int run_log_open(struct run_log *log, sbx_request *req, const char *where, struct error *err)
{
        log->fd = -1;
        if (!where)
                return 0;
        log->is_shared = strcmp(where, "-") == 0;
        if (log->is_shared) {
                log->fd = 2;
        } else if (strcmp(where, "journald") == 0) {
                log->prefix = "SYSLOG_IDENTIFIER=sandbox\nPRIORITY=%d\nMESSAGE=";
                log->facility = 0;
                log->fd = connect_to("/run/systemd/journal/socket", err);
        } else if (strcmp(where, "syslog") == 0) {
                log->prefix = "<%d>sandbox: ";
                log->facility = 1 << 3; /* user */
                log->fd = connect_to("/dev/log", err);
        } else {
                return open_file(log, req, where, err);
        }
        return log->fd < 0 ? SBX_EINVAL : 0;
}

void run_log_close(struct run_log *log)
{
        if (!log->is_shared)
                fd_close(log->fd);
        strbuf_done(&log->not_recorded);
}

static void add_result(struct strbuf *out, const sbx_result *result)
{
        jsontext_put_string(out, "sandbox.status", sbx_result_status(result));
        if (sbx_result_exit_code(result) >= 0)
                jsontext_put_integer(out, "process.exit.code", sbx_result_exit_code(result));
        if (sbx_result_signal(result) > 0)
                jsontext_put_integer(out, "sandbox.signal", sbx_result_signal(result));
        jsontext_put_seconds(out, "sandbox.execution_time", sbx_result_execution_time(result));
        jsontext_put_seconds(out, "sandbox.cpu_time", sbx_result_cpu_time(result));
        jsontext_put_size(out, "sandbox.memory_used", sbx_result_memory_used(result));
        if (sbx_result_message(result))
                jsontext_put_string(out, "sandbox.message", sbx_result_message(result));
}

static void add_attributes(struct strbuf *out, const sbx_event *event, const struct kind *kind)
{
        if (event->id)
                jsontext_put_string(out, "sandbox.id", event->id);
        jsontext_put_seconds(out, "sandbox.time", event->time);
        if (event->text)
                jsontext_put_string(out, kind->text_is, event->text);
        if (strcmp(event->kind, "limit.warning") == 0) {
                jsontext_put_size(out, "sandbox.limit.used", event->used);
                jsontext_put_size(out, "sandbox.limit.allowed", event->allowed);
        }
        if (strcmp(event->kind, "execution.complete") == 0 && event->result)
                add_result(out, event->result);
}

static void add_line(struct strbuf *out, const sbx_event *event, const struct kind *kind)
{
        char stamp[CLOCK_STAMP_MAX];

        strbuf_adds(out, "{");
        jsontext_put_string(out, "timestamp", clock_stamp(stamp));
        jsontext_put_integer(out, "severity_number", kind->severity);
        jsontext_put_string(out, "severity_text",
                            kind->severity == SEVERITY_INFO   ? "INFO"
                            : kind->severity == SEVERITY_WARN ? "WARN"
                                                              : "ERROR");
        jsontext_put_string(out, "event_name", event->kind);
        jsontext_key(out, "attributes");
        strbuf_adds(out, "{");
        add_attributes(out, event, kind);
        strbuf_adds(out, "}");
        jsontext_key(out, "resource");
        strbuf_adds(out, "{");
        jsontext_put_string(out, "service.name", "sandbox");
        jsontext_put_string(out, "service.version", sbx_version());
        jsontext_put_integer(out, "process.pid", getpid());
        strbuf_adds(out, "}}");
}

static void note_failure(struct run_log *log, const sbx_event *event)
{
        const char *why = event->text ? event->text : "";

        if (strcmp(event->kind, "record.failed") == 0) {
                log->not_recorded.length = 0; /* this is more than a record without its code */
                strbuf_addf(&log->not_recorded, "not recorded: %s", why);
        } else if (strcmp(event->kind, "record.incomplete") == 0 && log->not_recorded.length == 0) {
                strbuf_addf(&log->not_recorded, "code and outputs not kept: %s", why);
        }
}

void run_log_handle(const sbx_event *event, void *userdata)
{
        const struct kind *kind = find_kind(event->kind);
        AUTO_STRBUF struct strbuf line = { 0 };
        struct run_log *log = userdata;

        note_failure(log, event);
        if (log->fd < 0)
                return;
        if (log->prefix)
                strbuf_addf(&line, log->prefix,
                            log->facility + (kind->severity == SEVERITY_INFO   ? 6
                                             : kind->severity == SEVERITY_WARN ? 4
                                                                               : 3));
        add_line(&line, event, kind);
        if (!log->prefix)
                strbuf_adds(&line, "\n");
        if (line.failed)
                return;
        if (log->prefix) /* a full queue loses the line, not the run */
                (void)!send(log->fd, line.data, line.length, MSG_NOSIGNAL | MSG_DONTWAIT);
        else
                (void)!write(log->fd, line.data, line.length);
}
