/* The plan as it travels to the helper: what was meant arrives, and nothing else is taken for a
 * plan. */
#include "plan_helpers.h"

static void encode(const struct plan *plan, struct strbuf *out)
{
        plan_encode(plan, out);
        assert_false(out->failed);
}

static void refuses_plan(const struct plan *plan, const char *why)
{
        AUTO_STRBUF struct strbuf bytes = { 0 };
        const char *fault;

        encode(plan, &bytes);
        fault = decode_exactly(bytes.data, bytes.length, walk_plan);
        assert_non_null(fault);
        assert_has(fault, why);
}

static void is_the_full_plan(const struct plan *got)
{
        struct plan meant = full_plan();

#define U32(field) assert_int_equal(got->field, meant.field);
#define U64(field) assert_true(got->field == meant.field);
#define STR(field) assert_string_equal(got->field, meant.field);
#include "plan/plan.def"
#undef U32
#undef U64
#undef STR
        assert_int_equal(got->mount_count, meant.mount_count);
        for (uint32_t i = 0; i < meant.mount_count; i++) {
                assert_int_equal(got->mounts[i].kind, meant.mounts[i].kind);
                assert_string_equal(got->mounts[i].source, meant.mounts[i].source);
                assert_string_equal(got->mounts[i].target, meant.mounts[i].target);
        }
        assert_int_equal(got->file_count, meant.file_count);
        for (uint32_t i = 0; i < meant.file_count; i++) {
                assert_string_equal(got->files[i].path, meant.files[i].path);
                assert_int_equal(got->files[i].mode, meant.files[i].mode);
                assert_int_equal(got->files[i].fd_number, meant.files[i].fd_number);
                assert_int_equal(got->files[i].by_guest, meant.files[i].by_guest);
                assert_true(got->files[i].offset == meant.files[i].offset);
                assert_true(got->files[i].size == meant.files[i].size);
                assert_int_equal(got->files[i].length, meant.files[i].length);
                assert_memory_equal(got->files[i].data, meant.files[i].data, meant.files[i].length);
        }
        assert_int_equal(got->argument_count, meant.argument_count);
        for (uint32_t i = 0; i < meant.argument_count; i++)
                assert_string_equal(got->arguments[i], meant.arguments[i]);
        assert_int_equal(got->environment_count, meant.environment_count);
        for (uint32_t i = 0; i < meant.environment_count; i++)
                assert_string_equal(got->environment[i], meant.environment[i]);
        walk_plan(got);
}

static void a_full_plan_arrives_as_it_was_meant(void **state)
{
        AUTO_STRBUF struct strbuf bytes = { 0 };
        struct plan plan = full_plan();

        encode(&plan, &bytes);
        assert_null(decode_exactly(bytes.data, bytes.length, is_the_full_plan));
}

static void every_truncation_is_refused(void **state)
{
        AUTO_STRBUF struct strbuf bytes = { 0 };
        struct plan plan = full_plan();

        encode(&plan, &bytes);
        for (size_t length = 0; length < bytes.length; length++)
                if (!decode_exactly(bytes.data, length, walk_plan))
                        fail_msg("%zu of %zu bytes pass for a plan", length, bytes.length);
}

static void no_flipped_bit_leads_astray(void **state)
{
        AUTO_STRBUF struct strbuf bytes = { 0 };
        struct plan plan = full_plan();
        size_t refused = 0;

        encode(&plan, &bytes);
        for (size_t bit = 0; bit < bytes.length * 8; bit++) {
                bytes.data[bit / 8] ^= (char)(1 << bit % 8);
                refused += decode_exactly(bytes.data, bytes.length, walk_plan) != NULL;
                bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        }
        assert_true(refused > 100); /* the lengths, at least */
}

static void leftover_bytes_are_refused(void **state)
{
        AUTO_STRBUF struct strbuf bytes = { 0 };
        struct plan plan = full_plan();

        encode(&plan, &bytes);
        strbuf_add(&bytes, "", 1);
        assert_has(decode_exactly(bytes.data, bytes.length, NULL), "left over");
}

static void another_magic_is_refused(void **state)
{
        AUTO_STRBUF struct strbuf bytes = { 0 };
        struct plan plan = full_plan();

        encode(&plan, &bytes);
        bytes.data[3]++;
        assert_has(decode_exactly(bytes.data, bytes.length, NULL), "this version");
}

static void more_than_the_maximum_is_refused_unread(void **state)
{
        struct plan plan;
        char arena[8];

        assert_has(plan_decode("", (size_t)PLAN_BYTES_MAX + 1, arena, sizeof(arena), &plan),
                   "too large");
}

static void nothing_to_run_is_refused(void **state)
{
        struct plan plan = full_plan();

        plan.argument_count = 0;
        refuses_plan(&plan, "nothing to run");
}

static void unknown_kinds_are_refused(void **state)
{
        struct plan_mount mount = { PLAN_MOUNT_KINDS, "/a", "/b" };
        struct plan plan = full_plan();

        plan.kind = PLAN_LOCAL + 1;
        refuses_plan(&plan, "no known kind");
        plan = full_plan();
        plan.network = PLAN_NETWORK_HOST + 1;
        refuses_plan(&plan, "no known kind");
        plan = full_plan();
        plan.mounts = &mount;
        plan.mount_count = 1;
        refuses_plan(&plan, "no known kind");
}

static void a_proxy_needs_a_loopback_and_a_port(void **state)
{
        struct plan plan = full_plan();

        plan.listener_port = 65536;
        refuses_plan(&plan, "proxy");
        plan = full_plan();
        plan.network = PLAN_NETWORK_NONE;
        refuses_plan(&plan, "proxy");
        plan.network = PLAN_NETWORK_HOST;
        refuses_plan(&plan, "proxy");
}

static void modes_with_privileges_are_refused(void **state)
{
        static const uint32_t modes[] = { 01644, 02755, 04755, 010644, UINT32_MAX };

        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                struct plan_file file = { .path = "/code/x", .mode = modes[i], .data = "" };
                struct plan plan = full_plan();

                plan.files = &file;
                plan.file_count = 1;
                refuses_plan(&plan, "mode");
        }
}

static void parts_beyond_every_file_are_refused(void **state)
{
        struct plan_file file = { .path = "/code/x", .fd_number = 1, .data = "" };
        struct plan plan = full_plan();

        plan.files = &file;
        plan.file_count = 1;
        file.offset = UINT64_C(1) << 63;
        refuses_plan(&plan, "size");
        file.offset = 1;
        file.size = INT64_MAX;
        refuses_plan(&plan, "size");
}

static void paths_that_are_not_absolute_and_plain_are_refused(void **state)
{
        static char longest[4097];
        const char *const bad[] = { "",        "a",       "./a", "..",        "../a", "/../a",
                                    "/a/../b", "/a/b/..", "/..", "/a/../../", longest };

        memset(longest, 'x', sizeof(longest) - 1);
        longest[0] = '/';
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                struct plan_mount source = { PLAN_MOUNT_READ, bad[i], "/ok" };
                struct plan_mount target = { PLAN_MOUNT_READ, "/ok", bad[i] };
                struct plan_file file = { .path = bad[i], .mode = 0644, .data = "" };
                struct plan plan = full_plan();

                plan.mount_count = 1;
                plan.mounts = &source;
                refuses_plan(&plan, "path");
                plan.mounts = &target;
                refuses_plan(&plan, "path");
                plan = full_plan();
                plan.file_count = 1;
                plan.files = &file;
                refuses_plan(&plan, "path");
        }
}

static void names_that_only_look_like_a_way_up_are_paths(void **state)
{
        static const char *const good[] = { "/", "/...", "/..a", "/a..", "/a/..b/c", "/a/b.." };

        for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
                AUTO_STRBUF struct strbuf bytes = { 0 };
                struct plan_mount mount = { PLAN_MOUNT_SYSTEM, good[i], good[i] };
                struct plan plan = full_plan();

                plan.mount_count = 1;
                plan.mounts = &mount;
                encode(&plan, &bytes);
                assert_null(decode_exactly(bytes.data, bytes.length, walk_plan));
        }
}

/* Replaces the only occurrence of `from` in the encoded bytes. */
static void replace(struct strbuf *bytes, const char *from, const char *to, size_t length)
{
        char *at = memmem(bytes->data, bytes->length, from, length);

        assert_non_null(at);
        memcpy(at, to, length);
}

static void a_string_with_a_nul_byte_is_refused(void **state)
{
        static const char *const places[] = { "/directory", "/srv/data", "/code/main.py",
                                              "EMPTY=" };

        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                AUTO_STRBUF struct strbuf bytes = { 0 };
                struct plan plan = full_plan();
                char *at;

                encode(&plan, &bytes);
                at = memmem(bytes.data, bytes.length, places[i], strlen(places[i]));
                assert_non_null(at);
                at[2] = '\0';
                assert_has(decode_exactly(bytes.data, bytes.length, walk_plan), "NUL");
        }
}

static void a_string_without_an_end_is_refused(void **state)
{
        AUTO_STRBUF struct strbuf bytes = { 0 };
        struct plan plan = full_plan();

        encode(&plan, &bytes);
        replace(&bytes, "A=b\0", "A=bX", 4);
        assert_has(decode_exactly(bytes.data, bytes.length, walk_plan), "not terminated");
}

/* A plan whose last list claims to have `count` items, with room for none of them. */
static const char *claim(uint32_t count)
{
        AUTO_STRBUF struct strbuf bytes = { 0 };
        struct plan plan = full_plan();

        plan.environment_count = 0;
        encode(&plan, &bytes);
        memcpy(bytes.data + bytes.length - sizeof(count), &count, sizeof(count));
        return decode_exactly(bytes.data, bytes.length, walk_plan);
}

static void impossible_lists_are_refused(void **state)
{
        static const uint32_t counts[] = {
                1,         1000,           PLAN_LIST_MAX - 1, PLAN_LIST_MAX, PLAN_LIST_MAX + 1,
                INT32_MAX, UINT32_MAX - 1, UINT32_MAX
        };

        for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
                assert_non_null(claim(counts[i]));
        assert_null(claim(0));
}

/* Full lists: every count of arguments around the maximum either fits with its NULL or is refused.
 */
static void the_longest_list_still_has_its_end(void **state)
{
        const char **items = mem_alloc(((size_t)PLAN_LIST_MAX + 1) * sizeof(*items));
        static const char *one[] = { "A=b" };

        assert_non_null(items);
        for (size_t i = 0; i <= PLAN_LIST_MAX; i++)
                items[i] = "";
        for (uint32_t count = PLAN_LIST_MAX - 1; count <= PLAN_LIST_MAX + 1; count++) {
                AUTO_STRBUF struct strbuf bytes = { 0 };
                struct plan plan = full_plan();
                const char *fault;

                plan.arguments = items;
                plan.argument_count = count;
                plan.environment = one;
                plan.environment_count = 1;
                encode(&plan, &bytes);
                fault = decode_exactly(bytes.data, bytes.length, walk_plan);
                assert_true((fault == NULL) == (count < PLAN_LIST_MAX));
        }
        mem_free(items);
}

static void the_promised_arena_is_enough_for_the_densest_plans(void **state)
{
        enum { MANY = 20000 };
        struct plan_mount *mounts = mem_alloc(MANY * sizeof(*mounts));
        struct plan_file *files = mem_alloc(MANY * sizeof(*files));

        assert_non_null(mounts);
        assert_non_null(files);
        for (size_t i = 0; i < MANY; i++) {
                mounts[i] = (struct plan_mount){ PLAN_MOUNT_READ, "/", "/" };
                files[i] = (struct plan_file){ .path = "/", .data = "" };
        }
        for (int which = 0; which < 3; which++) {
                AUTO_STRBUF struct strbuf bytes = { 0 };
                struct plan plan = full_plan();

                plan.mounts = mounts;
                plan.files = files;
                plan.mount_count = which != 1 ? MANY : 0;
                plan.file_count = which != 0 ? MANY : 0;
                encode(&plan, &bytes);
                assert_null(decode_exactly(bytes.data, bytes.length, walk_plan));
        }
        mem_free(mounts);
        mem_free(files);
}

static void an_arena_that_is_too_small_is_refused(void **state)
{
        AUTO_STRBUF struct strbuf bytes = { 0 };
        struct plan plan = full_plan(), got;
        void *arena;

        encode(&plan, &bytes);
        for (size_t size = 0; size <= 160; size += 8) {
                arena = malloc(size ? size : 1);
                assert_non_null(arena);
                assert_has(plan_decode(bytes.data, bytes.length, arena, size, &got), "too long");
                free(arena);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_full_plan_arrives_as_it_was_meant),
                cmocka_unit_test(every_truncation_is_refused),
                cmocka_unit_test(no_flipped_bit_leads_astray),
                cmocka_unit_test(leftover_bytes_are_refused),
                cmocka_unit_test(another_magic_is_refused),
                cmocka_unit_test(more_than_the_maximum_is_refused_unread),
                cmocka_unit_test(nothing_to_run_is_refused),
                cmocka_unit_test(unknown_kinds_are_refused),
                cmocka_unit_test(a_proxy_needs_a_loopback_and_a_port),
                cmocka_unit_test(modes_with_privileges_are_refused),
                cmocka_unit_test(parts_beyond_every_file_are_refused),
                cmocka_unit_test(paths_that_are_not_absolute_and_plain_are_refused),
                cmocka_unit_test(names_that_only_look_like_a_way_up_are_paths),
                cmocka_unit_test(a_string_with_a_nul_byte_is_refused),
                cmocka_unit_test(a_string_without_an_end_is_refused),
                cmocka_unit_test(impossible_lists_are_refused),
                cmocka_unit_test(the_longest_list_still_has_its_end),
                cmocka_unit_test(the_promised_arena_is_enough_for_the_densest_plans),
                cmocka_unit_test(an_arena_that_is_too_small_is_refused),
        };

        return RUN(tests);
}
