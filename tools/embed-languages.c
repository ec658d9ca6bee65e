/*
 * Build-time program: reads the language files named on its command line with the reader that the
 * library has, and writes them as constant tables, so that a run parses nothing.
 *
 *         embed-languages OUTPUT.c FILE.yaml...
 */
#include "languages/languages_load.h"
#include "base/fd.h"
#include "base/mem.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FILES_MAX = 256 };

/* Octal escapes have at most three digits, so that a digit after one never joins it. */
static void write_string(FILE *out, const char *text)
{
        fputc('"', out);
        for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
                if (isalnum(*p) || strchr(" !#$%&'()*+,-./:;<=>@[]^_`{|}~", *p))
                        fputc(*p, out);
                else
                        fprintf(out, "\\%03o", *p);
        }
        fputc('"', out);
}

static void write_list(FILE *out, const char *const *items)
{
        fputs("(const char *const[]){ ", out);
        for (; *items; items++) {
                write_string(out, *items);
                fputs(", ", out);
        }
        fputs("NULL }", out);
}

static void write_value(FILE *out, const struct language_key *key, const void *member)
{
        switch (key->kind) {
        case KIND_STRING:
                if (*(const char *const *)member)
                        write_string(out, *(const char *const *)member);
                else
                        fputs("NULL", out);
                return;
        case KIND_LIST:
        case KIND_ENV:
                write_list(out, *(const char *const *const *)member);
                return;
        case KIND_FLAG:
        case KIND_PROC:
                fputs(*(const bool *)member ? "true" : "false", out);
                return;
        default:
                fprintf(out, "UINT64_C(%" PRIu64 ")", *(const uint64_t *)member);
        }
}

static void write_members(FILE *out, const struct language *language,
                          const struct language_key *keys)
{
        for (; keys->kind != KIND_END; keys++) {
                if (keys->kind == KIND_MAPPING) {
                        write_members(out, language, keys->keys);
                        continue;
                }
                fprintf(out, "        .%s = ", keys->member);
                write_value(out, keys, (const char *)language + keys->offset);
                fputs(",\n", out);
        }
}

static int load(const char *path, struct language_loaded **ret_loaded, struct error *err)
{
        AUTO_FREE char *text = NULL;
        AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t length = 0;
        int rc;

        if (fd < 0)
                return error_set_errno(err, "open '%s'", path);
        rc = fd_read_all(fd, LANGUAGE_FILE_MAX, path, &text, &length, err);
        if (rc < 0)
                return rc;
        return language_load_yaml(text, length, path, ret_loaded, err);
}

static int embed(FILE *out, char **files, int count, struct error *err)
{
        fputs("/* Made by tools/embed-languages.c from languages/. */\n"
              "#include \"languages/languages.h\"\n\n",
              out);
        for (int i = 0; i < count; i++) {
                struct language_loaded *loaded = NULL;
                int rc = load(files[i], &loaded, err);

                if (rc < 0)
                        return rc;
                fprintf(out, "static const struct language language_%d = {\n", i);
                write_members(out, &loaded->language, language_keys);
                fputs("};\n\n", out);
                language_loaded_free(loaded);
        }
        fputs("const struct language *const languages_builtin[] = {\n", out);
        for (int i = 0; i < count; i++)
                fprintf(out, "        &language_%d,\n", i);
        fputs("        NULL,\n};\n", out);
        return 0;
}

int main(int argc, char **argv)
{
        struct error err = { 0 };
        FILE *out;
        int rc;

        if (argc < 3 || argc > FILES_MAX) {
                fputs("usage: embed-languages OUTPUT.c FILE.yaml...\n", stderr);
                return 2;
        }
        out = fopen(argv[1], "we");
        if (!out) {
                perror(argv[1]);
                return 1;
        }
        rc = embed(out, argv + 2, argc - 2, &err);
        if (rc < 0)
                fprintf(stderr, "embed-languages: %s\n", err.message);
        if (fclose(out) != 0) {
                perror(argv[1]);
                rc = -1;
        }
        if (rc < 0)
                (void)remove(argv[1]); /* a half-written table must not look up to date */
        return rc < 0 ? 1 : 0;
}
