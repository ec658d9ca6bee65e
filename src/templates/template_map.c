/*
 * The way back: places in what a compiler or program says, from lines of the program that was made
 * to lines of what was put in.
 *
 * A place is the program's file, bare or below a folder "code", with a line number behind it in one
 * of the forms of the table. Text comes from the guest, so nothing is believed: a number that is no
 * line of the program stays what it is, and a line that is too long to hold passes as it came.
 */
#include "templates/templates.h"

#include <string.h>

/* What stands between file and number. */
struct form {
        const char *between;
        bool in_words; /* "line 3 of tests" can follow; else the file's name gives way */
        char behind;   /* must follow the number, or 0 */
        char column;   /* stands between line and column, or 0 where there is none */
};

static const struct form forms[] = {
        { "\", line ", true, 0, 0 }, /* Python: File "/code/main.py", line 3 */
        { ", line ", true, 0, 0 },   /* Python: (main.py, line 3) */
        { ": line ", true, 0, 0 },   /* bash */
        { " on line ", true, 0, 0 }, /* PHP */
        { " line ", true, 0, 0 },    /* Perl */
        { ": ", false, ':', 0 },     /* dash */
        { ":", false, 0, ':' },      /* nearly everybody */
        { "(", false, 0, ',' },      /* TypeScript */
};

enum { DIGITS_MAX = 9 };

/* A line while it is rewritten. */
struct line {
        const char *text;
        size_t length;
        size_t done; /* what is before it has been given out */
        struct strbuf *out;
};

void mapper_init(struct line_mapper *mapper, const struct expansion *expansion, const char *file,
                 const char *const *syntax_errors)
{
        *mapper = (struct line_mapper){ .expansion = expansion,
                                        .file = file,
                                        .syntax_errors = syntax_errors };
}

void mapper_done(struct line_mapper *mapper)
{
        strbuf_done(&mapper->held);
}

/* ---- numbers ---- */

static bool is_digit(const struct line *line, size_t at)
{
        return at < line->length && line->text[at] >= '0' && line->text[at] <= '9';
}

/* The number at `at`; 0 where there is none, or one that nobody counts to. */
static size_t read_number(const struct line *line, size_t at, size_t *ret_end)
{
        size_t value = 0, start = at;

        while (is_digit(line, at) && at - start < DIGITS_MAX)
                value = value * 10 + (size_t)(line->text[at++] - '0');
        *ret_end = at;
        return is_digit(line, at) ? 0 : value;
}

static void copy_until(struct line *line, size_t end)
{
        if (end > line->done)
                strbuf_add(line->out, line->text + line->done, end - line->done);
        line->done = end > line->done ? end : line->done;
}

/* "tests" or "template unittest"; NULL for the code, whose lines need no name. */
static const char *source_name(const struct line_mapper *mapper, int source, bool *ret_is_template)
{
        const struct template *template = mapper->expansion->template;

        *ret_is_template = source < 0;
        if (source < 0)
                return template->name;
        return strcmp(template->placeholders[source].name, "code") == 0
                       ? NULL
                       : template->placeholders[source].name;
}

static void add_source(struct line *line, const char *before, const char *name, bool is_template)
{
        strbuf_addf(line->out, "%s%s%s", before, is_template ? "template " : "", name);
}

/* ---- places ---- */

static bool is_name_byte(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.' || (unsigned char)c >= 0x80;
}

/* Whether the file's name at `at` is that of the program: bare, "./" or below "code". */
static bool is_program(const struct line *line, size_t at)
{
        const char *before = line->text + at;

        if (at == 0 || (before[-1] != '/' && !is_name_byte(before[-1])))
                return true;
        if (at >= 6 && memcmp(before - 6, "/code/", 6) == 0)
                return true;
        return at >= 2 && memcmp(before - 2, "./", 2) == 0 &&
               (at == 2 || !is_name_byte(before[-3]));
}

/* Where the path begins whose last part is at `at`. */
static size_t path_start(const struct line *line, size_t at)
{
        while (at > line->done && !strchr(" \t\"'()<>[]=,", line->text[at - 1]))
                at--;
        return at;
}

static const struct form *match_form(const struct line *line, size_t at, size_t *ret_number,
                                     size_t *ret_end)
{
        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
                size_t length = strlen(forms[i].between), end;

                if (line->length - at < length ||
                    memcmp(line->text + at, forms[i].between, length) != 0)
                        continue;
                if (read_number(line, at + length, &end) == 0)
                        continue;
                if (forms[i].behind && (end >= line->length || line->text[end] != forms[i].behind))
                        continue;
                *ret_number = at + length;
                *ret_end = end;
                return &forms[i];
        }
        return NULL;
}

/* The column behind a line number moves by what was put in front of the line. */
static void map_column(struct line *line, const struct form *form, size_t indent)
{
        size_t end, column;

        if (!form->column || !indent || line->done >= line->length ||
            line->text[line->done] != form->column)
                return;
        column = read_number(line, line->done + 1, &end);
        if (column <= indent)
                return;
        copy_until(line, line->done + 1);
        strbuf_addf(line->out, "%zu", column - indent);
        line->done = end;
}

/* Rewrites one place; `at` is behind the file's name, which begins at `name`. */
static void map_place(struct line_mapper *mapper, struct line *line, size_t name, size_t at)
{
        size_t number = 0, end = 0, value;
        const struct form *form = match_form(line, at, &number, &end);
        struct template_range origin;
        const char *source;
        bool is_template;

        if (!form)
                return;
        value = read_number(line, number, &end);
        if (value == 0 || value > mapper->expansion->lines)
                return;
        origin = expansion_origin(mapper->expansion, value);
        source = source_name(mapper, origin.source, &is_template);
        if (source && !form->in_words) {
                copy_until(line, path_start(line, name));
                add_source(line, "", source, is_template);
                line->done = at;
        }
        copy_until(line, number);
        strbuf_addf(line->out, "%zu", origin.line);
        line->done = end;
        if (source && form->in_words)
                add_source(line, " of ", source, is_template);
        map_column(line, form, origin.indent);
        mapper->in_excerpt = mapper->in_excerpt || !form->in_words;
}

static void map_places(struct line_mapper *mapper, struct line *line)
{
        size_t length = strlen(mapper->file);
        const char *found;

        while (line->done < line->length &&
               (found = memmem(line->text + line->done, line->length - line->done, mapper->file,
                               length)) != NULL) {
                size_t name = (size_t)(found - line->text), at = name + length;

                /* The text before it is given out by map_place(), which may drop the path. */
                if (is_program(line, name))
                        map_place(mapper, line, name, at);
                copy_until(line, at);
        }
}

/* ---- what follows a place ---- */

/* "   12 | code", as compilers quote it. */
static bool map_excerpt(struct line_mapper *mapper, struct line *line)
{
        size_t at = 0, number, end, value;

        while (at < line->length && line->text[at] == ' ')
                at++;
        number = at;
        value = read_number(line, at, &end);
        for (at = end; at < line->length && line->text[at] == ' ';)
                at++;
        if (at >= line->length || line->text[at] != '|')
                return false;
        if (value == 0 || value > mapper->expansion->lines)
                return true;
        copy_until(line, number);
        strbuf_addf(line->out, "%*zu", (int)(end - number),
                    expansion_origin(mapper->expansion, value).line);
        line->done = end;
        return true;
}

static bool is_syntax_error(const struct line_mapper *mapper, const struct line *line)
{
        for (const char *const *pattern = mapper->syntax_errors; pattern && *pattern; pattern++) {
                size_t length = strcspn(*pattern, "{"); /* what it begins with tells enough */

                if (length > 0 && line->length >= length &&
                    memcmp(line->text, *pattern, length) == 0)
                        return true;
        }
        return false;
}

/* "'(' was never closed on line 3": a message about syntax speaks of the program's lines. */
static void map_bare(struct line_mapper *mapper, struct line *line)
{
        static const char words[] = " on line ";
        const char *found;

        while (line->done < line->length &&
               (found = memmem(line->text + line->done, line->length - line->done, words,
                               sizeof(words) - 1)) != NULL) {
                size_t number = (size_t)(found - line->text) + sizeof(words) - 1, end;
                size_t value = read_number(line, number, &end);
                struct template_range origin;
                const char *source;
                bool is_template;

                copy_until(line, number);
                if (value == 0 || value > mapper->expansion->lines)
                        continue;
                origin = expansion_origin(mapper->expansion, value);
                source = source_name(mapper, origin.source, &is_template);
                strbuf_addf(line->out, "%zu", origin.line);
                line->done = end;
                if (source)
                        add_source(line, " of ", source, is_template);
        }
}

/* ---- lines ---- */

static void map_line(struct line_mapper *mapper, const char *text, size_t length,
                     struct strbuf *out)
{
        struct line line = { .text = text, .length = length, .out = out };

        if (mapper->in_excerpt)
                mapper->in_excerpt = map_excerpt(mapper, &line);
        if (is_syntax_error(mapper, &line))
                map_bare(mapper, &line);
        map_places(mapper, &line);
        copy_until(&line, length);
}

/* One piece that ends with its newline, or is the end of what there is. Of a line that is too long
 * to hold, always the same beginning is looked at, however it came in pieces. */
static void take_piece(struct line_mapper *mapper, const char *data, size_t length, bool is_whole,
                       struct strbuf *out)
{
        size_t room = MAPPER_LINE_MAX - mapper->held.length;
        bool is_long = length > room;

        if (mapper->in_long_line) {
                strbuf_add(out, data, length);
                mapper->in_long_line = !is_whole;
                return;
        }
        if (is_whole && !is_long && mapper->held.length == 0) {
                map_line(mapper, data, length, out);
                return;
        }
        strbuf_add(&mapper->held, data, is_long ? room : length);
        if (mapper->held.failed) {
                out->failed = true;
                return;
        }
        if (!is_whole && !is_long)
                return;
        map_line(mapper, mapper->held.data, mapper->held.length, out);
        mapper->held.length = 0;
        if (is_long)
                strbuf_add(out, data + room, length - room);
        mapper->in_long_line = is_long && !is_whole;
}

void mapper_feed(struct line_mapper *mapper, const char *data, size_t length, struct strbuf *out)
{
        while (length > 0) {
                size_t part = 0;
                bool ends;

                /* A carriage return ends a line too: progress is shown with it. */
                while (part < length && data[part] != '\n' && data[part] != '\r')
                        part++;
                ends = part < length;
                part += ends;
                take_piece(mapper, data, part, ends, out);
                data += part;
                length -= part;
        }
}

void mapper_end(struct line_mapper *mapper, struct strbuf *out)
{
        if (mapper->held.length)
                map_line(mapper, mapper->held.data, mapper->held.length, out);
        mapper->held.length = 0;
        mapper->in_long_line = mapper->in_excerpt = false;
}
