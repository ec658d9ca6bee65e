#include "cli/bench.h"
#include "cli/run.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With `code` NULL, the static program's file is handed on. */
static int run_in_library(struct bench *bench, const char *language, const char *code,
                          struct error *err)
{
        AUTO_REQUEST sbx_request *req = sbx_request_new(language, code);
        AUTO_RESULT sbx_result *result = NULL;
        sbx_error *failure = NULL;

        if (!req)
                return error_set_nomem(err);
        if ((!code && sbx_request_set_code_fd(req, bench->hello_fd, &failure) < 0) ||
            sbx_request_set(req, "backend", "container", &failure) < 0)
                return report_take(err, failure);
        result = sbx_run(bench->engine, req, &failure);
        if (!result)
                return report_take(err, failure);
        if (!sbx_result_success(result))
                return error_set(err, SBX_ESYSTEM, "%s: %s", sbx_result_status(result),
                                 sbx_result_message(result) ? sbx_result_message(result)
                                                            : "no message");
        return 0;
}

static int call_library(struct bench *bench, struct error *err)
{
        return run_in_library(bench, NULL, NULL, err);
}

static int call_python_library(struct bench *bench, struct error *err)
{
        return run_in_library(bench, "python", "pass", err);
}

#define COMMAND(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct bench_row_kind kinds[] = {
        { .name = "bare",
          .title = "static program, bare fork+exec",
          .baseline = "bare",
          .command = COMMAND("{hello}") },
        { .name = "sandbox",
          .title = "the same, sandbox run, cold",
          .baseline = "bare",
          .command = COMMAND("{self}", "run", "--backend", "container", "--quiet", "{hello}") },
        { .name = "library",
          .title = "the same, sbx_run in this process",
          .baseline = "bare",
          .call = call_library },
        { .name = "bwrap",
          .title = "the same, bwrap --unshare-all",
          .tool = "bwrap",
          .baseline = "bare",
          .command =
                  COMMAND("{tool}", "--unshare-all", "--ro-bind", "{hello}", "/hello", "/hello") },
        { .name = "isolate",
          .title = "the same, isolate --run",
          .tool = "isolate",
          .baseline = "bare",
          .command = COMMAND("{tool}", "--silent", "--dir=/bench={dir}", "--run", "--",
                             "/bench/hello"),
          .prepare = bench_prepare_isolate,
          .finish = bench_finish_isolate },
        { .name = "crun",
          .title = "the same, crun run",
          .tool = "crun",
          .baseline = "bare",
          .command = COMMAND("{tool}", "--root", "{dir}/crun", "run", "--bundle", "{dir}/bundle",
                             "{id}"),
          .prepare = bench_prepare_bundle },
        { .name = "runc",
          .title = "the same, runc run",
          .tool = "runc",
          .baseline = "bare",
          .command = COMMAND("{tool}", "--root", "{dir}/runc", "run", "--bundle", "{dir}/bundle",
                             "{id}"),
          .prepare = bench_prepare_bundle },
        { .name = "firejail",
          .title = "the same, firejail --net=none",
          .tool = "firejail",
          .baseline = "bare",
          .command = COMMAND("{tool}", "--quiet", "--noprofile", "--net=none", "{hello}") },
        { .name = "python-bare",
          .title = "python3 -c pass, bare",
          .language = "python",
          .baseline = "python-bare",
          .command = COMMAND("{tool}", "-c", "pass") },
        { .name = "python",
          .title = "the same, sandbox run",
          .language = "python",
          .baseline = "python-bare",
          .command = COMMAND("{self}", "run", "--backend", "container", "--quiet", "--lang",
                             "python", "--code", "pass") },
        { .name = "python-library",
          .title = "the same, sbx_run in this process",
          .language = "python",
          .baseline = "python-bare",
          .call = call_python_library },
};

_Static_assert(ARRAY_SIZE(kinds) <= BENCH_ROWS_MAX, "every row has its place");

/* Whether `name` is one of the words of a list separated by commas. */
static bool is_listed(const char *list, const char *name)
{
        size_t length = strlen(name);

        for (const char *p = list; *p; p += strspn(p, ",")) {
                size_t word = strcspn(p, ",");

                if (word == length && memcmp(p, name, length) == 0)
                        return true;
                p += word;
        }
        return false;
}

static int check_words(const char *only, struct error *err)
{
        AUTO_STRBUF struct strbuf names = { 0 };
        int r;

        strbuf_adds(&names, "stream");
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                strbuf_addf(&names, ",%s", kinds[i].name);
        if (names.failed)
                return error_set_nomem(err);
        for (const char *p = only; *p; p += strspn(p, ",")) {
                size_t length = strcspn(p, ",");
                char word[32];

                (void)snprintf(word, sizeof(word), "%.*s", (int)length, p);
                if (length >= sizeof(word) || !is_listed(names.data, word)) {
                        r = error_set(err, SBX_EINVAL, "option '--only': no such row '%s'", word);
                        error_hint(err, "the rows are %s", names.data);
                        return r;
                }
                p += length;
        }
        return 0;
}

size_t bench_rows_init(struct bench_row rows[BENCH_ROWS_MAX], const char *only, struct error *err)
{
        if (only && check_words(only, err) < 0)
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                struct bench_row *row = &rows[i];

                *row = (struct bench_row){ .kind = &kinds[i] };
                row->chosen = !only || is_listed(only, kinds[i].name);
                if (!row->chosen)
                        (void)snprintf(row->reason, sizeof(row->reason), "not chosen");
        }
        return ARRAY_SIZE(kinds);
}

void bench_rows_done(struct bench_row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++)
                mem_free(rows[i].samples);
}

const struct bench_row *bench_rows_find(const struct bench_row *rows, size_t count,
                                        const char *name)
{
        for (size_t i = 0; i < count; i++)
                if (str_equal(rows[i].kind->name, name))
                        return &rows[i];
        return NULL;
}

static int measure_once(struct bench *bench, struct bench_row *row, uint64_t *ret_ns,
                        struct error *err)
{
        uint64_t start;
        pid_t pid;
        int r;

        (void)snprintf(bench->id, sizeof(bench->id), "sandbox-bench-%ld-%u", (long)getpid(),
                       bench->sequence++);
        start = clock_now_ns();
        if (row->kind->call) {
                r = row->kind->call(bench, err);
        } else {
                r = bench_command(bench, row->kind->command, row->tool, -1, &pid, err);
                if (r == 0)
                        r = bench_wait(pid, row->kind->name, err);
        }
        *ret_ns = clock_now_ns() - start;
        return r;
}

static void find_tool(struct bench *bench, struct bench_row *row)
{
        const struct bench_row_kind *kind = row->kind;

        if (*row->reason)
                return;
        if ((kind->tool && !bench_find_tool(kind->tool, row->tool)) ||
            (kind->language && !bench_find_interpreter(bench, kind->language, row->tool)))
                (void)snprintf(row->reason, sizeof(row->reason), "%s is not installed",
                               kind->tool ? kind->tool : kind->language);
}

/* A row that cannot be measured says why and is left out; the others go on. */
static void warm_up(struct bench *bench, struct bench_row *row)
{
        struct error err = { 0 };
        uint64_t ns;
        int r = 0;

        if (*row->reason)
                return;
        if (row->kind->prepare)
                r = row->kind->prepare(bench, row->tool, &err);
        for (int i = 0; i < BENCH_WARM_UP && r == 0; i++)
                r = measure_once(bench, row, &ns, &err);
        if (r < 0)
                (void)snprintf(row->reason, sizeof(row->reason), "failed: %.240s", err.message);
}

static void measure_round(struct bench *bench, struct bench_row *rows, size_t count)
{
        for (size_t i = 0; i < count && !run_signals_caught(); i++) {
                struct error err = { 0 };
                uint64_t ns;

                if (*rows[i].reason)
                        continue;
                if (measure_once(bench, &rows[i], &ns, &err) == 0)
                        rows[i].samples[rows[i].sample_count++] = ns;
                else
                        (void)snprintf(rows[i].reason, sizeof(rows[i].reason), "failed: %.240s",
                                       err.message);
        }
}

int bench_rows_measure(struct bench *bench, struct bench_row *rows, size_t count, unsigned runs,
                       struct error *err)
{
        uint64_t end = clock_now_ns() + BENCH_SECONDS_MAX * UINT64_C(1000000000);

        for (size_t i = 0; i < count; i++) {
                rows[i].samples = mem_alloc(runs * sizeof(*rows[i].samples));
                if (!rows[i].samples)
                        return error_set_nomem(err);
        }
        for (size_t i = 0; i < count && !run_signals_caught(); i++) {
                find_tool(bench, &rows[i]);
                warm_up(bench, &rows[i]);
        }
        for (unsigned run = 0; run < runs && !run_signals_caught() && clock_now_ns() < end; run++)
                measure_round(bench, rows, count);
        for (size_t i = 0; i < count; i++)
                if (rows[i].kind->finish && *rows[i].tool && rows[i].chosen)
                        rows[i].kind->finish(bench, rows[i].tool);
        bench_stats_fill(rows, count);
        return 0;
}
