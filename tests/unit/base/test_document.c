#include "unit.h"
#include "base/document.h"
#include "base/mem.h"
#include "base/str.h"

static struct document *read_good(const char *text, const char *name)
{
        struct document *document = NULL;
        struct error err = { 0 };

        if (document_read(text, strlen(text), name, 1000, &document, &err) < 0)
                fail_msg("%s", err.message);
        return document;
}

static void yaml_becomes_a_tree_with_places(void **state)
{
        struct document *document = read_good("a: 1\nb:\n  - x\n  - 'y'\n", "f.yaml");
        const struct document_node *b = document_get(&document->root, "b");

        assert_int_equal(document->root.kind, DOCUMENT_MAPPING);
        assert_string_equal(document_get(&document->root, "a")->text, "1");
        assert_int_equal(b->kind, DOCUMENT_LIST);
        assert_int_equal(b->count, 2);
        assert_true(b->items[0].is_plain);
        assert_false(b->items[1].is_plain);
        assert_int_equal(b->items[1].line, 4);
        assert_int_equal(b->items[1].column, 5);
        assert_null(document_get(&document->root, "c"));
        document_free(document);
}

static void json_becomes_the_same_tree(void **state)
{
        struct document *document =
                read_good("{\"a\": [1, 0.1, true, null, \"t\\u0000\\ud83d\\ude00\"]}", "f.json");
        const struct document_node *a = document_get(&document->root, "a");
        bool flag = false;

        assert_int_equal(a->count, 5);
        assert_string_equal(a->items[0].text, "1");
        assert_string_equal(a->items[1].text, "0.1");
        assert_true(document_is_flag(&a->items[2], &flag) && flag);
        assert_true(document_is_null(&a->items[3]));
        assert_int_equal(a->items[4].length, 6);
        assert_memory_equal(a->items[4].text, "t\0\xf0\x9f\x98\x80", 6);
        document_free(document);
}

static void a_file_without_a_telling_name_is_told_by_its_first_byte(void **state)
{
        struct document *json = read_good(" [\"\\ud83d\\ude00\"]", "f"); /* no YAML has that */
        struct document *yaml = read_good("- a\n", "f");

        assert_string_equal(json->root.items[0].text, "\xf0\x9f\x98\x80");
        assert_string_equal(yaml->root.items[0].text, "a");
        document_free(json);
        document_free(yaml);
}

static void what_no_file_needs_is_refused_with_its_place(void **state)
{
        static const struct {
                const char *name, *text, *message;
        } refused[] = {
                { "f.yaml", "a: &x 1\n", "f.yaml:1:4: anchors" },
                { "f.yaml", "a: 1\nb: *x\n", "f.yaml:2:4: " },
                { "f.yaml", "a: !!str 1\n", "f.yaml:1:4: anchors, aliases and tags" },
                { "f.yaml", "a: 1\na: 2\n", "f.yaml:2:1: repeated key 'a'" },
                { "f.yaml", "a: 1\n---\nb: 2\n", "second document" },
                { "f.yaml", "", "f.yaml: the file is empty" },
                { "f.yaml", "# nothing\n", "f.yaml: the file is empty" },
                { "f.yaml", "a: [1\n", "not YAML" },
                { "f.yaml", "\xff", "f.yaml: not valid UTF-8" },
                { "f.yaml", "[[[[[[[[[1]]]]]]]]]", "nested more than 8 deep" },
                { "f.yaml", "? [a]\n: 1\n", "a key must be a word" },
                { "f.yaml", "a: \x01\n", "f.yaml:1:4: not YAML" },
                { "f.json", "{\"a\": 1, \"a\": 2}", "f.json:1:12: not JSON: duplicate" },
                { "f.json", "[1, 2", "f.json:1:" },
                { "f.json", "[[[[[[[[[1]]]]]]]]]", "nested more than 8 deep" },
                { "f.json", "", "not JSON" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                struct document *document = NULL;
                struct error err = { 0 };

                assert_int_equal(document_read(refused[i].text, strlen(refused[i].text),
                                               refused[i].name, 1000, &document, &err),
                                 SBX_EINVAL);
                assert_null(document);
                assert_has(err.message, refused[i].message);
        }
}

static void more_values_than_the_maximum_are_refused(void **state)
{
        struct document *document = NULL;
        struct error err = { 0 };

        assert_int_equal(document_read("[1, 2, 3]", 9, "f.yaml", 3, &document, &err), SBX_EINVAL);
        assert_has(err.message, "more than 3 values");
        assert_int_equal(document_read("[1, 2, 3]", 9, "f.json", 3, &document, &err), SBX_EINVAL);
        assert_has(err.message, "more than 3 values");
        assert_int_equal(document_read("[[], [], []", 11, "f.json", 3, &document, &err),
                         SBX_EINVAL);
        assert_has(err.message, "more than 3 values"); /* told before it is read */
        assert_int_equal(document_read("[\",,,\\\",[[[\"]", 13, "f.json", 3, &document, &err), 0);
        document_free(document);
}

static void every_allocation_can_fail(void **state)
{
        static const char text[] = "a: 1\nb: [x, {c: d}]\n";

        for (uint64_t n = 0;; n++) {
                struct document *document = NULL;
                struct error err = { 0 };
                int r;

                mem_fail_after(n);
                r = document_read(text, strlen(text), "f.yaml", 100, &document, &err);
                mem_fail_after(UINT64_MAX);
                document_free(document);
                if (r == 0) {
                        assert_true(n > 5);
                        return;
                }
                assert_int_equal(r, SBX_ENOMEM);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(yaml_becomes_a_tree_with_places),
                cmocka_unit_test(json_becomes_the_same_tree),
                cmocka_unit_test(a_file_without_a_telling_name_is_told_by_its_first_byte),
                cmocka_unit_test(what_no_file_needs_is_refused_with_its_place),
                cmocka_unit_test(more_values_than_the_maximum_are_refused),
                cmocka_unit_test(every_allocation_can_fail),
        };

        return RUN(tests);
}
