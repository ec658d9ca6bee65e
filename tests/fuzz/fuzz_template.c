/*
 * A template, a snippet and what a program says, from foreign bytes: the first line names the file,
 * then come the template, the code and the words, with a line "====" between. What loads must fill;
 * every line of the program must have an origin within its source; words that come in pieces must
 * be mapped as they are in one.
 */
#include "base/mem.h"
#include "templates/templates.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what)
{
        if (condition)
                return;
        (void)fprintf(stderr, "%s\n", what);
        abort();
}

/* Cuts the text at the next line "====". */
static char *cut(char **rest)
{
        char *part = *rest, *mark = strstr(part, "\n====\n");

        if (mark)
                *mark = '\0';
        *rest = mark ? mark + 6 : part + strlen(part);
        return part;
}

static size_t count_lines(const char *text)
{
        size_t lines = 1;

        for (; *text; text++)
                lines += *text == '\n';
        return lines;
}

static void check_origins(const struct expansion *e, const char *code)
{
        require(count_lines(e->text.data ? e->text.data : "") == e->lines, "lines are miscounted");
        for (size_t line = 1; line <= e->lines; line++) {
                struct template_range origin = expansion_origin(e, line);

                require(origin.source < (int)e->template->count, "an unknown source");
                require(origin.line >= 1, "a line before the first");
                if (origin.source < 0)
                        require(origin.line <= count_lines(e->template->program),
                                "a line beyond the template");
                else if (strcmp(e->template->placeholders[origin.source].name, "code") == 0)
                        require(origin.line <= count_lines(code), "a line beyond the code");
        }
}

static struct strbuf map(const struct expansion *e, const char *words, size_t piece)
{
        static const char *const marks[] = { "SyntaxError", NULL };
        struct line_mapper mapper;
        struct strbuf out = { 0 };
        size_t length = strlen(words);

        mapper_init(&mapper, e, "main.py", marks);
        for (size_t at = 0; at < length; at += piece)
                mapper_feed(&mapper, words + at, length - at < piece ? length - at : piece, &out);
        mapper_end(&mapper, &out);
        mapper_done(&mapper);
        return out;
}

static void check_words(const struct expansion *e, const char *words)
{
        struct strbuf whole = map(e, words, strlen(words) + 1), pieces = map(e, words, 3);

        require(!whole.failed && !pieces.failed, "no memory");
        require(whole.length == pieces.length &&
                        (whole.length == 0 || memcmp(whole.data, pieces.data, whole.length) == 0),
                "pieces are mapped otherwise");
        strbuf_done(&whole);
        strbuf_done(&pieces);
}

static void check_filled(const struct template *template, const char *code, const char *words)
{
        static const char *const languages[] = { "python", "shell", "c" };
        struct template_use use = { 0 };
        struct expansion e = { 0 };
        struct error err = { 0 };

        for (size_t i = 0; i < template->count; i++)
                if (strcmp(template->placeholders[i].name, "code") != 0 && i % 2 == 0)
                        require(template_use_set(&use, template->placeholders[i].name, "[1]", 3,
                                                 &err) == 0,
                                "a placeholder that cannot be set");
        for (size_t i = 0; i < ARRAY_SIZE(languages); i++) {
                if (template_expand(template, &use, code, strlen(code), languages[i], &e, &err) <
                    0) {
                        require(err.message[0] && !strchr(err.message, '\n'), "no message");
                        continue;
                }
                check_origins(&e, code);
                check_words(&e, words);
                expansion_done(&e);
        }
        template_use_done(&use);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        AUTO_FREE char *text = mem_strndup((const char *)data, size);
        struct template *template = NULL;
        struct error err = { 0 };
        char *rest = text, *name, *source, *code;
        int r;

        if (size > 1 << 16)
                return 0;
        name = rest;
        rest += strcspn(rest, "\n");
        if (*rest)
                *rest++ = '\0';
        source = cut(&rest);
        code = cut(&rest);
        r = template_load(source, strlen(source), name, &template, &err);
        if (r == 0)
                check_filled(template, code, rest);
        else
                require(r == SBX_EINVAL && err.message[0] && !strchr(err.message, '\n'),
                        "an error of another kind");
        template_free(template);
        return 0;
}
