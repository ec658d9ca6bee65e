#include "unit.h"
#include "cases/cases.h"

static struct cases *load_good(const char *text, const char *name)
{
        struct cases *cases = NULL;
        struct error err = { 0 };

        if (cases_load(text, strlen(text), name, &cases, &err) < 0)
                fail_msg("%s", err.message);
        return cases;
}

static void a_list_of_cases_is_read(void **state)
{
        struct cases *cases = load_good("- { name: n, stdin: 'i', args: [a, 2], expected: 3 }\n"
                                        "- { stdin_file: x/1.in, expected_file: x/1.out }\n"
                                        "- {}\n",
                                        "c.yaml");

        assert_int_equal(cases->count, 3);
        assert_string_equal(cases->items[0].name, "n");
        assert_string_equal(cases->items[0].stdin_part.data, "i");
        assert_string_equal(cases->items[0].arguments.items[1], "2");
        assert_string_equal(cases->items[0].expected.data, "3");
        assert_int_equal(cases->items[0].mode, COMPARE_TRIMMED);
        assert_string_equal(cases->items[1].stdin_part.path, "x/1.in");
        assert_null(cases->items[1].stdin_part.data);
        assert_null(cases->items[2].expected.data);
        cases_free(cases);
}

static void what_holds_for_all_can_be_said_once(void **state)
{
        struct cases *cases = load_good("{\"compare\": \"float\", \"tolerance\": 0.01,\n"
                                        " \"limits\": {\"timeout\": \"2s\", \"memory\": \"64M\"},\n"
                                        " \"cases\": [{\"limits\": {\"timeout\": 1}},\n"
                                        "             {\"compare\": \"exact\", \"exit_code\": 3}]}",
                                        "c.json");
        const struct test_case *one = &cases->items[0];

        assert_int_equal(one->mode, COMPARE_FLOAT);
        assert_true(one->tolerance > 0.0099 && one->tolerance < 0.0101);
        assert_int_equal(one->limits.count, 2);
        assert_string_equal(one->limits.items[0].value, "1");
        assert_string_equal(one->limits.items[1].name, "memory");
        assert_int_equal(cases->items[1].mode, COMPARE_EXACT);
        assert_int_equal(cases->items[1].exit_code, 3);
        assert_string_equal(cases->items[1].limits.items[0].value, "2s");
        cases_free(cases);
}

static void a_bad_file_is_refused_with_its_place(void **state)
{
        static const struct {
                const char *text, *message;
        } refused[] = {
                { "[]", "c: there are no cases" },
                { "{}", "there is no list 'cases'" },
                { "cases: []\n", "'cases' is empty" },
                { "cases: 3\n", "must be a list of cases" },
                { "x\n", "there is no list 'cases'" },
                { "- 3\n", "c:1:3: case 1: must be a mapping" },
                { "- {}\n- { stdn: x }\n", "c:2:5: case 2: 'stdn' is not a known key" },
                { "- { stdin: [x] }\n", "case 1: 'stdin' must be a text" },
                { "- { expected: }\n", "not null" },
                { "- { stdin: x, stdin_file: y }\n", "is given twice" },
                { "- { expected: x, expected_stdout: y }\n", "is given twice" },
                { "- { stdin_file: '' }\n", "is empty" },
                { "- { args: x }\n", "must be a list of texts" },
                { "- { args: [[x]] }\n", "must be a list of texts" },
                { "- { compare: fuzzy }\n", "none of the known modes" },
                { "- { tolerance: -1 }\n", "must be a number" },
                { "- { tolerance: x }\n", "must be a number" },
                { "- { tolerance: nan }\n", "must be a number" },
                { "- { exit_code: 256 }\n", "from 0 to 255" },
                { "- { exit_code: -1 }\n", "from 0 to 255" },
                { "- { limits: 3 }\n", "must be a mapping" },
                { "- { limits: { timeout: [1] } }\n", "must be a text" },
                { "stdin: x\ncases: [{}]\n", "'stdin' is not a known key" },
                { "[{\"name\": \"a\\u0000b\"}]", "NUL" },
        };

        for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
                struct cases *cases = NULL;
                struct error err = { 0 };

                assert_int_equal(
                        cases_load(refused[i].text, strlen(refused[i].text), "c", &cases, &err),
                        SBX_EINVAL);
                assert_null(cases);
                assert_has(err.message, refused[i].message);
        }
}

static void more_cases_than_the_maximum_are_refused(void **state)
{
        AUTO_FREE char *text = mem_alloc(5 * (CASES_MAX + 1) + 1);
        struct cases *cases = NULL;
        struct error err = { 0 };

        for (size_t i = 0; i <= CASES_MAX; i++)
                memcpy(text + 5 * i, "- {}\n", 5);
        assert_int_equal(cases_load(text, 5 * (CASES_MAX + 1), "c", &cases, &err), SBX_EINVAL);
        assert_has(err.message, "more than 4096 cases");
        assert_int_equal(cases_load(text, 5 * CASES_MAX, "c", &cases, &err), 0);
        assert_int_equal(cases->count, CASES_MAX);
        cases_free(cases);
}

static void parts_from_files_are_bounded(void **state)
{
        struct cases *cases = load_good("- { stdin_file: a }\n", "c.yaml");
        struct case_part *part = &cases->items[0].stdin_part;
        struct error err = { 0 };

        assert_int_equal(cases_set_part(cases, part, "xy", 2, &err), 0);
        assert_int_equal(cases->data_bytes, 2);
        assert_int_equal(cases_set_part(cases, part, "x", 1, &err), 0); /* replaces */
        assert_int_equal(cases->data_bytes, 1);
        assert_int_equal(cases_set_part(cases, part, "x", (size_t)CASES_PART_MAX + 1, &err),
                         SBX_ETOOBIG);
        cases->data_bytes = CASES_DATA_MAX;
        part->length = 0;
        assert_int_equal(cases_set_part(cases, part, "x", 1, &err), SBX_ETOOBIG);
        cases_free(cases);
}

static void every_allocation_can_fail(void **state)
{
        static const char text[] =
                "limits: {timeout: 1s}\ncases: [{name: a, stdin: b, args: [c], expected_file: d}]";

        for (uint64_t n = 0;; n++) {
                struct cases *cases = NULL;
                struct error err = { 0 };
                int r;

                mem_fail_after(n);
                r = cases_load(text, strlen(text), "c.yaml", &cases, &err);
                mem_fail_after(UINT64_MAX);
                cases_free(cases);
                if (r == 0) {
                        assert_true(n > 10);
                        return;
                }
                assert_int_equal(r, SBX_ENOMEM);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_list_of_cases_is_read),
                cmocka_unit_test(what_holds_for_all_can_be_said_once),
                cmocka_unit_test(a_bad_file_is_refused_with_its_place),
                cmocka_unit_test(more_cases_than_the_maximum_are_refused),
                cmocka_unit_test(parts_from_files_are_bounded),
                cmocka_unit_test(every_allocation_can_fail),
        };

        return RUN(tests);
}
