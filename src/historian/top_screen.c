/* The screen of `sandbox top`: fits 80 columns, plain ANSI, no other library. */
#include "historian/top.h"
#include "base/clock.h"
#include "base/jsontext.h"
#include "base/mem.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BAR = 5, RECENT_MAX = 10, LINE_MAX_BYTES = 1024 };

/* A bar of `share` (0 to 1), such as "[###-----]". */
static void bar(double share, char text[BAR + 3])
{
        int full = share < 0 ? 0 : share > 1 ? BAR : (int)(share * BAR + 0.5);

        text[0] = '[';
        for (int i = 0; i < BAR; i++)
                text[1 + i] = i < full ? '#' : '-';
        text[BAR + 1] = ']';
        text[BAR + 2] = '\0';
}

static const char *size_or_dash(uint64_t bytes, char text[UNITS_TEXT_MAX])
{
        return bytes == UINT64_MAX ? "-" : units_format_size(bytes, text);
}

/* Adds a line, cut to the width of the terminal; what follows it on the screen is cleared. */
static void add_line(struct strbuf *out, const struct top *top, bool on_terminal, bool chosen,
                     const char *text)
{
        if (!on_terminal) {
                strbuf_addf(out, "%s\n", text);
                return;
        }
        strbuf_addf(out, "%s%.*s%s\033[K\r\n", chosen ? "\033[7m" : "", top->columns, text,
                    chosen ? "\033[0m" : "");
}

static void add_page(struct strbuf *out, const struct top *top, bool on_terminal, size_t index)
{
        const struct running_page *page = &top->pages[index];
        const struct running_usage *usage = &page->usage;
        double seconds = (double)(clock_now_ns() - page->started_ns) / 1e9;
        char memory[UNITS_TEXT_MAX], disk[UNITS_TEXT_MAX], bar_text[BAR + 3], time_bar[BAR + 3];
        char line[LINE_MAX_BYTES], language[48], name[160];

        bar(page->memory_limit ? (double)usage->memory / (double)page->memory_limit : 0, bar_text);
        bar(page->timeout_ms ? seconds * 1e3 / (double)page->timeout_ms : 0, time_bar);
        str_printable(page->language, language, sizeof(language));
        str_printable(page->name[0] ? page->name : page->phase, name, sizeof(name));
        (void)snprintf(line, sizeof(line), "%-10s %-7.7s %6.1f%s %4.0f%% %8s%s %3" PRIu64 " %8s %s",
                       page->id + 16, language, seconds, time_bar, (double)usage->cpu_milli / 10,
                       size_or_dash(usage->memory, memory), bar_text, usage->processes,
                       size_or_dash(usage->disk, disk), name);
        add_line(out, top, on_terminal, on_terminal && index == top->chosen, line);
}

static void add_recent(struct strbuf *out, const struct top *top, bool on_terminal)
{
        sqlite3_stmt *ask = NULL;
        char line[LINE_MAX_BYTES];
        int left = top->rows - (int)top->count - 7;

        if (!top->archive.db ||
            sqlite3_prepare_v2(
                    top->archive.db,
                    "SELECT id, language, status, execution_time, memory_used, name FROM "
                    "records WHERE kind = 'run' ORDER BY seq DESC LIMIT ?",
                    -1, &ask, NULL) != SQLITE_OK)
                return;
        (void)sqlite3_bind_int(ask, 1, left < 0 ? 0 : left < RECENT_MAX ? left : RECENT_MAX);
        while (sqlite3_step(ask) == SQLITE_ROW) {
                const char *texts[4];
                char shown[4][96], memory[UNITS_TEXT_MAX];
                static const int columns[] = { 0, 1, 2, 5 };

                for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
                        texts[i] = (const char *)sqlite3_column_text(ask, columns[i]);
                        str_printable(texts[i] ? texts[i] : "", shown[i], sizeof(shown[i]));
                }
                (void)snprintf(line, sizeof(line), "%-10s %-7.7s %6.1f        %-14s %8s %s",
                               strlen(shown[0]) > 16 ? shown[0] + 16 : shown[0], shown[1],
                               sqlite3_column_double(ask, 3), shown[2],
                               units_format_size((uint64_t)sqlite3_column_int64(ask, 4), memory),
                               shown[3]);
                add_line(out, top, on_terminal, false, line);
        }
        (void)sqlite3_finalize(ask);
}

void top_draw(const struct top *top, bool on_terminal, struct strbuf *out)
{
        char stamp[CLOCK_STAMP_MAX], line[LINE_MAX_BYTES];
        size_t room = top->rows > 8 ? (size_t)top->rows - 7 : 1;

        if (on_terminal)
                strbuf_adds(out, "\033[H");
        (void)snprintf(line, sizeof(line), "sandbox top  running: %zu  %s%s%.19s UTC", top->count,
                       top->notice, top->notice[0] ? "  " : "", clock_stamp(stamp));
        add_line(out, top, on_terminal, false, line);
        add_line(out, top, on_terminal, false, "");
        add_line(out, top, on_terminal, false,
                 "RUN        LANG      TIME         CPU   MEMORY        PROC     DISK NAME");
        for (size_t i = 0; i < top->count && i < room; i++)
                add_page(out, top, on_terminal, i);
        add_line(out, top, on_terminal, false, "");
        add_line(out, top, on_terminal, false,
                 "RECENT     LANG      TIME        STATUS           MEMORY NAME");
        add_recent(out, top, on_terminal);
        if (on_terminal)
                strbuf_addf(out, "\033[J\033[%d;1H\033[7m q quit  k cancel  up/down choose \033[0m",
                            top->rows);
}

static void put_known(struct strbuf *out, const char *key, uint64_t value)
{
        if (value == UINT64_MAX)
                jsontext_put_null(out, key);
        else
                jsontext_put_size(out, key, value);
}

static void add_json(struct strbuf *out, const struct running_page *page)
{
        const struct running_usage *usage = &page->usage;

        strbuf_adds(out, "{");
        jsontext_put_string(out, "id", page->id);
        jsontext_put_string(out, "started_at", page->started_at);
        jsontext_put_string(out, "name", page->name[0] ? page->name : NULL);
        jsontext_put_string(out, "language", page->language);
        jsontext_put_string(out, "backend", page->backend);
        jsontext_put_string(out, "phase", page->phase);
        jsontext_put_integer(out, "pid", page->pid);
        jsontext_put_seconds(out, "time", (double)(page->sampled_ns - page->started_ns) / 1e9);
        jsontext_put_seconds(out, "cpu_time", (double)usage->cpu_us / 1e6);
        jsontext_put_seconds(out, "cpu_percent", (double)usage->cpu_milli / 10);
        put_known(out, "memory", usage->memory);
        put_known(out, "memory_peak", usage->memory_peak);
        put_known(out, "processes", usage->processes);
        put_known(out, "disk", usage->disk);
        put_known(out, "io_read", usage->io_read);
        put_known(out, "io_write", usage->io_write);
        put_known(out, "network_in", usage->network_in);
        put_known(out, "network_out", usage->network_out);
        jsontext_put_size(out, "memory_limit", page->memory_limit);
        jsontext_put_seconds(out, "timeout", (double)page->timeout_ms / 1e3);
        strbuf_adds(out, "}");
}

int top_print_json(const struct top *top, struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        strbuf_adds(&out, "[");
        for (size_t i = 0; i < top->count; i++) {
                strbuf_adds(&out, i ? "," : "");
                add_json(&out, &top->pages[i]);
        }
        strbuf_adds(&out, "]\n");
        return out.failed ? error_set_nomem(err)
                          : report_write(top->archive.cli, out.data, out.length, err);
}
