/* When the disk is measured. */
#include "unit.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/tree.h"
#include "monitor/watch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { KIB = 1024, MIB = 1 << 20 };
static const uint64_t ms = 1000000, hour = UINT64_C(3600) * 1000000000;

static void looks_are_seldom_where_they_take_long(void **state)
{
        (void)state;
        assert_int_equal(disk_pause(1 * ms), 9 * ms);
        assert_int_equal(disk_pause(100 * ms), 900 * ms);
}

static void a_large_tree_is_looked_at_within_a_second(void **state)
{
        (void)state;
        assert_int_equal(disk_pause(200 * ms), 1000 * ms);
        assert_int_equal(disk_pause(900 * ms), 1000 * ms);
}

static void half_of_the_time_goes_into_looks_at_the_most(void **state)
{
        (void)state;
        assert_int_equal(disk_pause(3000 * ms), 3000 * ms);
}

/* A directory with a megabyte, of which a quarter is allowed; it was just looked at. */
struct bench {
        char place[64];
        int fd;
        struct run run;
        struct monitor_order order;
        struct watch watch;
};

static void set_up(struct bench *bench)
{
        static char data[MIB];
        int fd;

        *bench = (struct bench){ .place = "/tmp/sandbox-unit-XXXXXX" };
        assert_non_null(mkdtemp(bench->place));
        bench->fd = open(bench->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        memset(data, 'x', sizeof(data));
        fd = openat(bench->fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, data, sizeof(data)), (ssize_t)sizeof(data));
        fd_close(fd);
        run_init(&bench->run);
        bench->order = (struct monitor_order){ .counted_fds = &bench->fd,
                                               .counted_count = 1,
                                               .disk_bytes = 256 * KIB };
        bench->watch = (struct watch){ .run = &bench->run,
                                       .order = &bench->order,
                                       .disk_ns = clock_now_ns() + hour };
}

static void tear_down(struct bench *bench)
{
        fd_close(bench->fd);
        run_close(&bench->run);
        assert_int_equal(tree_remove(bench->place), 0);
}

static void a_disk_that_grew_by_more_than_is_left_is_looked_at_at_once(void **state)
{
        struct bench bench;

        (void)state;
        set_up(&bench);
        bench.watch.disk_used_then = 0; /* before anything was on it */
        assert_true(disk_is_due(&bench.watch));
        bench.watch.disk_used_then = UINT64_MAX; /* it has shrunk */
        assert_false(disk_is_due(&bench.watch));
        tear_down(&bench);
}

static void a_disk_that_goes_on_growing_takes_no_more_than_half_of_the_time(void **state)
{
        struct bench bench;

        (void)state;
        set_up(&bench);
        bench.watch.disk_soonest_ns = clock_now_ns() + hour;
        assert_false(disk_is_due(&bench.watch));
        tear_down(&bench);
}

static void a_look_notes_what_the_disk_held(void **state)
{
        struct bench bench;

        (void)state;
        set_up(&bench);
        assert_true(disk_is_over(&bench.watch));
        assert_in_range(bench.watch.disk_used_then, MIB, UINT64_MAX);
        assert_in_range(bench.watch.disk_soonest_ns, 1, bench.watch.disk_ns);
        tear_down(&bench);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(looks_are_seldom_where_they_take_long),
                cmocka_unit_test(a_large_tree_is_looked_at_within_a_second),
                cmocka_unit_test(half_of_the_time_goes_into_looks_at_the_most),
                cmocka_unit_test(a_disk_that_grew_by_more_than_is_left_is_looked_at_at_once),
                cmocka_unit_test(a_disk_that_goes_on_growing_takes_no_more_than_half_of_the_time),
                cmocka_unit_test(a_look_notes_what_the_disk_held),
        };

        return RUN(tests);
}
