#include "cli/table.h"

#include <ctype.h>
#include <string.h>

enum { COLUMNS_MAX = 8 };

static const char *cell(const json_t *row, const char *column)
{
        const char *text = json_string_value(json_object_get(row, column));

        return text && *text ? text : "-";
}

/* Characters, not bytes: continuation bytes take no room on the screen. */
static size_t width_of(const char *text)
{
        size_t width = 0;

        for (; *text; text++)
                width += ((unsigned char)*text & 0xc0) != 0x80;
        return width;
}

static void add_cell(struct strbuf *out, const char *text, size_t width, bool is_last)
{
        size_t used = width_of(text);

        strbuf_adds(out, text);
        if (is_last)
                strbuf_adds(out, "\n");
        else
                strbuf_addf(out, "%*s", (int)(width - used + 2), "");
}

static void add_heading(struct strbuf *out, const char *column, size_t width, bool is_last)
{
        char upper[32];
        size_t i;

        for (i = 0; i < sizeof(upper) - 1 && column[i]; i++)
                upper[i] = (char)toupper((unsigned char)column[i]);
        upper[i] = '\0';
        add_cell(out, upper, width, is_last);
}

void table_format(const json_t *rows, const char *const *columns, size_t column_count,
                  struct strbuf *out)
{
        size_t widths[COLUMNS_MAX] = { 0 };
        size_t index;
        json_t *row;

        if (column_count > COLUMNS_MAX)
                column_count = COLUMNS_MAX;
        for (size_t c = 0; c < column_count; c++) {
                widths[c] = strlen(columns[c]);
                json_array_foreach(rows, index, row)
                {
                        size_t width = width_of(cell(row, columns[c]));

                        widths[c] = width > widths[c] ? width : widths[c];
                }
        }
        for (size_t c = 0; c < column_count; c++)
                add_heading(out, columns[c], widths[c], c + 1 == column_count);
        json_array_foreach(rows, index, row) for (size_t c = 0; c < column_count; c++)
                add_cell(out, cell(row, columns[c]), widths[c], c + 1 == column_count);
}
