#include "cli/bench.h"
#include "cli/run.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool bench_is_listed(const char *list, const char *name)
{
        size_t length = strlen(name);

        if (!list)
                return true;
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

        bench_figures_words(&names);
        for (size_t i = 0; i < bench_kind_count; i++)
                strbuf_addf(&names, ",%s", bench_kinds[i].name);
        if (names.failed)
                return error_set_nomem(err);
        for (const char *p = only; *p; p += strspn(p, ",")) {
                size_t length = strcspn(p, ",");
                char word[32];

                (void)snprintf(word, sizeof(word), "%.*s", (int)length, p);
                if (length >= sizeof(word) || !bench_is_listed(names.data, word)) {
                        r = error_set(err, SBX_EINVAL, "option '--only': no such row '%s'", word);
                        error_hint(err, "the rows are %s", names.data);
                        return r;
                }
                p += length;
        }
        return 0;
}

size_t bench_rows_init(struct bench_row rows[BENCH_ROWS_MAX], const char *only, bool compare,
                       struct error *err)
{
        if (only && check_words(only, err) < 0)
                return 0;
        for (size_t i = 0; i < bench_kind_count; i++) {
                struct bench_row *row = &rows[i];

                *row = (struct bench_row){ .kind = &bench_kinds[i] };
                row->chosen = only ? bench_is_listed(only, bench_kinds[i].name)
                                   : compare || !bench_kinds[i].compares;
                if (!row->chosen)
                        (void)snprintf(row->reason, sizeof(row->reason), "not chosen");
        }
        return bench_kind_count;
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

static int run_command(struct bench *bench, const struct bench_row *row, struct error *err)
{
        pid_t pid;
        int r = bench_command(bench, row->kind->command, row->tool, row->kind->surroundings, -1,
                              &pid, err);

        return r < 0 ? r : bench_wait(pid, row->kind->name, err);
}

static int measure_once(struct bench *bench, struct bench_row *row, uint64_t *ret_ns,
                        struct error *err)
{
        AUTO_RESULT sbx_result *result = NULL;
        int containers =
                row->kind->leaves_containers ? bench_count_containers(bench, row->tool) : -1;
        uint64_t start;
        int r;

        (void)snprintf(bench->id, sizeof(bench->id), "sandbox-bench-%ld-%u", (long)getpid(),
                       bench->sequence++);
        start = clock_now_ns();
        if (row->kind->ask)
                r = row->kind->ask(bench, row->kind, err);
        else if (row->kind->command)
                r = run_command(bench, row, err);
        else
                r = bench_call(bench, row->kind, &result, err);
        *ret_ns = clock_now_ns() - start;
        row->spent_ns += *ret_ns;
        if (row->kind->is_warm)
                bench_settle(bench);
        bench_await_removal(bench, row->tool, containers);
        if (result && row->kind->is_warm && !bench_is_warm(result))
                row->cold_count++;
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

enum { SAID_MAX = 4096 };

/* The last line of what a command said, behind the reason. */
static void add_words(struct bench_row *row, int fd)
{
        char text[SAID_MAX];
        ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
        size_t used = strlen(row->reason);
        const char *line;

        while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
                length--;
        if (length <= 0)
                return;
        text[length] = '\0';
        line = strrchr(text, '\n');
        line = line ? line + 1 : text;
        for (char *c = text; *c; c++)
                if ((unsigned char)*c < ' ' && *c != '\n')
                        *c = ' ';
        (void)snprintf(row->reason + used, sizeof(row->reason) - used, ": %s", line);
}

/* The first line of `TOOL --version`. */
static void find_version(struct bench *bench, struct bench_row *row)
{
        const char *const command[] = { "{tool}", "--version", NULL };
        AUTO_CLOSE int fd = memfd_create("version", MFD_CLOEXEC);
        ssize_t length;
        pid_t pid;

        if (fd < 0 || bench_command(bench, command, row->tool, BENCH_ALONE, fd, &pid, NULL) < 0 ||
            bench_wait(pid, "version", NULL) < 0)
                return;
        length = pread(fd, row->version, sizeof(row->version) - 1, 0);
        row->version[length > 0 ? length : 0] = '\0';
        row->version[strcspn(row->version, "\n")] = '\0';
}

/* A row that cannot be measured says why and is left out; the others go on. */
static void warm_up(struct bench *bench, struct bench_row *row)
{
        AUTO_CLOSE int said = memfd_create("said", MFD_CLOEXEC);
        struct error err = { 0 };
        uint64_t ns;
        int r = 0;

        if (*row->reason)
                return;
        if (row->kind->tool)
                find_version(bench, row);
        bench->error_fd = said;
        if (row->kind->prepare)
                r = row->kind->prepare(bench, row->tool, &err);
        if (r == 0 && row->kind->is_warm)
                r = bench_warm_up(bench, row->kind, &err);
        for (int i = 0; i < BENCH_WARM_UP && r == 0; i++)
                r = measure_once(bench, row, &ns, &err);
        if (r < 0)
                (void)snprintf(row->reason, sizeof(row->reason), "failed: %.120s", err.message);
        if (r < 0)
                add_words(row, said);
        bench->error_fd = -1;
        row->cold_count = 0;
        row->spent_ns = 0;
}

/* Every other round goes backwards: what one row leaves to the kernel, such as namespaces to be
 * taken down, would else always be in the way of the same next one. */
static void measure_round(struct bench *bench, struct bench_row *rows, size_t count, bool backwards)
{
        for (size_t i = 0; i < count && !run_signals_caught(); i++) {
                struct bench_row *row = &rows[backwards ? count - 1 - i : i];
                struct error err = { 0 };
                uint64_t ns;

                if (*row->reason || row->spent_ns > BENCH_ROW_SECONDS * UINT64_C(1000000000))
                        continue;
                if (measure_once(bench, row, &ns, &err) == 0)
                        row->samples[row->sample_count++] = ns;
                else
                        (void)snprintf(row->reason, sizeof(row->reason), "failed: %.240s",
                                       err.message);
        }
}

int bench_rows_measure(struct bench *bench, struct bench_row *rows, size_t count, struct error *err)
{
        uint64_t end = clock_now_ns() + BENCH_SECONDS_MAX * UINT64_C(1000000000);

        for (size_t i = 0; i < count; i++) {
                rows[i].samples = mem_alloc(bench->runs * sizeof(*rows[i].samples));
                if (!rows[i].samples)
                        return error_set_nomem(err);
        }
        for (size_t i = 0; i < count && !run_signals_caught(); i++) {
                find_tool(bench, &rows[i]);
                warm_up(bench, &rows[i]);
        }
        for (unsigned run = 0; run < bench->runs && !run_signals_caught() && clock_now_ns() < end;
             run++)
                measure_round(bench, rows, count, run % 2 == 1);
        for (size_t i = 0; i < count; i++)
                if (rows[i].kind->finish && *rows[i].tool && rows[i].chosen)
                        rows[i].kind->finish(bench, rows[i].tool);
        return bench_stats_fill(rows, count, err);
}
