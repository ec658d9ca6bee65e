/* Limits: by which mechanism each can be held here, and, after the run, by which it was. */
#include "engine/passage.h"

#include <stddef.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { TMPFS = 0x01021994 };

static bool has_controller(const struct passage *passage, enum cgroup_controller controller)
{
        return passage->engine->site.parent_fds[controller] >= 0;
}

uint64_t limits_machine_cpus(void)
{
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);

        return cpus > 0 ? (uint64_t)cpus : 1;
}

/* The share of the CPUs is held by a control group, or in whole CPUs by affinity. */
uint32_t limits_pinned_cpus(const struct passage *passage, const struct limits *limits)
{
        if (has_controller(passage, CGROUP_CPU) ||
            limits->cpus_milli >= limits_machine_cpus() * 1000)
                return 0;
        return (uint32_t)((limits->cpus_milli + 999) / 1000);
}

/* Whether more processes are allowed than can be summed up. */
static bool are_too_many(const struct passage *passage, const struct limits *limits)
{
        return (!has_controller(passage, CGROUP_PIDS) || !has_controller(passage, CGROUP_MEMORY)) &&
               limits->processes > MONITOR_PROCESSES_MAX;
}

int limits_check(const struct passage *passage, const struct limits *limits, struct error *err)
{
        int r;

        if (passage->policy.enforcement == ENFORCEMENT_BEST_EFFORT)
                return 0;
        if (are_too_many(passage, limits)) {
                r = error_set(err, SBX_EREFUSED,
                              "cannot watch over %llu processes without a control group: %s",
                              (unsigned long long)limits->processes, passage->engine->site.reason);
                error_hint(err,
                           "allow %d at the most, delegate a control group "
                           "('systemd-run --user --scope -p Delegate=yes sandbox ...'), or run as "
                           "root",
                           MONITOR_PROCESSES_MAX);
                return r;
        }
        if (limits_pinned_cpus(passage, limits) == 0 || limits->cpus_milli % 1000 == 0)
                return 0;
        r = error_set(err, SBX_EREFUSED,
                      "cannot hold a share of %llu.%03llu CPUs without a control group: %s",
                      (unsigned long long)limits->cpus_milli / 1000,
                      (unsigned long long)limits->cpus_milli % 1000, passage->engine->site.reason);
        error_hint(err,
                   "ask for whole CPUs, delegate a control group "
                   "('systemd-run --user --scope -p Delegate=yes sandbox ...'), or run as root");
        return r;
}

/* Whether the group really counted this run: nothing of a program's life costs no CPU time. */
static bool group_was_used(const struct run *run)
{
        return run->counted.cpu_us > 0 || run->counted.memory_peak > 0;
}

static void describe_memory(struct result *result, const struct run *run,
                            const struct limits *limits, const char *by)
{
        uint64_t set = run->counted.memory_limit;

        if (result->fuel.is_used)
                result_set_protection(result, PROTECTION_MEMORY, STATE_ENFORCED, "wasm",
                                      "linear memory; the worker around it by %s",
                                      group_was_used(run) ? by : "monitor");
        else if (group_was_used(run) && set > 0 && set <= limits->memory_bytes)
                result_set_protection(result, PROTECTION_MEMORY, STATE_ENFORCED, by, "%s", "");
        else if (run->group.dir_fds[CGROUP_MEMORY] >= 0)
                result_set_protection(result, PROTECTION_MEMORY, STATE_MISSING, NULL,
                                      "the group's limit reads %llu", (unsigned long long)set);
        else
                result_set_protection(result, PROTECTION_MEMORY, STATE_ENFORCED, "monitor",
                                      "summed every 10 ms; not seen: kernel buffers, shared memory "
                                      "that nobody has mapped");
}

static void describe_processes(struct result *result, const struct run *run,
                               const struct limits *limits, const char *by, bool has_rlimit)
{
        uint64_t set = run->counted.processes_limit;

        if (group_was_used(run) && set > 0 && set <= limits->processes + run->own_processes)
                result_set_protection(result, PROTECTION_PROCESSES, STATE_ENFORCED, by, "%s", "");
        else if (run->group.dir_fds[CGROUP_PIDS] >= 0)
                result_set_protection(result, PROTECTION_PROCESSES, STATE_MISSING, NULL,
                                      "the group's limit reads %llu", (unsigned long long)set);
        else if (run->asks_forks)
                result_set_protection(result, PROTECTION_PROCESSES, STATE_ENFORCED, "monitor", "%s",
                                      has_rlimit
                                              ? "threads asked before each new one, processes by "
                                                "RLIMIT_NPROC"
                                              : "asked before each new one");
        else
                result_set_protection(result, PROTECTION_PROCESSES, STATE_ENFORCED, "monitor",
                                      "counted every 10 ms");
}

static void describe_cpus(struct passage *passage, const struct run *run,
                          const struct limits *limits, const char *by)
{
        struct result *result = passage->result;
        uint32_t pinned = limits_pinned_cpus(passage, limits);

        if (run->counted.cpu_is_limited)
                result_set_protection(result, PROTECTION_CPUS, STATE_ENFORCED, by, "%s", "");
        else if (pinned == 0)
                result_set_protection(result, PROTECTION_CPUS, STATE_ENFORCED, "machine",
                                      "it has no more CPUs");
        else if (limits->cpus_milli % 1000 != 0)
                result_set_protection(
                        result, PROTECTION_CPUS, STATE_MISSING, NULL,
                        "without a control group only whole CPUs can be held: pinned to %u",
                        pinned);
        else if (!(run->ready.seen & PROTECTION_BIT(CPUS)) ||
                 !(run->ready.seen & PROTECTION_BIT(SECCOMP)))
                result_set_protection(result, PROTECTION_CPUS, STATE_MISSING, NULL,
                                      "the program could change it");
        else
                result_set_protection(result, PROTECTION_CPUS, STATE_ENFORCED, "affinity",
                                      "pinned to %u CPU%s", pinned,
                                      pinned == 1 ? "" : "s, in whole ones");
}

/* The size and number of files that the run's own file system really has. */
static void describe_memory_disk(struct result *result, const struct run *run,
                                 const struct limits *limits)
{
        struct statfs fs;
        uint64_t bytes;

        if (run->workspace_fd < 0 || fstatfs(run->workspace_fd, &fs) < 0) {
                result_set_protection(result, PROTECTION_DISK, STATE_MISSING, NULL,
                                      "it could not be read back");
                return;
        }
        /* The kernel counts in pages and rounds up. */
        bytes = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
        if (fs.f_type == TMPFS && fs.f_files > 0 && bytes > 0 &&
            bytes < limits->disk_bytes + (uint64_t)fs.f_bsize)
                result_set_protection(result, PROTECTION_DISK, STATE_ENFORCED, "tmpfs", "%s", "");
        else
                result_set_protection(result, PROTECTION_DISK, STATE_MISSING, NULL,
                                      "its size reads %llu", (unsigned long long)bytes);
}

/* An ordinary user's own hard limit may be the lower one, and is then what holds. */
static void describe_open_files(struct passage *passage, const struct run *run,
                                const struct limits *limits)
{
        struct rlimit own;

        if (run->is_ready && (run->ready.seen & PROTECTION_BIT(OPEN_FILES)) &&
            passage->engine->identity.user_namespace && getrlimit(RLIMIT_NOFILE, &own) == 0 &&
            own.rlim_max < limits->open_files)
                result_set_protection(passage->result, PROTECTION_OPEN_FILES, STATE_ENFORCED,
                                      "rlimit", "%llu, the caller's own hard limit, is lower",
                                      (unsigned long long)own.rlim_max);
}

static void describe_too_many(struct result *result, const struct run *run)
{
        static const struct {
                enum cgroup_controller controller;
                enum protection protection;
        } summed[] = { { CGROUP_MEMORY, PROTECTION_MEMORY },
                       { CGROUP_PIDS, PROTECTION_PROCESSES } };

        for (size_t i = 0; i < ARRAY_SIZE(summed); i++)
                if (run->group.dir_fds[summed[i].controller] < 0)
                        result_set_protection(result, summed[i].protection, STATE_MISSING, NULL,
                                              "no more than %d processes can be summed up",
                                              MONITOR_PROCESSES_MAX);
}

void limits_describe(struct passage *passage, const struct run *run, const struct limits *limits)
{
        const char *by = cgroup_version_name(run->group.version);
        struct result *result = passage->result;
        bool container = passage->backend->kind == PLAN_CONTAINER;

        result_set_protection(result, PROTECTION_TIMEOUT, STATE_ENFORCED, "monitor", "%s", "");
        if (run->counted.cpu_us > 0)
                result_set_protection(result, PROTECTION_CPU_TIME, STATE_ENFORCED, by, "%s", "");
        else
                result_set_protection(result, PROTECTION_CPU_TIME, STATE_ENFORCED, "monitor",
                                      "summed every 10 ms; not seen: children that live shorter "
                                      "and that nobody waits for");
        describe_memory(result, run, limits, by);
        describe_processes(result, run, limits, by,
                           passage->engine->identity.uid_span > 0 || container);
        if (are_too_many(passage, limits))
                describe_too_many(result, run);
        describe_cpus(passage, run, limits, by);
        describe_open_files(passage, run, limits);
        if (container && passage->counted_count == 0)
                describe_memory_disk(result, run, limits);
        else if (passage->counted_count > 0 && !passage->disk_is_known)
                result_set_protection(result, PROTECTION_DISK, STATE_MISSING, NULL,
                                      "a writable directory of the host cannot be measured");
        else
                result_set_protection(
                        result, PROTECTION_DISK, STATE_ENFORCED, "monitor",
                        "measured every 10 ms and at the end: a fast writer is ended late, and "
                        "removed files that cannot be measured count as all that the disk grew by");
        result_set_protection(result, PROTECTION_OUTPUT, STATE_ENFORCED, "monitor", "%s", "");
}

void limits_list(const struct limits *limits, struct result *result)
{
        const struct result_limit all[] = {
                { "timeout", (double)limits->timeout_ms / 1000, true },
                { "cpu_time", (double)limits->cpu_time_ms / 1000, true },
                { "memory", (double)limits->memory_bytes, false },
                { "cpus", (double)limits->cpus_milli / 1000, true },
                { "processes", (double)limits->processes, false },
                { "disk", (double)limits->disk_bytes, false },
                { "open_files", (double)limits->open_files, false },
                { "stdout", (double)limits->stdout_bytes, false },
                { "stderr", (double)limits->stderr_bytes, false },
        };

        result->limit_count = sizeof(all) / sizeof(all[0]);
        for (size_t i = 0; i < result->limit_count; i++)
                result->limits[i] = all[i];
}

/* ---- the limits of a language file ---- */

static const struct {
        size_t from; /* in struct language_limits */
        size_t to;   /* in struct limits */
        enum policy_field field;
} language_rows[] = {
#define ROW(name)                                                                                  \
        {                                                                                          \
                offsetof(struct language_limits, name), offsetof(struct limits, name),             \
                        FIELD_##name                                                               \
        }
        ROW(timeout_ms), ROW(cpu_time_ms), ROW(memory_bytes),
        ROW(processes),  ROW(disk_bytes),  ROW(open_files),
#undef ROW
};

/* Returns which were given, as bits of enum policy_field. */
static uint64_t lay_over(struct limits *limits, const struct language_limits *given)
{
        uint64_t fields = 0;

        for (size_t i = 0; i < ARRAY_SIZE(language_rows); i++) {
                uint64_t value = *(const uint64_t *)((const char *)given + language_rows[i].from);

                if (!value)
                        continue;
                *(uint64_t *)((char *)limits + language_rows[i].to) = value;
                fields |= UINT64_C(1) << language_rows[i].field;
        }
        return fields;
}

void limits_lay_over(struct limits *limits, const struct language_limits *given)
{
        if (given->timeout_ms)
                limits->cpu_time_ms = given->timeout_ms;
        (void)lay_over(limits, given);
}

void engine_language_layer(const struct language *language, struct policy *ret_layer)
{
        policy_init(ret_layer);
        ret_layer->layer = LAYER_LANGUAGE;
        ret_layer->general.given = lay_over(&ret_layer->general.limits, &language->limits);
}
