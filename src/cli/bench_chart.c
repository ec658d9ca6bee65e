/* The chart: one bar a row, in groups by what they are compared with; a logarithmic scale, because
 * the slowest takes hundreds of times as long as the fastest. */
#include "cli/bench.h"
#include "base/fd.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>

enum {
        WIDTH = 860,
        LEFT = 300,  /* the names */
        RIGHT = 110, /* the figures */
        LINE = 24,
        SMALL_LINE = 13, /* of a command */
        TOP = 44,
};

struct scale {
        double low, high; /* decades, as powers of ten of milliseconds */
};

static double place(const struct scale *scale, double ms)
{
        double share = (log10(ms) - scale->low) / (scale->high - scale->low);

        return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static struct scale find_scale(const struct bench_all *all)
{
        struct scale scale = { 9, -9 };

        for (size_t i = 0; i < all->row_count; i++) {
                double power = all->rows[i].measured && all->rows[i].median_ns
                                       ? log10((double)all->rows[i].median_ns / 1e6)
                                       : NAN;

                if (power < scale.low)
                        scale.low = floor(power);
                if (power > scale.high)
                        scale.high = ceil(power);
        }
        if (scale.high <= scale.low)
                scale.high = scale.low + 1;
        return scale;
}

static void add_text(struct strbuf *out, const char *text)
{
        for (; *text; text++) {
                if (*text == '<')
                        strbuf_adds(out, "&lt;");
                else if (*text == '&')
                        strbuf_adds(out, "&amp;");
                else
                        strbuf_add(out, text, 1);
        }
}

static void add_grid(const struct scale *scale, int height, struct strbuf *out)
{
        int decades = (int)(scale->high - scale->low);

        for (int i = 0; i <= decades; i++) {
                double ms = pow(10, scale->low + i), x = place(scale, ms);

                strbuf_addf(out,
                            "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#ddd\"/>\n"
                            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#666\">%g "
                            "ms</text>\n",
                            x, x, TOP - 12, height - 8, x, TOP - 18, ms);
        }
}

static void add_bar(const struct scale *scale, const struct bench_row *row, int y,
                    struct strbuf *out)
{
        double ms = (double)row->median_ns / 1e6, end = place(scale, ms);
        const char *color = row->kind->tool && row->kind->command             ? "#9aa5b1"
                            : str_equal(row->kind->name, row->kind->baseline) ? "#52606d"
                                                                              : "#2f855a";

        strbuf_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 8, y + 15);
        /* "the same" is the row that the group begins with. */
        add_text(out, row->kind->title);
        strbuf_addf(out,
                    "</text>\n<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n"
                    "<text x=\"%.1f\" y=\"%d\">%.2f ms",
                    LEFT, y + 3, end - LEFT, LINE - 7, color, end + 6, y + 15, ms);
        if (row->ratio > 0)
                strbuf_addf(out, " (%.2fx)", row->ratio);
        strbuf_adds(out, "</text>\n");
}

/* What another sandbox was told, with the places of this machine as words: HELLO, DIR. */
static void add_command(const struct bench_row *row, int y, struct strbuf *out)
{
        strbuf_addf(out, "<text x=\"8\" y=\"%d\" font-family=\"monospace\" font-size=\"8\">", y);
        for (const char *const *word = row->kind->command; *word; word++) {
                bool is_name = false;

                strbuf_adds(out, word == row->kind->command ? "" : " ");
                if (str_equal(*word, "{tool}")) {
                        strbuf_adds(out, row->kind->tool);
                        continue;
                }
                for (const char *c = *word; *c; c++) {
                        char shown[2] = { (char)(is_name ? toupper((unsigned char)*c) : *c), 0 };

                        if (*c == '{' || *c == '}')
                                is_name = *c == '{';
                        else
                                add_text(out, shown);
                }
        }
        strbuf_adds(out, "</text>\n");
}

/* Below the bars; where they end. */
static int add_commands(const struct bench_all *all, int y, struct strbuf *out)
{
        for (size_t i = 0; i < all->row_count; i++) {
                const struct bench_row *row = &all->rows[i];

                if (row->measured && row->kind->tool && row->kind->command &&
                    !str_equal(row->kind->name, row->kind->baseline))
                        add_command(row, y += SMALL_LINE, out);
        }
        return y;
}

static int draw(const struct bench_all *all, struct strbuf *out)
{
        struct scale scale = find_scale(all);
        AUTO_STRBUF struct strbuf bars = { 0 };
        const char *group = NULL;
        int y = TOP, end;

        for (size_t i = 0; i < all->row_count; i++) {
                const struct bench_row *row = &all->rows[i];

                if (!row->measured)
                        continue;
                if (group && !str_equal(group, row->kind->baseline))
                        y += LINE / 2;
                group = row->kind->baseline;
                add_bar(&scale, row, y, &bars);
                y += LINE;
        }
        end = add_commands(all, y + 16, &bars) + 16;
        strbuf_addf(out,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                    "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                    WIDTH, end, WIDTH, end);
        add_grid(&scale, y + 16, out);
        strbuf_add(out, bars.data ? bars.data : "", bars.length);
        strbuf_adds(out, "</svg>\n");
        return bars.failed || out->failed ? -1 : 0;
}

int bench_write_chart(const struct bench_all *all, const char *path, struct error *err)
{
        AUTO_STRBUF struct strbuf out = { 0 };
        AUTO_CLOSE int fd = -1;

        if (draw(all, &out) < 0)
                return error_set_nomem(err);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0 || fd_write_all(fd, out.data, out.length) < 0)
                return error_set_errno(err, "write '%s'", path);
        return 0;
}
