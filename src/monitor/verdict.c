/* What became of the run: the kills told apart, the usage by its best source. */
#include "monitor/watch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
        return a > b ? a : b;
}

static void fill_usage(struct watch *watch)
{
        const struct run *run = watch->run;
        struct usage *usage = &watch->step->usage;
        uint64_t peak = run->counted.processes_peak;

        /* One that was ended before its program was executed took no time. */
        if (watch->ready_ns) {
                usage->startup_ns = watch->ready_ns - watch->order->started_ns;
                usage->wall_ns = watch_less(watch->ended_ns, watch->ready_ns);
        }
        if (run->has_exited) {
                uint64_t cpu_us = watch_less(run->exited.cpu_user_us + run->exited.cpu_system_us,
                                             run->ready.cpu_user_us + run->ready.cpu_system_us);

                /* The kernel divides what is exact into two parts by its ticks. */
                usage->cpu_system_us =
                        watch_less(run->exited.cpu_system_us, run->ready.cpu_system_us);
                if (usage->cpu_system_us > cpu_us)
                        usage->cpu_system_us = cpu_us;
                usage->cpu_user_us = cpu_us - usage->cpu_system_us;
                usage->io_read_bytes =
                        watch_less(run->exited.io_read_bytes, run->ready.io_read_bytes);
                usage->io_write_bytes =
                        watch_less(run->exited.io_write_bytes, run->ready.io_write_bytes);
        }
        /* Nobody was there any more who could tell: samples have seen it move. */
        if (usage->io_read_bytes == 0)
                usage->io_read_bytes = watch->io_read;
        if (usage->io_write_bytes == 0)
                usage->io_write_bytes = watch->io_written;
        usage->cpu_us = larger(usage->cpu_user_us + usage->cpu_system_us, watch->cpu_us);
        usage->cpu_us = larger(usage->cpu_us, watch_less(run->counted.cpu_us, run->cpu_before_us));
        /* The kernel's own peak is written without a lock and may miss what a sample saw. */
        usage->memory_peak = larger(run->counted.memory_peak, watch->memory_peak);
        if (run->counted.memory_peak == 0 && run->has_exited)
                usage->memory_peak = larger(usage->memory_peak, run->exited.memory_peak);
        /* One that the nest had before is that of a single process, made ahead. */
        usage->processes_peak = peak > run->own_processes && peak > run->peak_before
                                        ? (uint32_t)peak - run->own_processes
                                        : watch->processes_peak;
        if (usage->processes_peak == 0)
                usage->processes_peak = 1;
        if (watch->order->network) {
                struct network_usage network;

                agent_finish(watch->order->network);
                network = agent_usage(watch->order->network);
                usage->net_connections = network.connections;
                usage->net_rx_bytes = network.rx_bytes;
                usage->net_tx_bytes = network.tx_bytes;
        }
        if (run->has_exited && usage->processes_peak < run->exited.survivors + 1)
                usage->processes_peak = run->exited.survivors + 1;
}

static void fill_status(struct watch *watch)
{
        const struct run *run = watch->run;
        struct result_step *step = watch->step;

        step->exit_code = -1;
        step->signal = 0;
        if (!run->has_exited)
                step->signal = SIGKILL; /* ended together with its keeper */
        else if (WIFEXITED(run->exited.wait_status))
                step->exit_code = WEXITSTATUS(run->exited.wait_status);
        else
                step->signal = WTERMSIG(run->exited.wait_status);
}

/* What a program that failed by itself ran into, if it was a limit. */
static enum outcome blame(const struct watch *watch, uint64_t refusals)
{
        const struct result_step *step = watch->step;

        /* Anybody can send a signal: the kernel's comes with the time that was used. */
        if ((step->signal == SIGXCPU || step->signal == SIGKILL) &&
            step->usage.cpu_us >= watch->turn_cpu_us + watch->order->cpu_time_ms * 1000)
                return OUTCOME_CPU_LIMIT;
        if (refusals > 0)
                return OUTCOME_PROCESS_LIMIT;
        /* By SIGXFSZ, or, where that is ignored, by itself after an error from its write(). The
         * signal is believed: a size that was refused leaves no file to be seen, as with
         * ftruncate() or a memory file, and who sends it to himself deceives nobody else. */
        if (step->signal == SIGXFSZ || watch->disk_was_over || watch->file_is_full ||
            watch->run->exited.counted.disk_is_full || disk_is_full(watch->run->workspace_fd))
                return OUTCOME_DISK_LIMIT;
        return step->signal ? OUTCOME_SIGNALED : OUTCOME_FAILED;
}

static void add_violations(struct watch *watch, uint64_t refusals)
{
        static const struct {
                enum outcome outcome;
                const char *kind, *what, *why;
        } limits[] = {
                { OUTCOME_TIMEOUT, "timeout", "wall-clock time", "the limit was reached" },
                { OUTCOME_CPU_LIMIT, "cpu_time", "CPU time", "the limit was reached" },
                { OUTCOME_MEMORY_LIMIT, "memory", "memory", "the limit was reached" },
                { OUTCOME_DISK_LIMIT, "disk", "bytes or files written", "the limit was reached" },
                { OUTCOME_OUTPUT_LIMIT, "output", "output written", "the limit was reached" },
        };

        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
                if (watch->step->outcome == limits[i].outcome)
                        result_add_violation(watch->result, limits[i].kind, limits[i].what,
                                             limits[i].why, 1);
        if (refusals > 0 || watch->step->outcome == OUTCOME_PROCESS_LIMIT)
                result_add_violation(watch->result, "processes", "start of a process or thread",
                                     "the limit was reached", refusals ? refusals : 1);
}

void verdict_decide(struct watch *watch)
{
        uint64_t refusals = watch->run->counted.fork_refusals + watch->refusals;
        struct result_step *step = watch->step;

        fill_usage(watch);
        if (watch->run->has_failed) { /* a part of ours died while it ran */
                step->outcome = OUTCOME_INTERNAL_ERROR;
                return;
        }
        fill_status(watch);
        /* The kernel refuses forks without a word to us: one that had all it may have met it. */
        if (watch->order->forks_are_silent && step->usage.processes_peak >= watch->order->processes)
                refusals = refusals ? refusals : 1;
        watch->disk_was_over = disk_is_over(watch);
        if (watch->verdict != OUTCOME_OK)
                step->outcome = watch->verdict;
        else if (watch->run->counted.memory_kills > 0)
                step->outcome = OUTCOME_MEMORY_LIMIT;
        else if (!watch->run->has_exited)
                step->outcome = OUTCOME_INTERNAL_ERROR;
        else if (watch->disk_was_over)
                step->outcome = OUTCOME_DISK_LIMIT; /* it was faster than we looked */
        else if (step->exit_code == 0)
                step->outcome = OUTCOME_OK;
        else
                step->outcome = blame(watch, refusals);
        add_violations(watch, refusals);
}
