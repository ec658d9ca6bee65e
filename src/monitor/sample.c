/* Samples: what the run uses now, by its control group or by processes.c, and whether that is too
 * much. */
#include "monitor/watch.h"

#include <unistd.h>

static struct totals read_group(const struct watch *watch)
{
        const struct cgroup *group = &watch->run->group;
        uint64_t processes = cgroup_processes_now(group);

        return (struct totals){ cgroup_memory_now(group),
                                watch_less(cgroup_cpu_us(group), watch->run->cpu_before_us),
                                (uint32_t)watch_less(processes, watch->run->own_processes) };
}

/* As it was told last. The CPU time has what making the container took, which is not the program's:
 * the record at the end is without it. */
static struct totals read_elsewhere(struct watch *watch)
{
        const struct run_used *used = &watch->run->used;

        if (used->memory > watch->memory_peak)
                watch->memory_peak = used->memory;
        return (struct totals){ used->memory, used->cpu_us, used->processes };
}

/* The sooner the nearer the CPU limit is; often where this is what enforces memory. */
static uint64_t next_sample(const struct watch *watch, uint64_t now)
{
        uint64_t limit_us = watch->order->cpu_time_ms * 1000;
        uint64_t used_us = watch->cpu_us - watch->turn_cpu_us;
        uint64_t left_us = limit_us > used_us ? limit_us - used_us : 0;
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        uint64_t wait_us = left_us / (uint64_t)(cpus > 0 ? cpus : 1);
        bool often = watch->sums_memory || watch->sums_processes ||
                     watch->order->counted_count > 0 || watch->order->counts_workspace;
        bool waits = watch->deadline_ns == UINT64_MAX; /* between two turns */
        uint64_t most_us = (often && !waits ? MONITOR_SHORT_SAMPLE_MS : MONITOR_SAMPLE_MS) * 1000;

        if (wait_us > most_us)
                wait_us = most_us;
        if (wait_us < 1000)
                wait_us = 1000;
        return now + wait_us * 1000;
}

static void judge(struct watch *watch, const struct totals *totals)
{
        const struct monitor_order *order = watch->order;

        if (watch->sums_memory && totals->memory > order->memory_bytes)
                watch_end(watch, OUTCOME_MEMORY_LIMIT, false);
        else if (watch->sums_processes && totals->processes > order->processes)
                watch_end(watch, OUTCOME_PROCESS_LIMIT, false);
        else if (totals->cpu_us >= watch->turn_cpu_us + order->cpu_time_ms * 1000)
                watch_end(watch, OUTCOME_CPU_LIMIT, false);
        else if (cgroup_memory_kills(&watch->run->group) > 0)
                watch_end(watch, OUTCOME_MEMORY_LIMIT, false);
        else if (disk_is_due(watch) && disk_is_over(watch))
                watch_end(watch, OUTCOME_DISK_LIMIT, false);
}

void monitor_begin(struct monitor_order *order, bool sums_memory)
{
        order->disk_before = disk_before(order);
        order->shared_before = sums_memory ? memory_shared_by_all() : 0;
}

void sample_begin(struct watch *watch)
{
        watch->shared_before = watch->order->shared_before;
        if (watch->sums_memory && watch->shared_before == 0)
                watch->shared_before = memory_shared_by_all();
}

void sample_take(struct watch *watch, uint64_t now)
{
        bool has_group = !watch->sums_memory && !watch->sums_processes &&
                         watch->run->group.dir_fds[CGROUP_CPUACCT] >= 0;
        struct totals totals = { 0 };

        if (!watch->order->is_elsewhere)
                totals = has_group ? read_group(watch) : processes_sum(watch);

        /* What a guest used while it waited for its program. */
        if (!has_group)
                totals.cpu_us = watch_less(totals.cpu_us, watch->run->ready.cpu_user_us +
                                                                  watch->run->ready.cpu_system_us);
        /* What is computed for the program outside of it is its own too. */
        if (watch->order->network)
                totals.cpu_us += agent_cpu_us(watch->order->network);
        if (totals.memory > watch->memory_peak)
                watch->memory_peak = totals.memory;
        if (totals.processes > watch->processes_peak)
                watch->processes_peak = totals.processes;
        if (totals.cpu_us > watch->cpu_us)
                watch->cpu_us = totals.cpu_us;
        judge(watch, &totals);
        if (watch->order->is_elsewhere) /* its limits are held there */
                totals = read_elsewhere(watch);
        usage_look(watch, &totals, now);
        watch->sample_ns = next_sample(watch, now);
        if (watch->order->listener.usage && watch->usage_ns < watch->sample_ns)
                watch->sample_ns = watch->usage_ns;
}

bool sample_may_fork(void *context)
{
        struct watch *watch = context;
        uint32_t now = processes_count(watch);

        if (now > watch->processes_peak)
                watch->processes_peak = now;
        if (now < watch->order->processes)
                return true;
        watch->refusals++;
        return false;
}
