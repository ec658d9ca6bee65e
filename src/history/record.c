/* The record of a run: one line of the journal. Never code, input, output or values of variables.
 */
#include "history/history.h"
#include "history/journal.h"
#include "base/fd.h"
#include "base/jsontext.h"

#include <fcntl.h>
#include <unistd.h>

static void add_code(struct strbuf *out, const struct history_entry *entry)
{
        const struct bundle *sources = &entry->code->sources;

        jsontext_key(out, "code");
        strbuf_adds(out, "{");
        jsontext_put_string(out, "sha256", entry->code_hash[0] ? entry->code_hash : NULL);
        jsontext_put_size(out, "bytes", entry->code_bytes);
        if (sources->count > 0)
                jsontext_put_size(out, "files", sources->count);
        strbuf_adds(out, "}");
}

static void add_usage(struct strbuf *out, const struct usage *usage)
{
        jsontext_put_seconds(out, "execution_time", (double)usage->wall_ns / 1e9);
        jsontext_put_seconds(out, "cpu_time", (double)usage->cpu_us / 1e6);
        jsontext_put_size(out, "memory_used", usage->memory_peak);
}

static void add_compile(struct strbuf *out, const struct result *result)
{
        if (!result->compiled) {
                jsontext_put_null(out, "compile");
                return;
        }
        jsontext_key(out, "compile");
        strbuf_adds(out, "{");
        jsontext_put_string(out, "status", outcome_name(result->compile.outcome));
        jsontext_put_bool(out, "cached", result->compile.cached);
        add_usage(out, &result->compile.usage);
        strbuf_adds(out, "}");
}

static void add_metrics(struct strbuf *out, const struct result *result)
{
        const struct usage *usage = &result->run.usage;

        jsontext_key(out, "metrics");
        strbuf_adds(out, "{");
        jsontext_put_seconds(out, "startup_time", (double)usage->startup_ns / 1e9);
        jsontext_put_size(out, "processes_peak", usage->processes_peak);
        jsontext_put_size(out, "io_read_bytes", usage->io_read_bytes);
        jsontext_put_size(out, "io_write_bytes", usage->io_write_bytes);
        jsontext_put_string(out, "warm", result->warm);
        jsontext_put_size(out, "stdout_bytes", result->run.out.bytes);
        jsontext_put_size(out, "stderr_bytes", result->run.err.bytes);
        jsontext_put_bool(out, "stdout_truncated", result->run.out.truncated);
        jsontext_put_bool(out, "stderr_truncated", result->run.err.truncated);
        jsontext_put_size(out, "files_created", result->created.count);
        jsontext_put_size(out, "files_modified", result->modified.count);
        jsontext_put_size(out, "files_deleted", result->deleted.count);
        strbuf_adds(out, "}");
}

static void add_limits(struct strbuf *out, const struct result *result)
{
        jsontext_key(out, "limits");
        strbuf_adds(out, "{");
        for (size_t i = 0; i < result->limit_count; i++) {
                const struct result_limit *limit = &result->limits[i];

                if (limit->is_float)
                        jsontext_put_seconds(out, limit->name, limit->value);
                else
                        jsontext_put_size(out, limit->name,
                                          limit->value >= 9.2e18 ? INT64_MAX
                                                                 : (uint64_t)limit->value);
        }
        strbuf_adds(out, "}");
}

/* Name to mechanism; null where it was asked for and missing. */
static void add_protections(struct strbuf *out, const struct result *result)
{
        jsontext_key(out, "protections");
        strbuf_adds(out, "{");
        for (unsigned id = 0; id < PROTECTION_COUNT; id++) {
                const struct result_protection *protection = &result->protections[id];

                if (protection->state != STATE_NOT_ASKED)
                        jsontext_put_string(out, protection_name((enum protection)id),
                                            protection->state == STATE_ENFORCED ? protection->by
                                                                                : NULL);
        }
        strbuf_adds(out, "}");
}

static void add_violations(struct strbuf *out, const struct result *result)
{
        jsontext_key(out, "violations");
        strbuf_adds(out, "[");
        for (size_t i = 0; i < result->violation_count; i++) {
                const struct result_violation *violation = &result->violations[i];

                strbuf_adds(out, i ? ",{" : "{");
                jsontext_put_string(out, "kind", violation->kind);
                jsontext_put_string(out, "what", violation->what);
                jsontext_put_string(out, "why", violation->why);
                jsontext_put_size(out, "count", violation->count);
                strbuf_adds(out, "}");
        }
        strbuf_adds(out, "]");
}

static void add_analysis(struct strbuf *out, const struct result_analysis *analysed)
{
        if (!analysed->state) {
                jsontext_put_null(out, "analysis");
                return;
        }
        jsontext_key(out, "analysis");
        strbuf_adds(out, "{");
        jsontext_put_string(out, "state", analysed->state);
        jsontext_put_string(out, "risk", analysed->risk);
        jsontext_put_size(out, "findings", analysed->findings);
        strbuf_adds(out, "}");
}

static void add_outcome(struct strbuf *out, const struct result *result)
{
        const struct result_step *run = &result->run;

        jsontext_put_string(out, "status", outcome_name(run->outcome));
        if (run->exit_code >= 0)
                jsontext_put_integer(out, "exit_code", run->exit_code);
        else
                jsontext_put_null(out, "exit_code");
        if (run->signal > 0)
                jsontext_put_integer(out, "signal", run->signal);
        else
                jsontext_put_null(out, "signal");
        jsontext_put_string(out, "message", result->message);
}

static void add_record(struct strbuf *out, const struct history_entry *entry)
{
        const struct result *result = entry->result;

        jsontext_put_string(out, "kind", "run");
        jsontext_put_string(out, "id", result->id);
        jsontext_put_string(out, "started_at", result->started_at);
        jsontext_put_string(out, "name", result->name);
        jsontext_put_size(out, "uid", getuid());
        jsontext_put_size(out, "pid", (uint64_t)getpid());
        jsontext_put_string(out, "language", result->language);
        jsontext_put_string(out, "version", result->version);
        jsontext_put_string(out, "backend", result->backend);
        add_outcome(out, result);
        add_usage(out, &result->run.usage);
        add_compile(out, result);
        add_code(out, entry);
        jsontext_put_size(out, "arguments", entry->request->arguments.count);
        jsontext_put_string(out, "network", entry->network);
        add_metrics(out, result);
        add_limits(out, result);
        add_protections(out, result);
        add_violations(out, result);
        add_analysis(out, &result->analysed);
        jsontext_put_string(out, "artifacts", entry->artifacts);
        if (entry->turn_of)
                jsontext_put_string(out, "turn_of", entry->turn_of);
}

/* A file of eight bytes that is made with the journal: counting then needs no new block, so that it
 * works on a disk that is full. */
static int open_lost(const struct history *history, int flags)
{
        return history->dir < 0
                       ? -1
                       : openat(history->dir, "lost", flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static void make_lost(const struct history *history)
{
        const uint64_t none = 0;
        AUTO_CLOSE int fd = open_lost(history, O_WRONLY | O_CREAT | O_EXCL);

        if (fd >= 0)
                (void)!write(fd, &none, sizeof(none)); /* it only counts what cannot be kept */
}

void history_count_lost(const struct history *history)
{
        AUTO_CLOSE int fd = open_lost(history, O_RDWR);
        uint64_t count = 0;

        if (fd < 0 || pread(fd, &count, sizeof(count), 0) < 0)
                return;
        count++;
        (void)!pwrite(fd, &count, sizeof(count), 0); /* nowhere left to tell */
}

uint64_t history_lost(const struct history *history)
{
        AUTO_CLOSE int fd = open_lost(history, O_RDONLY);
        uint64_t count = 0;

        return fd >= 0 && pread(fd, &count, sizeof(count), 0) == (ssize_t)sizeof(count) ? count : 0;
}

int history_record(struct history *history, const struct history_entry *entry, struct error *err)
{
        AUTO_STRBUF struct strbuf fields = { 0 };
        struct journal_walk walk = { 0 };
        int r;

        add_record(&fields, entry);
        if (fields.failed)
                return error_set_nomem(err);
        r = journal_append(history->dir, fields.data, fields.length, false, &walk, err);
        if (r == 0 && walk.seq == 1)
                make_lost(history);
        return r;
}
