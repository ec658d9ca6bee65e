/* What is told of a run while it goes on: how much it uses, and that a limit comes near. */
#include "monitor/watch.h"
#include "base/fd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t ns_per_ms = 1000000;

const char *monitor_limit_name(enum monitor_limit limit)
{
        static const char *const names[MONITOR_LIMITS] = {
                [MONITOR_TIMEOUT] = "timeout", [MONITOR_CPU_TIME] = "cpu_time",
                [MONITOR_MEMORY] = "memory",   [MONITOR_PROCESSES] = "processes",
                [MONITOR_DISK] = "disk",
        };

        return names[limit];
}

static uint64_t allowed_by(const struct monitor_order *order, enum monitor_limit limit)
{
        const uint64_t limits[MONITOR_LIMITS] = {
                [MONITOR_TIMEOUT] = order->timeout_ms,  [MONITOR_CPU_TIME] = order->cpu_time_ms,
                [MONITOR_MEMORY] = order->memory_bytes, [MONITOR_PROCESSES] = order->processes,
                [MONITOR_DISK] = order->disk_bytes,
        };

        return limits[limit];
}

/* Once for each limit of a run. */
static void warn(struct watch *watch, enum monitor_limit limit, uint64_t used)
{
        const struct monitor_order *order = watch->order;
        uint64_t allowed = allowed_by(order, limit), percent = order->warn_at[limit];
        struct monitor_warning warning = { limit, used, allowed };

        if (percent == 0 || allowed == 0 || used == MONITOR_UNKNOWN ||
            (watch->warned & 1u << limit) || (double)used * 100 < (double)allowed * (double)percent)
                return;
        watch->warned |= 1u << limit;
        order->listener.warn(order->listener.context, &warning);
}

/* Received and sent: over the connections that were made for the program, where they are made for
 * it; else over all interfaces of its own: the numbers after "name:" are bytes in, and, as the
 * ninth, bytes out. */
static void read_network(const struct watch *watch, struct monitor_usage *usage)
{
        char text[8192];

        if (watch->order->network) {
                struct network_usage used = agent_usage(watch->order->network);

                usage->network_in = used.rx_bytes;
                usage->network_out = used.tx_bytes;
                return;
        }
        usage->network_in = usage->network_out = MONITOR_UNKNOWN;
        if (!watch->order->owns_network || watch->run->proc_fd < 0 ||
            fd_read_file_at(watch->run->proc_fd, "1/net/dev", text, sizeof(text)) <= 0)
                return;
        usage->network_in = usage->network_out = 0;
        for (char *line = strchr(text, ':'); line; line = strchr(line + 1, ':')) {
                unsigned long long in, out;

                if (sscanf(line + 1, "%llu %*u %*u %*u %*u %*u %*u %*u %llu", &in, &out) != 2)
                        continue;
                usage->network_in += in;
                usage->network_out += out;
        }
}

/* What a process moved is forgotten when nobody waited for it, and when it is about to end: the
 * figures do not go back for that. */
void usage_note_io(struct watch *watch)
{
        uint64_t in, out;

        if (watch->order->is_elsewhere || watch->ready_ns == 0)
                return;
        processes_io(watch, &in, &out);
        in = watch_less(in, watch->run->ready.io_read_bytes); /* before its program began */
        out = watch_less(out, watch->run->ready.io_write_bytes);
        watch->io_read = in > watch->io_read ? in : watch->io_read;
        watch->io_written = out > watch->io_written ? out : watch->io_written;
}

static void tell(struct watch *watch, const struct totals *totals, uint64_t now)
{
        const struct monitor_order *order = watch->order;
        uint64_t passed_us = (now - watch->told_ns) / 1000;
        uint64_t cpu_us = order->is_elsewhere ? totals->cpu_us : watch->cpu_us;
        struct monitor_usage usage = {
                .memory = totals->memory,
                .memory_peak = watch->memory_peak,
                .cpu_us = cpu_us,
                .cpu_milli =
                        passed_us ? watch_less(cpu_us, watch->told_cpu_us) * 1000 / passed_us : 0,
                .disk = disk_used(watch),
                .io_read = MONITOR_UNKNOWN,
                .io_write = MONITOR_UNKNOWN,
                .network_in = MONITOR_UNKNOWN,
                .network_out = MONITOR_UNKNOWN,
                .processes = totals->processes,
        };

        if (order->wants_details && *order->wants_details && !order->is_elsewhere) {
                usage_note_io(watch);
                usage.io_read = watch->io_read;
                usage.io_write = watch->io_written;
                read_network(watch, &usage);
        }
        watch->told_ns = now;
        watch->told_cpu_us = cpu_us;
        if (!order->listener.usage(order->listener.context, &usage)) {
                watch->cancelled = true;
                watch_end(watch, OUTCOME_CANCELLED, false);
        }
}

void usage_look(struct watch *watch, const struct totals *totals, uint64_t now)
{
        const struct monitor_order *order = watch->order;
        uint64_t interval = order->interval_ms ? order->interval_ms : MONITOR_SAMPLE_MS;

        if (order->listener.warn) {
                if (watch->deadline_ns != UINT64_MAX)
                        warn(watch, MONITOR_TIMEOUT, (now - watch->turn_ns) / ns_per_ms);
                warn(watch, MONITOR_CPU_TIME, (watch->cpu_us - watch->turn_cpu_us) / 1000);
                warn(watch, MONITOR_MEMORY, totals->memory);
                warn(watch, MONITOR_PROCESSES, totals->processes);
                warn(watch, MONITOR_DISK, disk_used(watch));
        }
        if (!order->listener.usage || now < watch->usage_ns ||
            (order->is_elsewhere && !watch->run->used.is_new))
                return; /* nobody to tell, not yet, or nothing new was heard from elsewhere */
        tell(watch, totals, now);
        watch->run->used.is_new = false;
        watch->usage_ns += interval * ns_per_ms;
        if (watch->usage_ns <= now) /* we were held up: samples do not pile up */
                watch->usage_ns = now + interval * ns_per_ms;
}

void usage_look_back(struct watch *watch)
{
        const struct usage *usage = &watch->step->usage;

        if (!watch->order->listener.warn || watch->order->turn_fd >= 0)
                return; /* what all turns used together is no turn's limit */
        warn(watch, MONITOR_TIMEOUT, usage->wall_ns / ns_per_ms);
        warn(watch, MONITOR_CPU_TIME, usage->cpu_us / 1000);
        warn(watch, MONITOR_MEMORY, usage->memory_peak);
        warn(watch, MONITOR_PROCESSES, usage->processes_peak);
        warn(watch, MONITOR_DISK, disk_used(watch));
}
