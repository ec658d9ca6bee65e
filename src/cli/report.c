#include "cli/cli.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One line, whatever the foreign names in it hold. A message cut by its buffer may end within a
 * character, which would make all of it look like bytes: that end is left off first. */
static void add_line(struct strbuf *out, const char *prefix, const char *text)
{
        AUTO_FREE char *whole = mem_strndup(text, str_utf8_complete(text, strlen(text)));
        size_t size = strlen(text) * 4 + 8;
        AUTO_FREE char *shown = mem_alloc(size);

        if (!whole || !shown)
                return;
        strbuf_addf(out, "%s: %s\n", prefix, str_printable(whole, shown, size));
}

void report_line(const char *message, const char *hint)
{
        AUTO_STRBUF struct strbuf out = { 0 };

        add_line(&out, "sandbox", message);
        if (hint && *hint)
                add_line(&out, "hint", hint);
        if (out.data)
                (void)fd_write_all(2, out.data, out.length); /* nowhere left to complain */
}

void report_error(const struct error *err)
{
        report_line(err->message, err->hint);
}

int report_take(struct error *err, sbx_error *from)
{
        int code = SBX_ENOMEM;

        /* The library gives no error value only where there was no memory for one. */
        if (!from)
                return error_set_nomem(err);
        code = error_set(err, sbx_error_code(from), "%s", sbx_error_message(from));
        if (sbx_error_hint(from))
                error_hint(err, "%s", sbx_error_hint(from));
        sbx_error_free(from);
        return code;
}

int report_write(const struct cli *cli, const char *text, size_t length, struct error *err)
{
        if (cli->closed[1])
                return error_set(err, SBX_EOUTPUT, "standard output: closed");
        if (fd_write_all(1, text, length) < 0)
                return error_set(err, SBX_EOUTPUT, "write standard output: %s", strerror(errno));
        return 0;
}

int report_write_taken(const struct cli *cli, char *text, struct error *err)
{
        size_t length = strlen(text);
        int r = report_write(cli, text, length, err);

        if (r == 0 && (length == 0 || text[length - 1] != '\n'))
                r = report_write(cli, "\n", 1, err);
        sbx_string_free(text);
        return r;
}

bool report_is_colored(int fd)
{
        const char *no_color = getenv("NO_COLOR");
        const char *term = getenv("TERM");

        return isatty(fd) && (!no_color || !*no_color) && !str_equal(term, "dumb");
}
