/*
 * `sandbox top`: looks at the running ones and at the newest records again and again, draws, and
 * obeys keys. The terminal is put back as it was on every way out, also by a signal.
 */
#include "historian/top.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/units.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { INTERVAL_MS = 500, INTERVAL_MIN_MS = 50, ROWS = 24, COLUMNS = 80 };

static volatile sig_atomic_t is_over; /* set by a signal: leave, and put the terminal back */

static void note_signal(int number)
{
        (void)number;
        is_over = 1;
}

static void catch_signals(void)
{
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
        const struct sigaction action = { .sa_handler = note_signal };

        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                (void)sigaction(signals[i], &action, NULL); /* fails for bad numbers alone */
        (void)sigaction(SIGWINCH, &(const struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

static int look(struct top *top, struct error *err)
{
        struct winsize size = { 0 };
        int r = archive_refresh(&top->archive, err);

        top->rows = ROWS;
        top->columns = COLUMNS;
        if (ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
                top->rows = size.ws_row;
                top->columns = size.ws_col;
        }
        mem_free(top->pages);
        top->pages = NULL;
        top->count = 0;
        if (r == 0 && top->archive.history.dir >= 0)
                r = running_list(&top->archive.history, &top->pages, &top->count, err);
        if (top->chosen >= top->count)
                top->chosen = top->count ? top->count - 1 : 0;
        return r;
}

static void cancel(struct top *top)
{
        struct error err = { 0 };
        const char *id;

        if (top->count == 0)
                return;
        id = top->pages[top->chosen].id;
        if (running_cancel(&top->archive.history, id, &err) == 0)
                (void)snprintf(top->notice, sizeof(top->notice), "cancelled %s", id + 16);
        else
                (void)snprintf(top->notice, sizeof(top->notice), "%.120s", err.message);
}

/* Takes what was typed; false: leave. Arrows come as ESC [ A. */
static bool obey(struct top *top)
{
        char keys[64];
        ssize_t n = read(0, keys, sizeof(keys));

        if (n <= 0)
                return n < 0 && (errno == EINTR || errno == EAGAIN);
        for (ssize_t i = 0; i < n; i++) {
                if (keys[i] == 'q' || keys[i] == 3)
                        return false;
                if (keys[i] == 'k')
                        cancel(top);
                if (keys[i] == '\033' && i + 2 < n && keys[i + 1] == '[') {
                        if (keys[i + 2] == 'A' && top->chosen > 0)
                                top->chosen--;
                        if (keys[i + 2] == 'B' && top->chosen + 1 < top->count)
                                top->chosen++;
                        i += 2;
                }
        }
        return true;
}

static int loop(struct top *top, int interval_ms, struct error *err)
{
        int r = 0;

        while (!is_over) {
                struct pollfd keys = { .fd = 0, .events = POLLIN };
                AUTO_STRBUF struct strbuf screen = { 0 };

                r = look(top, err);
                if (r < 0)
                        return r;
                top_draw(top, true, &screen);
                if (screen.failed)
                        return error_set_nomem(err);
                r = report_write(top->archive.cli, screen.data, screen.length, err);
                if (r < 0)
                        return r;
                if (poll(&keys, 1, interval_ms) > 0 && !obey(top))
                        break;
        }
        return 0;
}

static int watch(struct top *top, int interval_ms, struct error *err)
{
        static const char enter[] = "\033[?1049h\033[?25l\033[2J", leave[] = "\033[?25h\033[?1049l";
        struct termios before, raw;
        int r;

        if (!isatty(0) || !isatty(1) || tcgetattr(0, &before) < 0) {
                r = error_set(err, SBX_EINVAL, "top: not on a terminal");
                error_hint(err, "'sandbox top --once' prints what is there");
                return r;
        }
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        catch_signals();
        if (tcsetattr(0, TCSANOW, &raw) < 0)
                return error_set_errno(err, "set the terminal");
        (void)fd_write_all(1, enter, sizeof(enter) - 1); /* a failure shows with the first screen */
        r = loop(top, interval_ms, err);
        (void)fd_write_all(1, leave, sizeof(leave) - 1); /* nowhere left to complain */
        (void)tcsetattr(0, TCSANOW, &before);
        return r;
}

static int print_once(struct top *top, struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        int r = look(top, err);

        if (r < 0)
                return r;
        if (options_given(top->archive.options, "json"))
                return top_print_json(top, err);
        top_draw(top, false, &out);
        return out.failed ? error_set_nomem(err)
                          : report_write(top->archive.cli, out.data, out.length, err);
}

int top_main(const struct cli *cli, const struct options *options, struct error *err)
{
        struct top top = { .archive = { .cli = cli, .options = options } };
        const char *text = options_value(options, "interval");
        uint64_t interval = INTERVAL_MS;
        int r = 0;

        if (text) {
                r = units_parse_duration(text, &interval, err);
                if (r < 0)
                        error_prefix(err, "option '--interval'");
                else if (interval < INTERVAL_MIN_MS || interval > 3600000)
                        r = error_set(err, SBX_EINVAL, "option '--interval': from 50ms to 1h");
        }
        if (r == 0 && options_given(options, "json") && !options_given(options, "once"))
                r = error_set(err, SBX_EINVAL, "option '--json': goes with '--once'");
        if (r < 0)
                return r;
        history_init(&top.archive.history);
        r = archive_open(&top.archive, err);
        if (r == 0)
                r = options_given(options, "once") ? print_once(&top, err)
                                                   : watch(&top, (int)interval, err);
        mem_free(top.pages);
        archive_close(&top.archive);
        return r;
}
