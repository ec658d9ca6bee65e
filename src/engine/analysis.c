/*
 * The stage of static analysis.
 *
 * Theory of operation. In mode `block` the report is waited for before anything else happens; in
 * `warn` the analysis goes on beside the program and is collected after it, so that it costs no
 * time. sandbox-analyze (src/analysis/main.c) bounds itself; here it gets a deadline too, is killed
 * by its pidfd, and is reaped before the run ends. What it cannot do, be it that the source is too
 * large or that it made the parser fall, is an analysis that was skipped: advice that is missing in
 * `warn`, a reason to stop in `block`.
 */
#include "engine/analysis.h"
#include "analysis/order.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"
#include "engine/passage.h"
#include "kernel/sys.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

enum {
        WAIT_BLOCK_MS = 30000, /* its own limit of CPU time comes long before */
        WAIT_WARN_MS = 1000,   /* after the program's end */
        WAIT_RECORD_MS = 100,  /* the same where the record alone is to know */
};

static const struct {
        const char *language, *grammar;
} analysed[] = {
#define X(language, grammar) { language, grammar },
#include "analysis/languages.def"
#undef X
};

static const char no_grammar[] = "there is no grammar for the language";
static const char too_large[] = "too large";
static const char gave_up[] = "the parser fell over it"; /* until the signal says more */

const char *analysis_grammar(const struct passage *passage)
{
        for (size_t i = 0; i < ARRAY_SIZE(analysed); i++)
                if (str_equal(passage->language->name, analysed[i].language))
                        return analysed[i].grammar;
        return NULL;
}

const struct strlist *analysis_list(const struct passage *passage, enum policy_rule rule,
                                    unsigned index)
{
        static const struct {
                const char *grammar, *base;
        } dialects[] = { { "typescript", "javascript" }, { "cpp", "c" } };
        const char *grammar = analysis_grammar(passage);

        if (!grammar || index == 0)
                return grammar ? policy_rules(&passage->policy, grammar, rule) : NULL;
        for (size_t i = 0; index == 1 && i < ARRAY_SIZE(dialects); i++)
                if (str_equal(grammar, dialects[i].grammar))
                        return policy_rules(&passage->policy, dialects[i].base, rule);
        return NULL;
}

static int send_files(struct analysis_job *job, const struct analysis_source *source,
                      const char *order, struct error *err)
{
        struct analyze_order message = {
                .magic = ANALYZE_MAGIC,
                .source_length = (uint32_t)source->length,
                .order_length = (uint32_t)strlen(order),
        };
        AUTO_CLOSE int code = fd_memfile("source", source->data, source->length);
        AUTO_CLOSE int rules = fd_memfile("order", order, strlen(order));
        int fds[ANALYZE_FDS] = { code, rules };

        if (code < 0 || rules < 0)
                return error_set_errno(err, "hand the source to the analysis");
        /* A program that is gone already is told by its silence. */
        (void)message_send(job->socket, &message, sizeof(message), fds, ANALYZE_FDS);
        return 0;
}

static int start_program(const struct passage *passage, struct analysis_job *job, struct error *err)
{
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return error_set_errno(err, "make a socket");
        job->child.path = engine_analyze_path(passage->engine);
        job->child.name = "sandbox-analyze";
        job->child.socket = pair[1];
        job->socket = pair[0];
        if (child_start(&job->child, &job->pidfd) < 0) {
                int r = error_set_errno(err, "start '%s'", job->child.path);

                fd_close(pair[1]);
                analysis_end(job);
                return r;
        }
        fd_close(pair[1]);
        return 0;
}

/* Whether the lines of the program are those of the code. */
static bool is_plain(const struct passage *passage)
{
        return !passage->templating.filled;
}

/* Its report, where it is known; else has the program make it. */
static int recall_or_start(struct passage *passage, struct analysis_job *job,
                           const struct analysis_source *source, const char *order,
                           struct error *err)
{
        struct engine *engine = passage->engine;
        int r;

        if (strlen(order) > ANALYZE_ORDER_MAX)
                return error_set(err, SBX_ETOOBIG,
                                 "the rules of static analysis are larger than %d MiB together",
                                 ANALYZE_ORDER_MAX >> 20);
        analysis_memory_key(engine, passage->language->name, source, order, job->key);
        if (analysis_recall(engine->analysed, job->key, &job->report)) {
                if (is_plain(passage) && !analysis_recall_whole(engine->analysed, job->key,
                                                                passage->policy.analysis_mode,
                                                                &job->whole, &job->in_short))
                        strbuf_done(&job->whole);
                return 0;
        }
        strbuf_done(&job->report);
        r = start_program(passage, job, err);
        return r < 0 ? r : send_files(job, source, order, err);
}

int analysis_start(struct passage *passage, struct analysis_job *job, struct error *err)
{
        struct analysis_source source = { 0 };
        AUTO_FREE char *order = NULL;
        const char *program;
        int r;

        if (!analysis_grammar(passage)) {
                job->skipped = no_grammar;
                return 0;
        }
        program = engine_analyze_path(passage->engine);
        if (!program || access(program, X_OK) < 0) {
                job->skipped = "static analysis is not installed";
                return 0;
        }
        r = analysis_read_source(passage, &source, err);
        if (r == 1) {
                job->skipped = too_large;
                r = 0;
        } else if (r == 0) {
                order = analysis_order_text(passage, &source, err);
                r = order ? recall_or_start(passage, job, &source, order, err) : SBX_ENOMEM;
        }
        mem_free(source.data);
        strbuf_done(&source.files);
        return r;
}

/* Waits for the program, which must be about to end; the signal that ended it, or 0. */
static int reap(struct analysis_job *job)
{
        siginfo_t info = { 0 };

        if (job->pidfd >= 0) {
                while (waitid((idtype_t)P_PIDFD, (id_t)job->pidfd, &info, WEXITED | __WALL) < 0 &&
                       errno == EINTR)
                        ;
        }
        fd_close(job->socket);
        fd_close(job->pidfd);
        job->socket = job->pidfd = -1;
        return info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED ? info.si_status : 0;
}

void analysis_end(struct analysis_job *job)
{
        if (job->pidfd >= 0)
                (void)sys_pidfd_send_signal(job->pidfd, SIGKILL); /* gone is as good */
        (void)reap(job);
        strbuf_done(&job->report);
        strbuf_done(&job->whole);
}

/* Reads until the end of the report; why it did not come, or NULL. */
static const char *read_report(const struct passage *passage, struct analysis_job *job, int wait_ms,
                               struct strbuf *text)
{
        uint64_t end = clock_now_ns() + (uint64_t)wait_ms * 1000000;

        for (;;) {
                struct pollfd polled[] = { { job->socket, POLLIN, 0 },
                                           { passage->order->cancel_fd, POLLIN, 0 } };
                uint64_t now = clock_now_ns();
                char buffer[16384];
                int left_ms;
                ssize_t n;

                if (now >= end)
                        return "it takes too much time";
                left_ms = (int)((end - now) / 1000000) + 1;
                if (passage->order->wait && left_ms > ENGINE_WAIT_MS)
                        left_ms = ENGINE_WAIT_MS;
                n = poll(polled, 2, left_ms);
                if (n < 0 && errno != EINTR)
                        return "its report could not be read";
                if (n <= 0 && passage->order->wait)
                        passage->order->wait(passage->order->log_context);
                if (polled[1].revents)
                        return "the run was cancelled";
                if (!polled[0].revents)
                        continue;
                n = read(job->socket, buffer, sizeof(buffer));
                if (n < 0 && errno == ECONNRESET)
                        n = 0; /* it went without reading its order */
                if (n < 0 && errno != EINTR)
                        return "its report could not be read";
                if (n == 0)
                        return text->length ? NULL : gave_up;
                if (n > 0)
                        strbuf_add(text, buffer, (size_t)n);
                if (text->failed || text->length > ANALYZE_REPORT_MAX)
                        return "its report is too large";
        }
}

json_t *analysis_collect(struct passage *passage, struct analysis_job *job, int wait_ms,
                         struct error *err)
{
        AUTO_STRBUF struct strbuf text = job->report;
        const char *skipped = job->skipped;
        bool is_known = text.length > 0;
        json_t *report;

        job->report = (struct strbuf){ 0 };
        if (!skipped && !is_known)
                skipped = read_report(passage, job, wait_ms, &text);
        if (skipped == gave_up)
                skipped = reap(job) == SIGXCPU ? "it takes too much time" : gave_up;
        analysis_end(job);
        if (job->child.sys_errno)
                skipped = "static analysis could not be started";
        report = skipped ? analysis_skipped_report(passage, skipped)
                         : analysis_read_report(passage, text.data, text.length, err);
        if (!is_known && str_equal(analysis_in_short(report).state, "done"))
                analysis_remember(passage->engine->analysed, job->key, &text);
        return report;
}

/* ---- the stage ---- */

static int keep(struct passage *passage, json_t *report, struct error *err)
{
        char *text = report ? json_dumps(report, JSON_COMPACT) : NULL;

        passage->result->analysed = analysis_in_short(report);
        mem_free(passage->result->analysis);
        passage->result->analysis = text ? mem_strdup(text) : NULL;
        free(text); /* jansson's own allocation */
        return passage->result->analysis ? 0 : error_set_nomem(err);
}

/* The same for a report that came before: all was done to it then. */
static int keep_known(struct passage *passage)
{
        struct analysis_job *job = &passage->analysis;

        passage->result->analysed = job->in_short;
        mem_free(passage->result->analysis);
        passage->result->analysis = strbuf_take(&job->whole);
        analysis_end(job);
        return 0;
}

static int keep_and_remember(struct passage *passage, json_t *report, struct error *err)
{
        int r = keep(passage, report, err);

        if (r == 0 && is_plain(passage) && str_equal(passage->result->analysed.state, "done"))
                analysis_remember_whole(passage->engine->analysed, passage->analysis.key,
                                        passage->policy.analysis_mode, passage->result->analysis,
                                        &passage->result->analysed);
        return r;
}

/* The same for a report that is known beforehand, as of every program that is one already. */
static int keep_skipped(struct passage *passage, const char *reason, struct error *err)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        passage->result->analysed = analysis_skipped(passage, reason, &text);
        mem_free(passage->result->analysis);
        passage->result->analysis = text.failed ? NULL : strbuf_take(&text);
        return passage->result->analysis ? 0 : error_set_nomem(err);
}

/* "Security policy blocked import: subprocess (line 3)" */
static int block(struct passage *passage, const json_t *finding, const char *reason)
{
        struct result *result = passage->result;
        const char *kind = json_string_value(json_object_get(finding, "kind"));
        const char *what = json_string_value(json_object_get(finding, "what"));
        const char *file = json_string_value(json_object_get(finding, "file"));
        char shown[200], place[300];

        result->run.outcome = OUTCOME_BLOCKED;
        result->run.exit_code = -1;
        if (!finding) {
                result_add_violation(result, "analysis", "the code", reason, 1);
                return result_set_message(
                        result, "Security policy blocked the code: it could not be analysed: %s",
                        reason);
        }
        (void)snprintf(place, sizeof(place), "%s%sline %lld", file ? file : "", file ? ", " : "",
                       (long long)json_integer_value(json_object_get(finding, "line")));
        str_printable(what, shown, sizeof(shown));
        result_add_violation(result, "analysis", shown,
                             json_string_value(json_object_get(finding, "sentence")), 1);
        return result_set_message(result, "Security policy blocked %s: %s (%s)", kind, shown,
                                  place);
}

static int refuse(const struct passage *passage, const char *reason, struct error *err)
{
        int r = error_set(err, SBX_EREFUSED, "static analysis of %s: %s", passage->language->title,
                          reason);

        if (str_equal(reason, no_grammar) && passage->policy.sealed)
                error_hint(err, "the policy is sealed: only a language that can be analysed runs");
        else if (str_equal(reason, no_grammar))
                error_hint(err,
                           "to run it all the same: --check warn, or --trusted if you trust it");
        else
                error_hint(err, "in the source tree: tools/bootstrap grammars && make");
        return r;
}

static int judge(struct passage *passage, struct error *err)
{
        json_t *report = analysis_collect(passage, &passage->analysis, WAIT_BLOCK_MS, err);
        const char *reason = json_string_value(json_object_get(report, "reason"));
        const json_t *finding = report ? analysis_blocking(passage, report) : NULL;
        int r = report ? keep(passage, report, err) : err->code;

        if (r == 0 && passage->policy.analysis_mode == ANALYSIS_BLOCK) {
                if (finding || reason)
                        r = block(passage, finding, reason) < 0 ? error_set_nomem(err) : 0;
        }
        json_decref(report);
        return r;
}

/* Reads the folders that the policy names. */
static int read_rules(struct passage *passage, struct error *err)
{
        const struct strlist *folders = &passage->policy.rule_folders.items;
        int r = 0;

        for (size_t i = 0; r == 0 && i < folders->count; i++) {
                r = rules_read_folder(&passage->rules, folders->items[i], err);
                if (r < 0)
                        error_prefix(err, "analysis.rules");
        }
        return r;
}

/* Whether somebody named rules that may turn out to be wrong, or not to be there. */
static bool names_rules(const struct passage *passage)
{
        const struct strlist *list;

        for (unsigned i = 0; (list = analysis_list(passage, RULE_RULES, i)); i++)
                if (list->count > 0)
                        return true;
        return passage->order->request->rules.count > 0 || passage->rules.count > 0;
}

int passage_analyse(struct passage *passage, struct error *err)
{
        enum policy_analysis mode = passage->policy.analysis_mode;
        const struct request *request = passage->order->request;
        int r;

        if (mode == ANALYSIS_OFF)
                return 0;
        if (request->trusted) {
                passage_tell(passage, "security.bypass", "static analysis was left out: --trusted");
                return keep_skipped(passage, "trusted", err);
        }
        r = read_rules(passage, err);
        if (r < 0)
                return r;
        /* What was compiled before was looked at then. */
        if (mode == ANALYSIS_WARN &&
            ((request->no_warnings && !passage->is_recorded && !names_rules(passage)) ||
             passage->order->program))
                return 0;
        r = analysis_start(passage, &passage->analysis, err);
        if (r < 0)
                return r;
        if (mode == ANALYSIS_BLOCK && passage->analysis.skipped &&
            passage->analysis.skipped != too_large)
                return refuse(passage, passage->analysis.skipped, err);
        /* A mistake in rules of the caller's is told before anything runs. */
        return mode == ANALYSIS_BLOCK || names_rules(passage) ? judge(passage, err) : 0;
}

/* Whoever only asks hears in the report what a run would end with. */
static int tell_block(struct passage *passage, struct error *err)
{
        const struct result *result = passage->result;
        bool blocked = result->run.outcome == OUTCOME_BLOCKED && result->message;
        json_t *report = json_loads(result->analysis, JSON_ALLOW_NUL, NULL);
        int r = json_object_set_new(report, "blocked",
                                    blocked ? json_string(result->message) : json_null());

        r = r < 0 ? error_set_nomem(err) : keep(passage, report, err);
        json_decref(report);
        return r;
}

int passage_check(struct passage *passage, struct error *err)
{
        int r = read_rules(passage, err);
        const char *skipped;

        if (r == 0)
                r = analysis_start(passage, &passage->analysis, err);
        skipped = passage->analysis.skipped;
        if (r == 0 && skipped && skipped != too_large && skipped != no_grammar)
                return refuse(passage, skipped, err);
        if (r == 0)
                r = judge(passage, err);
        return r < 0 ? r : tell_block(passage, err);
}

int passage_analysed(struct passage *passage, struct error *err)
{
        json_t *report;
        int r;

        if (passage->result->analysis ||
            (passage->analysis.socket < 0 && !passage->analysis.skipped &&
             passage->analysis.report.length == 0))
                return 0;
        if (passage->analysis.skipped && passage->analysis.socket < 0)
                return keep_skipped(passage, passage->analysis.skipped, err);
        if (passage->analysis.whole.length > 0)
                return keep_known(passage);
        report = analysis_collect(
                passage, &passage->analysis,
                passage->order->request->no_warnings ? WAIT_RECORD_MS : WAIT_WARN_MS, err);
        r = report ? keep_and_remember(passage, report, err) : err->code;
        json_decref(report);
        return r;
}
