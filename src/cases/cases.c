/* The reader of a cases file: a list of cases, or a mapping of defaults and that list. */
#include "cases/cases.h"
#include "base/document.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 400000, LIMITS_MAX = 16, VALUE_BYTES_MAX = 64 };

static const double tolerance_default = 1e-6;

static void part_done(struct case_part *part)
{
        mem_free(part->data);
        mem_free(part->path);
}

static void limits_done(struct case_limits *limits)
{
        for (size_t i = 0; i < limits->count; i++) {
                mem_free(limits->items[i].name);
                mem_free(limits->items[i].value);
        }
        mem_free(limits->items);
}

static void case_done(struct test_case *one)
{
        mem_free(one->name);
        part_done(&one->stdin_part);
        part_done(&one->expected);
        strlist_done(&one->arguments);
        limits_done(&one->limits);
}

void cases_free(struct cases *cases)
{
        if (!cases)
                return;
        for (size_t i = 0; i < cases->count; i++)
                case_done(&cases->items[i]);
        mem_free(cases->items);
        mem_free(cases);
}

static void cases_free_p(struct cases **cases)
{
        cases_free(*cases);
}
#define AUTO_CASES __attribute__((cleanup(cases_free_p)))

int cases_set_part(struct cases *cases, struct case_part *part, const void *data, size_t length,
                   struct error *err)
{
        char *copy;

        if (length > CASES_PART_MAX)
                return error_set(err, SBX_ETOOBIG, "more than %d MiB for one case",
                                 CASES_PART_MAX >> 20);
        if (length > CASES_DATA_MAX - cases->data_bytes)
                return error_set(err, SBX_ETOOBIG,
                                 "the inputs and outputs are larger than %d MiB together",
                                 CASES_DATA_MAX >> 20);
        copy = mem_dup(data, length);
        if (!copy)
                return error_set_nomem(err);
        if (part->data)
                cases->data_bytes -= part->length;
        mem_free(part->data);
        part->data = copy;
        part->length = length;
        cases->data_bytes += length;
        return 0;
}

/* ---- values ---- */

struct reader {
        const struct document *document;
        struct cases *cases;
        struct test_case *one; /* the one being read, or the defaults */
        size_t number;         /* of the case, from 1; 0 for the defaults */
        struct error *err;
};

static int fail(const struct reader *r, const struct document_node *node, const char *why)
{
        char shown[80], words[400];

        if (r->number)
                (void)snprintf(words, sizeof(words), "case %zu: ", r->number);
        else
                words[0] = '\0';
        (void)snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s%s%s",
                       node->key ? "'" : "",
                       node->key ? str_printable(node->key, shown, sizeof(shown)) : "",
                       node->key ? "' " : "", why);
        return document_fail(r->document, node, r->err, "%s", words);
}

static int expect_text(const struct reader *r, const struct document_node *node)
{
        if (node->kind != DOCUMENT_TEXT)
                return fail(r, node, "must be a text");
        if (document_is_null(node))
                return fail(r, node, "must be a text, not null");
        return 0;
}

/* A text that stands in C strings. */
static int expect_word(const struct reader *r, const struct document_node *node, size_t max)
{
        int rc = expect_text(r, node);

        if (rc == 0 && memchr(node->text, '\0', node->length))
                return fail(r, node, "holds a NUL byte");
        if (rc == 0 && node->length > max)
                return fail(r, node, "is too long");
        return rc;
}

static int read_name(struct reader *r, const struct document_node *node)
{
        int rc = expect_word(r, node, CASES_NAME_MAX);

        if (rc < 0)
                return rc;
        r->one->name = mem_strdup(node->text);
        return r->one->name ? 0 : error_set_nomem(r->err);
}

static int read_part(struct reader *r, const struct document_node *node, struct case_part *part)
{
        int rc = expect_text(r, node);

        if (rc < 0)
                return rc;
        if (part->data || part->path)
                return fail(r, node, "is given twice");
        rc = cases_set_part(r->cases, part, node->text, node->length, r->err);
        if (rc == SBX_ETOOBIG)
                return fail(r, node, "is too large");
        return rc;
}

static int read_path(struct reader *r, const struct document_node *node, struct case_part *part)
{
        int rc = expect_word(r, node, CASES_PATH_MAX);

        if (rc < 0)
                return rc;
        if (part->data || part->path)
                return fail(r, node, "is given twice");
        if (node->length == 0)
                return fail(r, node, "is empty");
        part->path = mem_strdup(node->text);
        return part->path ? 0 : error_set_nomem(r->err);
}

static int read_stdin(struct reader *r, const struct document_node *node)
{
        return read_part(r, node, &r->one->stdin_part);
}

static int read_stdin_file(struct reader *r, const struct document_node *node)
{
        return read_path(r, node, &r->one->stdin_part);
}

static int read_expected(struct reader *r, const struct document_node *node)
{
        return read_part(r, node, &r->one->expected);
}

static int read_expected_file(struct reader *r, const struct document_node *node)
{
        return read_path(r, node, &r->one->expected);
}

static int read_arguments(struct reader *r, const struct document_node *node)
{
        if (node->kind != DOCUMENT_LIST)
                return fail(r, node, "must be a list of texts");
        if (node->count > CASES_ARGUMENTS_MAX)
                return fail(r, node, "has too many entries");
        for (size_t i = 0; i < node->count; i++) {
                const struct document_node *item = &node->items[i];

                if (item->kind != DOCUMENT_TEXT || document_is_null(item) ||
                    memchr(item->text, '\0', item->length))
                        return fail(r, node, "must be a list of texts without NUL bytes");
                if (strlist_add(&r->one->arguments, item->text) < 0)
                        return error_set_nomem(r->err);
        }
        return 0;
}

static int read_mode(struct reader *r, const struct document_node *node)
{
        int rc = expect_text(r, node);

        if (rc < 0)
                return rc;
        for (int i = 0; i < COMPARE_COUNT; i++) {
                if (str_equal(node->text, compare_mode_name((enum compare_mode)i))) {
                        r->one->mode = (enum compare_mode)i;
                        return 0;
                }
        }
        rc = fail(r, node, "is none of the known modes");
        error_hint(r->err, "the modes are exact, trimmed, tokens and float");
        return rc;
}

static int read_tolerance(struct reader *r, const struct document_node *node)
{
        double value;
        int rc = expect_word(r, node, VALUE_BYTES_MAX);

        if (rc < 0)
                return rc;
        if (!compare_read_number(node->text, node->length, &value) || !(value >= 0 && value <= 1e6))
                return fail(r, node, "must be a number from 0 to 1000000");
        r->one->tolerance = value;
        return 0;
}

static int read_exit_code(struct reader *r, const struct document_node *node)
{
        char *end = NULL;
        long value;
        int rc = expect_word(r, node, VALUE_BYTES_MAX);

        if (rc < 0)
                return rc;
        value = strtol(node->text, &end, 10);
        if (node->length == 0 || *end || strspn(node->text, "0123456789") != node->length ||
            value > 255)
                return fail(r, node, "must be a number from 0 to 255");
        r->one->exit_code = (int)value;
        return 0;
}

static int add_limit(struct reader *r, const struct document_node *node)
{
        struct case_limits *limits = &r->one->limits;
        struct case_limit *limit;
        int rc = expect_word(r, node, VALUE_BYTES_MAX);

        if (rc < 0)
                return rc;
        if (MEM_GROW(limits->items, limits->count, limits->capacity) < 0)
                return error_set_nomem(r->err);
        limit = &limits->items[limits->count];
        *limit = (struct case_limit){ mem_strdup(node->key), mem_strdup(node->text), node->line,
                                      node->column };
        limits->count++;
        return limit->name && limit->value ? 0 : error_set_nomem(r->err);
}

static int read_limits(struct reader *r, const struct document_node *node)
{
        int rc = 0;

        if (node->kind != DOCUMENT_MAPPING || node->count > LIMITS_MAX)
                return fail(r, node, "must be a mapping of limits");
        for (size_t i = 0; i < node->count && rc == 0; i++)
                rc = add_limit(r, &node->items[i]);
        return rc;
}

/* ---- keys ---- */

enum { FOR_ALL = 1, FOR_ONE = 2 };

static int read_key(struct reader *r, const struct document_node *node)
{
        static const struct {
                const char *name;
                int where;
                int (*read)(struct reader *r, const struct document_node *node);
        } known[] = {
                { "name", FOR_ONE, read_name },
                { "stdin", FOR_ONE, read_stdin },
                { "input", FOR_ONE, read_stdin },
                { "stdin_file", FOR_ONE, read_stdin_file },
                { "input_file", FOR_ONE, read_stdin_file },
                { "args", FOR_ONE, read_arguments },
                { "expected", FOR_ONE, read_expected },
                { "expected_stdout", FOR_ONE, read_expected },
                { "expected_output", FOR_ONE, read_expected },
                { "expected_file", FOR_ONE, read_expected_file },
                { "exit_code", FOR_ONE, read_exit_code },
                { "compare", FOR_ONE | FOR_ALL, read_mode },
                { "mode", FOR_ONE | FOR_ALL, read_mode },
                { "tolerance", FOR_ONE | FOR_ALL, read_tolerance },
                { "limits", FOR_ONE | FOR_ALL, read_limits },
                { "timeout", FOR_ONE | FOR_ALL, add_limit },
                { "memory", FOR_ONE | FOR_ALL, add_limit },
        };
        int rc;

        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (str_equal(node->key, known[i].name) &&
                    (known[i].where & (r->number ? FOR_ONE : FOR_ALL)))
                        return known[i].read(r, node);
        rc = fail(r, node, "is not a known key");
        error_hint(r->err, r->number ? "a case has name, stdin or stdin_file, args, expected or "
                                       "expected_file, compare, tolerance, exit_code, limits"
                                     : "beside 'cases' there are compare, tolerance and limits, "
                                       "for all cases");
        return rc;
}

/* A case that gives a limit itself does not take it from all. */
static int inherit_limits(struct test_case *one, const struct case_limits *from, struct error *err)
{
        for (size_t i = 0; i < from->count; i++) {
                bool given = false;
                struct case_limit *limit;

                for (size_t j = 0; j < one->limits.count; j++)
                        given = given || str_equal(one->limits.items[j].name, from->items[i].name);
                if (given)
                        continue;
                if (MEM_GROW(one->limits.items, one->limits.count, one->limits.capacity) < 0)
                        return error_set_nomem(err);
                limit = &one->limits.items[one->limits.count];
                *limit = from->items[i];
                limit->name = mem_strdup(from->items[i].name);
                limit->value = mem_strdup(from->items[i].value);
                one->limits.count++;
                if (!limit->name || !limit->value)
                        return error_set_nomem(err);
        }
        return 0;
}

static int read_case(struct reader *r, const struct document_node *node,
                     const struct test_case *defaults)
{
        int rc = 0;

        if (node->kind != DOCUMENT_MAPPING)
                return fail(r, node, "must be a mapping");
        if (MEM_GROW(r->cases->items, r->cases->count, r->cases->capacity) < 0)
                return error_set_nomem(r->err);
        r->one = &r->cases->items[r->cases->count++];
        *r->one = (struct test_case){ .mode = defaults->mode, .tolerance = defaults->tolerance };
        for (size_t i = 0; i < node->count && rc == 0; i++)
                rc = read_key(r, &node->items[i]);
        return rc < 0 ? rc : inherit_limits(r->one, &defaults->limits, r->err);
}

static int read_list(struct reader *r, const struct document_node *list,
                     const struct test_case *defaults)
{
        int rc = 0;

        if (list->kind != DOCUMENT_LIST)
                return fail(r, list, "must be a list of cases");
        if (list->count == 0)
                return fail(r, list, list->key ? "is empty" : "there are no cases");
        if (list->count > CASES_MAX)
                return fail(r, list, "there are more than 4096 cases");
        for (size_t i = 0; i < list->count && rc == 0; i++) {
                r->number = i + 1;
                rc = read_case(r, &list->items[i], defaults);
        }
        return rc;
}

static int read_root(struct reader *r, struct test_case *defaults)
{
        const struct document_node *root = &r->document->root, *list;
        int rc = 0;

        if (root->kind == DOCUMENT_LIST)
                return read_list(r, root, defaults);
        list = root->kind == DOCUMENT_MAPPING ? document_get(root, "cases") : NULL;
        if (!list) {
                rc = document_fail(r->document, root, r->err, "there is no list 'cases'");
                error_hint(r->err, "a cases file is a list of cases, or a mapping with 'cases'");
                return rc;
        }
        r->one = defaults;
        for (size_t i = 0; i < root->count && rc == 0; i++)
                if (&root->items[i] != list)
                        rc = read_key(r, &root->items[i]);
        return rc < 0 ? rc : read_list(r, list, defaults);
}

int cases_load(const char *text, size_t length, const char *name, struct cases **ret_cases,
               struct error *err)
{
        AUTO_DOCUMENT struct document *document = NULL;
        AUTO_CASES struct cases *cases = mem_alloc(sizeof(*cases));
        struct test_case defaults = { .tolerance = tolerance_default };
        struct reader r = { .cases = cases, .err = err };
        char shown[160];
        int rc;

        if (!cases)
                return error_set_nomem(err);
        if (length > CASES_FILE_MAX)
                return error_set(err, SBX_ETOOBIG, "%s: larger than %d MiB",
                                 str_printable(name, shown, sizeof(shown)), CASES_FILE_MAX >> 20);
        rc = document_read(text, length, name, NODES_MAX, &document, err);
        if (rc < 0)
                return rc;
        r.document = document;
        memcpy(cases->name, document->name, sizeof(cases->name));
        rc = read_root(&r, &defaults);
        case_done(&defaults);
        if (rc < 0)
                return rc;
        *ret_cases = TAKE(cases);
        return 0;
}
