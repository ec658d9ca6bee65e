/* Control groups on this machine: made, limited, read back, removed, and swept when their owner
 * died. */
#include "child_helpers.h"
#include "kernel/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>

static const struct cgroup_limits limits = { .memory_bytes = 32 << 20,
                                             .processes = 5,
                                             .cpus_milli = 500 };

/* Skips the test where this user cannot make groups. */
static struct cgroup_site open_site(void)
{
        struct cgroup_site site;
        struct error err = { 0 };

        if (cgroup_site_open(&site, &err) < 0)
                fail_msg("%s", err.message);
        if (site.version == CGROUP_NONE) {
                cgroup_site_close(&site);
                skip();
        }
        return site;
}

static int open_group(const struct cgroup_site *site, unsigned number,
                      const struct cgroup_limits *wanted, struct cgroup *ret_group,
                      struct error *err)
{
        char name[CGROUP_NAME_MAX];

        cgroup_name(site, number, name);
        return cgroup_open(site, name, wanted, ret_group, err);
}

static bool exists(int parent, const char *name)
{
        return faccessat(parent, name, F_OK, 0) == 0;
}

static void two_sites_of_one_process_name_their_groups_differently(void **state)
{
        struct cgroup_site a, b;
        char first[CGROUP_NAME_MAX], second[CGROUP_NAME_MAX];

        assert_int_equal(cgroup_site_open(&a, NULL), 0);
        assert_int_equal(cgroup_site_open(&b, NULL), 0);
        cgroup_name(&a, 1, first);
        cgroup_name(&b, 1, second);
        assert_string_not_equal(first, second);
        cgroup_site_close(&a);
        cgroup_site_close(&b);
}

static void a_site_names_its_owner_or_says_why_there_is_none(void **state)
{
        struct cgroup_site site;
        char expected[32];

        assert_int_equal(cgroup_site_open(&site, NULL), 0);
        (void)snprintf(expected, sizeof(expected), ".%d.", (int)getpid());
        assert_has(site.owner, expected);
        if (site.version == CGROUP_NONE)
                assert_true(site.reason[0] != '\0');
        else
                assert_true(site.parent_fds[CGROUP_MEMORY] >= 0 ||
                            site.parent_fds[CGROUP_PIDS] >= 0);
        cgroup_site_close(&site);
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                assert_int_equal(site.parent_fds[i], -1);
}

static void a_group_has_its_limits_and_goes_without_a_trace(void **state)
{
        struct cgroup_site site = open_site();
        struct cgroup_reading reading;
        struct cgroup group;
        struct error err = { 0 };

        if (open_group(&site, 7, &limits, &group, &err) < 0)
                fail_msg("%s", err.message);
        assert_has(group.name, CGROUP_PREFIX);
        assert_has(group.name, site.owner);
        reading = cgroup_read(&group);
        if (group.dir_fds[CGROUP_MEMORY] >= 0)
                assert_int_equal(reading.memory_limit, limits.memory_bytes);
        if (group.dir_fds[CGROUP_PIDS] >= 0)
                assert_int_equal(reading.processes_limit, limits.processes + 1); /* the keeper's */
        if (group.dir_fds[CGROUP_CPU] >= 0)
                assert_true(reading.cpu_is_limited);
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                assert_true(group.dir_fds[i] < 0 || exists(site.parent_fds[i], group.name));
        assert_int_equal(reading.memory_kills, 0);
        assert_int_equal(reading.fork_refusals, 0);
        cgroup_remove(&group);
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                assert_true(site.parent_fds[i] < 0 || !exists(site.parent_fds[i], group.name));
        cgroup_close(&group);
        cgroup_close(&group); /* twice is nothing */
        cgroup_site_close(&site);
}

static void who_enters_a_group_is_counted_in_it(void **state)
{
        struct cgroup_site site = open_site();
        int fds[CGROUP_CONTROLLERS], ends[2], status;
        struct cgroup group;
        char byte;
        pid_t pid;
        int count;

        if (site.version != CGROUP_V1) {
                cgroup_site_close(&site);
                skip();
        }
        assert_int_equal(open_group(&site, 8, &limits, &group, NULL), 0);
        count = cgroup_join_fds(&group, fds);
        assert_true(count > 0);
        assert_int_equal(cgroup_into_fd(&group), -1);
        assert_int_equal(pipe(ends), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                for (int i = 0; i < count; i++)
                        EXPECT(write(fds[i], "0", 1) == 1);
                EXPECT(write(ends[1], "x", 1) == 1);
                (void)pause();
                _exit(0);
        }
        assert_int_equal(read(ends[0], &byte, 1), 1);
        assert_true(cgroup_processes_now(&group) == 1 || group.dir_fds[CGROUP_PIDS] < 0);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        while (count > 0)
                close(fds[--count]);
        close(ends[0]);
        close(ends[1]);
        cgroup_remove(&group);
        cgroup_close(&group);
        cgroup_site_close(&site);
}

static void readings_are_equal(const struct cgroup_reading *a, const struct cgroup_reading *b)
{
        assert_int_equal(a->memory_limit, b->memory_limit);
        assert_int_equal(a->memory_kills, b->memory_kills);
        assert_true(a->cpu_us <= b->cpu_us); /* the end of a process is counted a little later */
        assert_int_equal(a->processes_peak, b->processes_peak);
        assert_int_equal(a->processes_limit, b->processes_limit);
        assert_int_equal(a->fork_refusals, b->fork_refusals);
        assert_int_equal(a->cpu_is_limited, b->cpu_is_limited);
}

/* A process that enters through these and ends in the group. */
static void visit(const int *fds, int count)
{
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                for (int i = 0; i < count; i++)
                        EXPECT(write(fds[i], "0", 1) == 1);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void files_that_are_kept_open_tell_what_they_told_before(void **state)
{
        struct cgroup_site site = open_site();
        int fds[CGROUP_CONTROLLERS], again[CGROUP_CONTROLLERS], count;
        struct cgroup_reading before, after;
        struct cgroup group;
        bool are_kept;

        assert_int_equal(open_group(&site, 9, &limits, &group, NULL), 0);
        count = cgroup_entry_fds(&group, fds, &are_kept);
        assert_true(count > 0 && !are_kept);
        visit(fds, count);
        before = cgroup_read(&group);
        cgroup_keep_files(&group);
        cgroup_keep_files(&group); /* twice is nothing */
        after = cgroup_read(&group);
        readings_are_equal(&before, &after);
        assert_int_equal(cgroup_entry_fds(&group, again, &are_kept), count);
        assert_true(are_kept);
        visit(again, count);
        /* What is told is what is now, not what was when the file was opened. */
        after = cgroup_read(&group);
        assert_true(group.dir_fds[CGROUP_CPUACCT] < 0 || after.cpu_us > before.cpu_us);
        if (cgroup_reset(&group))
                assert_true(cgroup_read(&group).cpu_us < after.cpu_us || after.cpu_us == 0);
        while (count > 0)
                close(fds[--count]);
        assert_int_equal(cgroup_remove(&group), 0);
        cgroup_close(&group);
        assert_null(group.files);
        cgroup_site_close(&site);
}

static void who_has_many_files_open_keeps_no_more(void **state)
{
        struct cgroup_site site = open_site();
        int fds[CGROUP_CONTROLLERS], many[256], count;
        struct cgroup group;
        bool are_kept;

        assert_int_equal(open_group(&site, 10, &limits, &group, NULL), 0);
        for (int i = 0; i < 256; i++)
                assert_true((many[i] = dup(0)) >= 0);
        cgroup_keep_files(&group);
        count = cgroup_entry_fds(&group, fds, &are_kept);
        assert_true(count > 0 && !are_kept);
        if (group.dir_fds[CGROUP_MEMORY] >= 0)
                assert_int_equal(cgroup_read(&group).memory_limit, limits.memory_bytes);
        while (count > 0)
                close(fds[--count]);
        for (int i = 0; i < 256; i++)
                close(many[i]);
        cgroup_remove(&group);
        cgroup_close(&group);
        cgroup_site_close(&site);
}

/* Makes a group in every hierarchy. */
static void plant(const struct cgroup_site *site, const char *name)
{
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                if (site->parent_fds[i] >= 0 && mkdirat(site->parent_fds[i], name, 0755) < 0)
                        assert_int_equal(errno, EEXIST); /* controllers that share a hierarchy */
}

/* In how many hierarchies it is; removes it from each. */
static int uproot(const struct cgroup_site *site, const char *name)
{
        int count = 0;

        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                count += site->parent_fds[i] >= 0 &&
                         unlinkat(site->parent_fds[i], name, AT_REMOVEDIR) == 0;
        return count;
}

static pid_t dead_pid(void)
{
        pid_t pid = fork();

        if (pid == 0)
                _exit(0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        return pid;
}

static void the_groups_of_the_dead_are_swept_and_no_others(void **state)
{
        struct cgroup_site site = open_site();
        unsigned long long pid_namespace, start;
        char dead[CGROUP_NAME_MAX], reused[CGROUP_NAME_MAX];
        char keep[5][CGROUP_NAME_MAX];
        int pid;

        assert_int_equal(sscanf(site.owner, "%llu.%d.%llu", &pid_namespace, &pid, &start), 3);
        (void)snprintf(dead, sizeof(dead), CGROUP_PREFIX "%llu.%d.%llu.1", pid_namespace,
                       (int)dead_pid(), start);
        /* The number lives, but as another process: it started after the group was named. */
        (void)snprintf(reused, sizeof(reused), CGROUP_PREFIX "%llu.%d.0.1", pid_namespace, pid);
        (void)snprintf(keep[0], sizeof(keep[0]), CGROUP_PREFIX "%s.99", site.owner);
        (void)snprintf(keep[1], sizeof(keep[1]), CGROUP_PREFIX "%llu.%d.%llu.1", pid_namespace + 1,
                       (int)dead_pid(), start);
        (void)snprintf(keep[2], sizeof(keep[2]), CGROUP_PREFIX "test-foreign");
        (void)snprintf(keep[3], sizeof(keep[3]), "unit-test-foreign.%llu.%d.%llu.1", pid_namespace,
                       (int)dead_pid(), start);
        (void)snprintf(keep[4], sizeof(keep[4]), CGROUP_PREFIX "%llu.1.x.1", pid_namespace);
        plant(&site, dead);
        plant(&site, reused);
        for (int i = 0; i < 5; i++)
                plant(&site, keep[i]);
        cgroup_sweep(&site);
        for (int i = 0; i < 5; i++)
                if (uproot(&site, keep[i]) == 0)
                        fail_msg("'%s' was swept", keep[i]);
        assert_int_equal(uproot(&site, dead), 0);
        assert_int_equal(uproot(&site, reused), 0);
        cgroup_site_close(&site);
}

static void a_group_that_cannot_be_made_leaves_nothing(void **state)
{
        struct cgroup_site site = open_site();
        struct cgroup_limits impossible = limits;
        struct cgroup group;
        struct error err = { 0 };
        char name[CGROUP_NAME_MAX];

        if (site.parent_fds[CGROUP_PIDS] < 0) {
                cgroup_site_close(&site);
                skip();
        }
        impossible.processes = UINT64_MAX - 1; /* the kernel takes no such number */
        assert_true(open_group(&site, 9, &impossible, &group, &err) < 0);
        assert_int_equal(err.code, SBX_ESYSTEM);
        assert_has(err.message, "pids.max");
        (void)snprintf(name, sizeof(name), CGROUP_PREFIX "%s.9", site.owner);
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                assert_true(site.parent_fds[i] < 0 || !exists(site.parent_fds[i], name));
        cgroup_site_close(&site);
}

static void without_a_site_there_is_a_group_of_nothing(void **state)
{
        struct cgroup_site site = { .version = CGROUP_NONE, .parent_fds = { -1, -1, -1, -1 } };
        struct cgroup group;
        int fds[CGROUP_CONTROLLERS];

        assert_int_equal(open_group(&site, 1, &limits, &group, NULL), 0);
        assert_int_equal(cgroup_join_fds(&group, fds), 0);
        assert_int_equal(cgroup_into_fd(&group), -1);
        assert_int_equal(cgroup_memory_now(&group), 0);
        assert_int_equal(cgroup_cpu_us(&group), 0);
        assert_false(cgroup_read(&group).cpu_is_limited);
        cgroup_sweep(&site);
        cgroup_remove(&group);
        cgroup_close(&group);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(two_sites_of_one_process_name_their_groups_differently),
                cmocka_unit_test(a_site_names_its_owner_or_says_why_there_is_none),
                cmocka_unit_test(a_group_has_its_limits_and_goes_without_a_trace),
                cmocka_unit_test(who_enters_a_group_is_counted_in_it),
                cmocka_unit_test(files_that_are_kept_open_tell_what_they_told_before),
                cmocka_unit_test(who_has_many_files_open_keeps_no_more),
                cmocka_unit_test(the_groups_of_the_dead_are_swept_and_no_others),
                cmocka_unit_test(a_group_that_cannot_be_made_leaves_nothing),
                cmocka_unit_test(without_a_site_there_is_a_group_of_nothing),
        };

        return RUN(tests);
}
