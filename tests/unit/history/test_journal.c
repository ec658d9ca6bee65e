/* The journal: its chain, its torn ends, many writers at once, full and foreign places. */
#include "unit.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/tree.h"
#include "history/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct bench {
        char path[64];
        int dir;
};

static int set_up(void **state)
{
        struct bench *bench = mem_alloc(sizeof(*bench));

        (void)snprintf(bench->path, sizeof(bench->path), "/tmp/journal-test.XXXXXX");
        assert_non_null(mkdtemp(bench->path));
        bench->dir = open(bench->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(bench->dir >= 0);
        *state = bench;
        return 0;
}

static int tear_down(void **state)
{
        struct bench *bench = *state;

        fd_close(bench->dir);
        assert_int_equal(tree_remove(bench->path), 0);
        mem_free(bench);
        return 0;
}

static void append(const struct bench *bench, const char *fields)
{
        struct error err = { 0 };

        if (journal_append(bench->dir, fields, strlen(fields), false, NULL, &err) < 0)
                fail_msg("%s", err.message);
}

static char *read_file(const struct bench *bench, const char *name, size_t *ret_length)
{
        AUTO_CLOSE int fd = openat(bench->dir, name, O_RDONLY | O_CLOEXEC);
        struct error err = { 0 };
        char *data = NULL;

        if (fd < 0 || fd_read_all(fd, 64 << 20, name, &data, ret_length, &err) < 0)
                return NULL;
        return data;
}

static void write_file(const struct bench *bench, const char *name, const void *data, size_t length)
{
        AUTO_CLOSE int fd =
                openat(bench->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_int_equal(fd_write_all(fd, data, length), 0);
}

/* Walks the whole file: the number of records, every one of which must follow. */
static uint64_t walk_file(const struct bench *bench, const char *name, struct journal_walk *walk)
{
        size_t length = 0, at = 0;
        AUTO_FREE char *data = read_file(bench, name, &length);
        struct journal_line line;
        enum journal_step step;
        uint64_t count = 0;

        assert_non_null(data);
        while ((step = journal_next(data, length, &at, &line)) == JOURNAL_LINE) {
                const char *why = journal_follow(walk, &line);

                if (why)
                        fail_msg("%s: record %llu: %s", name, (unsigned long long)line.seq, why);
                count++;
        }
        assert_int_equal(step, JOURNAL_END);
        return count;
}

static void records_follow_one_another(void **state)
{
        struct journal_walk walk = { 0 };

        for (int i = 0; i < 5; i++)
                append(*state, "\"kind\":\"run\"");
        assert_int_equal(walk_file(*state, JOURNAL_NAME, &walk), 5);
        assert_int_equal(walk.seq, 5);
}

static void the_file_is_private(void **state)
{
        const struct bench *bench = *state;
        struct stat st;

        append(bench, "\"a\":1");
        assert_int_equal(fstatat(bench->dir, JOURNAL_NAME, &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
}

/* Each possible length of the last record, from none of it to all but its newline. */
static void a_torn_end_is_put_aside_at_every_byte(void **state)
{
        const struct bench *bench = *state;
        size_t length, two;
        AUTO_FREE char *whole = NULL;

        append(bench, "\"n\":1");
        append(bench, "\"n\":2,\"text\":\"kept\"");
        mem_free(read_file(bench, JOURNAL_NAME, &two));
        append(bench, "\"n\":3,\"text\":\"torn\"");
        whole = read_file(bench, JOURNAL_NAME, &length);
        for (size_t cut = two; cut < length; cut++) {
                struct journal_walk walk = { 0 };
                size_t aside = 0, now = 0;
                AUTO_FREE char *torn = NULL;
                AUTO_FREE char *data = NULL;

                (void)unlinkat(bench->dir, "journal.torn", 0);
                write_file(bench, JOURNAL_NAME, whole, cut);
                append(bench, "\"n\":4");
                assert_int_equal(walk_file(bench, JOURNAL_NAME, &walk), 3);
                data = read_file(bench, JOURNAL_NAME, &now);
                assert_memory_equal(data, whole, two); /* nothing before it was touched */
                torn = read_file(bench, "journal.torn", &aside);
                assert_int_equal(aside, cut - two);
                if (aside)
                        assert_memory_equal(torn, whole + two, aside);
                if (aside)
                        assert_has(data + two, "\"torn\":");
                else
                        assert_lacks(data + two, "\"torn\":");
        }
}

/* A machine that lost power may show a length whose bytes were never written. */
static void zeros_at_the_end_are_put_aside(void **state)
{
        static const char zeros[5000];
        const struct bench *bench = *state;
        struct journal_walk walk = { 0 };
        AUTO_CLOSE int fd = -1;

        append(bench, "\"n\":1");
        fd = openat(bench->dir, JOURNAL_NAME, O_WRONLY | O_APPEND | O_CLOEXEC);
        assert_int_equal(fd_write_all(fd, zeros, sizeof(zeros)), 0);
        append(bench, "\"n\":2");
        assert_int_equal(walk_file(bench, JOURNAL_NAME, &walk), 2);
}

static void a_long_record_is_followed(void **state)
{
        AUTO_STRBUF struct strbuf fields = { 0 };
        struct journal_walk walk = { 0 };

        strbuf_adds(&fields, "\"text\":\"");
        for (int i = 0; i < 20000; i++)
                strbuf_adds(&fields, "0123456789");
        strbuf_adds(&fields, "\"");
        append(*state, fields.data);
        append(*state, "\"n\":2");
        assert_int_equal(walk_file(*state, JOURNAL_NAME, &walk), 2);
}

static void a_record_too_large_is_refused_and_nothing_is_written(void **state)
{
        const struct bench *bench = *state;
        char *fields = mem_alloc(JOURNAL_LINE_MAX + 1);
        struct error err = { 0 };
        struct journal_walk walk = { 0 };

        memset(fields, '1', JOURNAL_LINE_MAX);
        append(bench, "\"n\":1");
        assert_int_equal(journal_append(bench->dir, fields, JOURNAL_LINE_MAX, false, NULL, &err),
                         SBX_ETOOBIG);
        assert_int_equal(journal_append(bench->dir, "\"a\n\"", 4, false, NULL, &err), SBX_ETOOBIG);
        assert_int_equal(walk_file(bench, JOURNAL_NAME, &walk), 1);
        mem_free(fields);
}

static void a_new_segment_goes_on_with_the_chain(void **state)
{
        const struct bench *bench = *state;
        struct journal_walk walk = { 0 };
        char name[JOURNAL_NAME_MAX];
        struct error err = { 0 };

        append(bench, "\"n\":1");
        append(bench, "\"n\":2");
        assert_int_equal(journal_append(bench->dir, "\"n\":3", 5, true, NULL, &err), 0);
        append(bench, "\"n\":4");
        journal_segment_name(1, 0, name);
        assert_int_equal(walk_file(bench, name, &walk), 2);
        assert_int_equal(walk_file(bench, JOURNAL_NAME, &walk), 2);
        assert_int_equal(walk.seq, 4);
}

/* Killed between its two names: the file has both, and goes on. */
static void a_segment_with_both_names_is_no_loss(void **state)
{
        const struct bench *bench = *state;
        struct journal_walk walk = { 0 };
        char name[JOURNAL_NAME_MAX];
        struct error err = { 0 };

        append(bench, "\"n\":1");
        journal_segment_name(1, 0, name);
        assert_int_equal(linkat(bench->dir, JOURNAL_NAME, bench->dir, name, 0), 0);
        write_file(bench, "journal.new", "half", 4);
        append(bench, "\"n\":2");
        assert_int_equal(journal_append(bench->dir, "\"n\":3", 5, true, NULL, &err), 0);
        assert_int_equal(walk_file(bench, name, &walk), 2);
        assert_int_equal(walk_file(bench, JOURNAL_NAME, &walk), 1);
}

static void a_segment_of_another_chain_is_not_replaced(void **state)
{
        const struct bench *bench = *state;
        struct journal_walk walk = { 0 };
        char name[JOURNAL_NAME_MAX];
        struct error err = { 0 };
        size_t length;

        journal_segment_name(1, 0, name);
        write_file(bench, name, "older", 5);
        append(bench, "\"n\":1");
        assert_int_equal(journal_append(bench->dir, "\"n\":2", 5, true, NULL, &err), 0);
        mem_free(read_file(bench, name, &length));
        assert_int_equal(length, 5);
        journal_segment_name(1, 1, name);
        assert_int_equal(walk_file(bench, name, &walk), 1);
}

static void write_many(const struct bench *bench, int writer, int count)
{
        char fields[300];

        for (int i = 0; i < count; i++) {
                struct error err = { 0 };
                int length =
                        snprintf(fields, sizeof(fields), "\"writer\":%d,\"n\":%d,\"text\":\"%0*d\"",
                                 writer, i, i % 200, 0);

                if (journal_append(bench->dir, fields, (size_t)length, false, NULL, &err) < 0)
                        _exit(1);
        }
        _exit(0);
}

static void twenty_writers_lose_nothing(void **state)
{
        enum { WRITERS = 20, EACH = 500 };
        const struct bench *bench = *state;
        struct journal_walk walk = { 0 };
        pid_t pids[WRITERS];
        int status;

        for (int i = 0; i < WRITERS; i++) {
                pids[i] = fork();
                if (pids[i] == 0)
                        write_many(bench, i, EACH);
                assert_true(pids[i] > 0);
        }
        for (int i = 0; i < WRITERS; i++) {
                assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                assert_int_equal(status, 0);
        }
        assert_int_equal(walk_file(bench, JOURNAL_NAME, &walk), WRITERS * EACH);
}

/* Writers that are killed while they write, again and again: the chain holds every time. */
static void killed_writers_break_nothing(void **state)
{
        const struct bench *bench = *state;
        uint64_t before = 0;

        for (int round = 0; round < 40; round++) {
                struct journal_walk walk = { 0 };
                pid_t pid = fork();
                size_t length = 0;
                uint64_t count;

                if (pid == 0)
                        write_many(bench, 0, 1000000);
                /* Until it has written something more, then at whatever it is doing. */
                do
                        mem_free(read_file(bench, JOURNAL_NAME, &length));
                while (length < (size_t)(round + 1) * 400);
                assert_int_equal(kill(pid, SIGKILL), 0);
                assert_int_equal(waitpid(pid, NULL, 0), pid);
                append(bench, "\"after\":\"the kill\"");
                count = walk_file(bench, JOURNAL_NAME, &walk);
                assert_true(count > before);
                before = count;
        }
}

static void whoever_changes_a_record_is_found(void **state)
{
        const struct bench *bench = *state;
        size_t length, at = 0;
        AUTO_FREE char *data = NULL;
        struct journal_walk walk = { 0 };
        struct journal_line line;
        char *place;

        append(bench, "\"n\":1,\"status\":\"failed\"");
        append(bench, "\"n\":2");
        data = read_file(bench, JOURNAL_NAME, &length);
        place = strstr(data, "failed");
        memcpy(place, "passed", 6);
        assert_int_equal(journal_next(data, length, &at, &line), JOURNAL_LINE);
        assert_false(journal_hash_is_true(&line));
        assert_has(journal_follow(&walk, &line), "its hash");
}

static void whoever_removes_a_record_is_found(void **state)
{
        const struct bench *bench = *state;
        size_t length, at = 0;
        AUTO_FREE char *data = NULL;
        struct journal_walk walk = { 0 };
        struct journal_line line;

        for (int i = 0; i < 3; i++)
                append(bench, "\"n\":1");
        data = read_file(bench, JOURNAL_NAME, &length);
        assert_int_equal(journal_next(data, length, &at, &line), JOURNAL_LINE);
        assert_null(journal_follow(&walk, &line));
        assert_int_equal(journal_next(data, length, &at, &line), JOURNAL_LINE);
        assert_int_equal(journal_next(data, length, &at, &line), JOURNAL_LINE);
        assert_non_null(journal_follow(&walk, &line));
}

static void pruned_records_keep_the_chain(void **state)
{
        const struct bench *bench = *state;
        size_t length, at = 0;
        AUTO_FREE char *data = NULL;
        AUTO_STRBUF struct strbuf gap = { 0 };
        struct journal_line lines[3], pruned;
        struct journal_walk walk = { 0 };

        for (int i = 0; i < 3; i++)
                append(bench, "\"n\":1");
        data = read_file(bench, JOURNAL_NAME, &length);
        for (int i = 0; i < 3; i++)
                assert_int_equal(journal_next(data, length, &at, &lines[i]), JOURNAL_LINE);
        strbuf_addf(&gap, "{\"prev\":\"%.64s\",\"seq\":1,\"pruned\":2,\"hash\":\"%.64s\"}",
                    lines[0].prev, lines[1].hash);
        assert_true(journal_parse(gap.data, gap.length, &pruned));
        assert_int_equal(pruned.pruned, 2);
        assert_null(journal_follow(&walk, &pruned));
        assert_null(journal_follow(&walk, &lines[2]));
}

static void a_link_in_its_place_is_refused(void **state)
{
        const struct bench *bench = *state;
        struct error err = { 0 };

        write_file(bench, "victim", "x", 1);
        assert_int_equal(symlinkat("victim", bench->dir, JOURNAL_NAME), 0);
        assert_true(journal_append(bench->dir, "\"n\":1", 5, false, NULL, &err) < 0);
        assert_has(err.message, "open the journal");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(records_follow_one_another),
                TEST(the_file_is_private),
                TEST(a_torn_end_is_put_aside_at_every_byte),
                TEST(zeros_at_the_end_are_put_aside),
                TEST(a_long_record_is_followed),
                TEST(a_record_too_large_is_refused_and_nothing_is_written),
                TEST(a_new_segment_goes_on_with_the_chain),
                TEST(a_segment_with_both_names_is_no_loss),
                TEST(a_segment_of_another_chain_is_not_replaced),
                TEST(twenty_writers_lose_nothing),
                TEST(killed_writers_break_nothing),
                TEST(whoever_changes_a_record_is_found),
                TEST(whoever_removes_a_record_is_found),
                TEST(pruned_records_keep_the_chain),
                TEST(a_link_in_its_place_is_refused),
        };

        return RUN(tests);
}
