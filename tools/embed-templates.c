/*
 * Build-time program: checks the template files named on its command line with the reader that the
 * library has, and writes their texts as a constant table.
 *
 *         embed-templates OUTPUT.c FILE.yaml...
 */
#include "base/fd.h"
#include "base/mem.h"
#include "templates/templates.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Octal escapes have at most three digits, so that a digit after one never joins it. */
static void write_string(FILE *out, const char *text)
{
        fputc('"', out);
        for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
                if (*p == '\n')
                        fputs("\\n\"\n        \"", out);
                else if (isalnum(*p) || strchr(" !#$%&'()*+,-./:;<=>@[]^_`{|}~", *p))
                        fputc(*p, out);
                else
                        fprintf(out, "\\%03o", *p);
        }
        fputc('"', out);
}

static int embed_file(FILE *out, const char *path, struct error *err)
{
        AUTO_FREE char *text = NULL;
        AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct template *template = NULL;
        size_t length = 0;
        int r;

        if (fd < 0)
                return error_set_errno(err, "open '%s'", path);
        r = fd_read_all(fd, TEMPLATE_FILE_MAX, path, &text, &length, err);
        if (r == 0)
                r = template_load(text, length, path, &template, err);
        if (r < 0)
                return r;
        if (!template->language) {
                template_free(template);
                return error_set(err, SBX_EINVAL, "%s: a built-in template has a language", path);
        }
        fprintf(out, "        { \"%s\", \"%s\",\n        ", template->name, template->language);
        write_string(out, text);
        fputs(" },\n", out);
        template_free(template);
        return 0;
}

static int embed(FILE *out, char **files, int count, struct error *err)
{
        int r = 0;

        fputs("/* Made by tools/embed-templates.c from templates/. */\n"
              "#include \"templates/templates.h\"\n\n"
              "const struct template_builtin templates_builtin[] = {\n",
              out);
        for (int i = 0; i < count && r == 0; i++)
                r = embed_file(out, files[i], err);
        fputs("        { 0 },\n};\n", out);
        return r;
}

int main(int argc, char **argv)
{
        struct error err = { 0 };
        FILE *out;
        int r;

        if (argc < 3) {
                fputs("usage: embed-templates OUTPUT.c FILE.yaml...\n", stderr);
                return 2;
        }
        out = fopen(argv[1], "we");
        if (!out) {
                perror(argv[1]);
                return 1;
        }
        r = embed(out, argv + 2, argc - 2, &err);
        if (r < 0)
                fprintf(stderr, "embed-templates: %s\n", err.message);
        if (fclose(out) != 0) {
                perror(argv[1]);
                r = -1;
        }
        if (r < 0)
                (void)remove(argv[1]); /* a half-written table must not look up to date */
        return r < 0 ? 1 : 0;
}
