/*
 * Build-time program: reads the rule files named on its command line with the reader that
 * sandbox-analyze has, and writes them as constant tables. Beside a.yaml, a.scm is taken along.
 *
 *         embed-rules OUTPUT.c rules/LANGUAGE/FILE.yaml...
 */
#include "analysis/rules.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void write_string(FILE *out, const char *text)
{
        if (!text) {
                fputs("NULL", out);
                return;
        }
        fputc('"', out);
        for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
                if (isalnum(*p) || strchr(" !#$%&'()*+,-./:;<=>@[]^_`{|}~", *p))
                        fputc(*p, out);
                else
                        fprintf(out, "\\%03o%s", *p, *p == '\n' ? "\"\n        \"" : "");
        }
        fputc('"', out);
}

static void write_list(FILE *out, const char *const *items)
{
        if (!items) {
                fputs("NULL, ", out);
                return;
        }
        fputs("(const char *const[]){ ", out);
        for (; *items; items++) {
                write_string(out, *items);
                fputs(", ", out);
        }
        fputs("NULL }, ", out);
}

static void write_rules(FILE *out, const struct rule *rules, size_t count, int number)
{
        fprintf(out, "static const struct rule rules_%d[] = {\n", number);
        for (size_t i = 0; i < count; i++) {
                fputs("        { ", out);
                write_string(out, rules[i].id);
                fprintf(out, ", (enum severity)%d, ", (int)rules[i].severity);
                write_string(out, rules[i].sentence);
                fputs(", ", out);
                write_string(out, rules[i].recommendation);
                fputs(", { ", out);
                for (unsigned list = 0; list < RULE_LISTS; list++)
                        write_list(out, rules[i].lists[list]);
                fputs("} },\n", out);
        }
        fputs("};\n\n", out);
}

static int read_file(const char *path, bool may_be_missing, char **ret_text, size_t *ret_length,
                     struct error *err)
{
        AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0 && may_be_missing)
                return 0;
        if (fd < 0)
                return error_set_errno(err, "open '%s'", path);
        return fd_read_all(fd, RULE_FILE_MAX, path, ret_text, ret_length, err);
}

/* What the table of sets says about one file. */
struct set {
        char language[64], name[256];
        char *queries;
        size_t count;
};

static int embed_one(FILE *out, const char *path, int number, struct set *set, struct error *err)
{
        struct rules_loaded *loaded = NULL;
        AUTO_FREE char *yaml = NULL;
        const char *slash = strrchr(path, '/'), *start = slash;
        char queries[512];
        const struct rule *rules;
        size_t length = 0;
        int r = read_file(path, false, &yaml, &length, err);

        if (r == 0)
                r = rules_load_yaml(yaml, length, path, &loaded, err);
        if (r < 0)
                return r;
        while (start && start > path && start[-1] != '/')
                start--;
        if (!slash || start == path || !str_has_suffix(path, ".yaml"))
                return error_set(err, SBX_EINVAL, "'%s' is not in a folder of its language", path);
        (void)snprintf(set->language, sizeof(set->language), "%.*s", (int)(slash - start), start);
        (void)snprintf(set->name, sizeof(set->name), "rules/%.*s",
                       (int)(strlen(start) - strlen(".yaml")), start);
        (void)snprintf(queries, sizeof(queries), "%.*s.scm", (int)(strlen(path) - 5), path);
        r = read_file(queries, true, &set->queries, &length, err);
        if (r < 0)
                return r;
        rules = rules_loaded_list(loaded, &set->count);
        write_rules(out, rules, set->count, number);
        rules_free(loaded);
        return 0;
}

static int embed(FILE *out, char **files, int count, struct error *err)
{
        struct set *sets = mem_alloc((size_t)count * sizeof(*sets));

        if (!sets)
                return error_set_nomem(err);
        fputs("/* Made by tools/embed-rules.c from rules/. */\n#include \"analysis/rules.h\"\n\n",
              out);
        for (int i = 0; i < count; i++) {
                int r = embed_one(out, files[i], i, &sets[i], err);

                if (r < 0)
                        return r;
        }
        fputs("const struct rule_set rules_builtin[] = {\n", out);
        for (int i = 0; i < count; i++) {
                fprintf(out, "        { \"%s\", \"%s\", rules_%d, %zu, ", sets[i].language,
                        sets[i].name, i, sets[i].count);
                write_string(out, sets[i].queries);
                fputs(" },\n", out);
                mem_free(sets[i].queries);
        }
        fputs("        { NULL, NULL, NULL, 0, NULL },\n};\n", out);
        mem_free(sets);
        return 0;
}

int main(int argc, char **argv)
{
        struct error err = { 0 };
        FILE *out;
        int r;

        if (argc < 3) {
                fputs("usage: embed-rules OUTPUT.c rules/LANGUAGE/FILE.yaml...\n", stderr);
                return 2;
        }
        out = fopen(argv[1], "we");
        if (!out) {
                perror(argv[1]);
                return 1;
        }
        r = embed(out, argv + 2, argc - 2, &err);
        if (r < 0)
                fprintf(stderr, "embed-rules: %s\n", err.message);
        if (fclose(out) != 0) {
                perror(argv[1]);
                r = -1;
        }
        if (r < 0)
                (void)remove(argv[1]); /* a half-written table must not look up to date */
        return r < 0 ? 1 : 0;
}
