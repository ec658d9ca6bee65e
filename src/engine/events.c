/*
 * Events: what happens in a run, told to the caller's handlers as it happens. One hears everything,
 * the other all but the program's output, so that output can be passed on without being read.
 */
#include "engine/passage.h"
#include "base/clock.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct engine_event make_event(const struct passage *passage, const char *kind)
{
        struct engine_event event = {
                .kind = kind,
                .id = passage->result->id,
                .time = (double)(clock_now_ns() - passage->started_ns) / 1e9,
        };

        return event;
}

static void hand_out(const struct passage *passage, const struct engine_event *event)
{
        const struct engine_order *order = passage->order;

        if (order->event)
                order->event(order->context, event);
        if (order->log)
                order->log(order->log_context, event);
}

void passage_tell(const struct passage *passage, const char *kind, const char *text)
{
        struct engine_event event = make_event(passage, kind);

        event.text = text;
        event.result = passage->result;
        hand_out(passage, &event);
}

/* ---- while it runs ---- */

static void hear_output(void *context, int stream, const void *data, size_t length)
{
        const struct passage *passage = context;
        struct engine_event event = make_event(passage, stream == 1 ? "stdout" : "stderr");

        event.data = data;
        event.length = length;
        passage->order->event(passage->order->context, &event);
}

static void describe_running(struct passage *passage, struct running_page *page)
{
        const struct limits *limits = &passage->policy.limits;
        const struct result *result = passage->result;

        (void)snprintf(page->id, sizeof(page->id), "%s", result->id);
        (void)snprintf(page->started_at, sizeof(page->started_at), "%s", result->started_at);
        (void)snprintf(page->language, sizeof(page->language), "%s", result->language);
        (void)snprintf(page->backend, sizeof(page->backend), "%s",
                       result->backend ? result->backend : "");
        (void)snprintf(page->name, sizeof(page->name), "%s", result->name ? result->name : "");
        page->pid = getpid();
        page->started_ns = passage->started_ns;
        page->memory_limit = limits->memory_bytes;
        page->timeout_ms = limits->timeout_ms;
        page->cpu_limit_ms = limits->cpu_time_ms;
        page->processes_limit = limits->processes;
        page->disk_limit = limits->disk_bytes;
}

/* Writes the entry among the running ones; false where somebody asks the run to end. */
static bool update_running(struct passage *passage, const struct monitor_usage *usage)
{
        struct running_page *page = &passage->running.page;
        bool cancel;

        if (!passage->is_recorded)
                return true;
        if (!passage->running.tried)
                describe_running(passage, page);
        page->sampled_ns = clock_now_ns();
        page->usage = (struct running_usage){
                .memory = usage->memory,
                .memory_peak = usage->memory_peak,
                .cpu_us = usage->cpu_us,
                .cpu_milli = usage->cpu_milli,
                .disk = usage->disk,
                .io_read = usage->io_read,
                .io_write = usage->io_write,
                .network_in = usage->network_in,
                .network_out = usage->network_out,
                .processes = usage->processes,
        };
        cancel = running_update(&passage->history, &passage->running);
        passage->wants_details = passage->order->event || passage->order->usage ||
                                 running_is_watched(&passage->running);
        return !cancel;
}

static bool hear_usage(void *context, const struct monitor_usage *usage)
{
        struct passage *passage = context;
        struct engine_event event = make_event(passage, "usage");
        struct engine_usage shown = {
                usage->memory,      usage->memory_peak, usage->cpu_us,   usage->cpu_milli,
                usage->disk,        usage->io_read,     usage->io_write, usage->network_in,
                usage->network_out, usage->processes,
        };
        bool is_program = strcmp(passage->running.page.phase, "run") == 0;

        event.usage = &shown;
        if (is_program && passage->order->event)
                passage->order->event(passage->order->context, &event);
        if (is_program && passage->order->usage)
                passage->order->usage(passage->order->log_context, &shown);
        return update_running(passage, usage);
}

static void hear_wait(void *context)
{
        const struct engine_order *order = ((const struct passage *)context)->order;

        order->wait(order->log_context);
}

static void hear_warning(void *context, const struct monitor_warning *warning)
{
        struct passage *passage = context;
        struct engine_event event = make_event(passage, "limit.warning");

        event.text = monitor_limit_name(warning->limit);
        event.used = warning->used;
        event.allowed = warning->allowed;
        hand_out(passage, &event);
}

bool passage_tells_usage(const struct passage *passage)
{
        return passage->is_recorded || passage->order->event || passage->order->usage;
}

void passage_listen(struct passage *passage, const struct step_order *order,
                    struct monitor_order *watch)
{
        const struct policy_values *policy = &passage->policy;
        bool running = order->step == PLAN_STEP_RUN;

        (void)snprintf(passage->running.page.phase, sizeof(passage->running.page.phase), "%s",
                       running ? "run" : "compile");
        watch->listener.context = passage;
        watch->listener.wait = passage->order->wait ? hear_wait : NULL;
        watch->interval_ms = policy->interval_ms;
        watch->owns_network = policy->network_mode != NETWORK_HOST;
        watch->wants_details = &passage->wants_details;
        if (passage_tells_usage(passage))
                watch->listener.usage = hear_usage;
        if (!running)
                return;
        passage->wants_details = passage->order->event || passage->order->usage;
        if (passage->order->event)
                watch->listener.output = hear_output;
        if (passage->order->event || passage->order->log)
                watch->listener.warn = hear_warning;
        watch->warn_at[MONITOR_TIMEOUT] = policy->warn_timeout;
        watch->warn_at[MONITOR_CPU_TIME] = policy->warn_cpu_time;
        watch->warn_at[MONITOR_MEMORY] = policy->warn_memory;
        watch->warn_at[MONITOR_PROCESSES] = policy->warn_processes;
        watch->warn_at[MONITOR_DISK] = policy->warn_disk;
}

/* ---- at the end ---- */

/* A violation that is a limit says so as well, by the limit's name. */
static bool is_limit(const char *kind)
{
        static const char *const limits[] = { "timeout", "cpu_time", "memory",
                                              "disk",    "output",   "processes" };

        for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
                if (strcmp(kind, limits[i]) == 0)
                        return true;
        return false;
}

static void tell_violations(const struct passage *passage)
{
        for (size_t i = 0; i < passage->result->violation_count; i++) {
                const struct result_violation *violation = &passage->result->violations[i];
                char text[256];

                (void)snprintf(text, sizeof(text), "%s: %s: %s", violation->kind, violation->what,
                               violation->why);
                passage_tell(passage, "security.violation", text);
                if (is_limit(violation->kind))
                        passage_tell(passage, "limit.exceeded", violation->kind);
        }
}

/* Protections that were asked for, were not in force, and the caller did not mind. */
static void tell_bypassed(const struct passage *passage)
{
        for (unsigned id = 0; id < PROTECTION_COUNT; id++)
                if (passage->result->protections[id].state == STATE_MISSING)
                        passage_tell(passage, "security.bypass",
                                     protection_name((enum protection)id));
}

void passage_tell_end(const struct passage *passage)
{
        if (!passage->order->event && !passage->order->log)
                return;
        tell_violations(passage);
        tell_bypassed(passage);
        if (passage->result->run.outcome == OUTCOME_BLOCKED)
                passage_tell(passage, "security.blocked", passage->result->message);
        passage_tell(passage, "execution.complete", passage->result->language);
}
