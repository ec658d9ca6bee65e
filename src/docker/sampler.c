#include "docker/run.h"
#include "base/clock.h"
#include "base/message.h"
#include "kernel/sys.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct sample {
        uint64_t cpu_us, memory, processes;
};

static uint64_t number_at(const json_t *json, const char *key)
{
        json_int_t number = json_integer_value(json_object_get(json, key));

        return number > 0 ? (uint64_t)number : 0;
}

/* Looks in a row without an answer after which there will be none, as without root on control
 * groups of version 1. Fewer are an engine that was busy with the container at that moment. */
#define MISSES_MAX 10

/* One look of the engine's, without waiting for a second one, where it does not wait by itself:
 * Docker looks once a second. */
static bool ask(struct daemon *daemon, const struct container *container, struct sample *ret_sample)
{
        json_t *json = NULL;
        char path[200];

        (void)snprintf(path, sizeof(path), "/containers/%s/stats?stream=false&one-shot=true",
                       container->id);
        if (daemon_call(daemon, "GET", path, NULL, &json, NULL, NULL) < 0)
                return false;
        *ret_sample = (struct sample){
                number_at(json_object_get(json_object_get(json, "cpu_stats"), "cpu_usage"),
                          "total_usage") /
                        1000,
                number_at(json_object_get(json, "memory_stats"), "usage"),
                number_at(json_object_get(json, "pids_stats"), "current"),
        };
        json_decref(json);
        return ret_sample->cpu_us > 0;
}

/* The first process of the container is none of the program's. */
static bool tell(const struct docker_run *run, const struct sample *sample)
{
        struct report report = { .magic = REPORT_MAGIC,
                                 .kind = REPORT_USAGE,
                                 .at_ns = clock_now_ns(),
                                 .memory_peak = sample->memory };

        report.counted.is_known = 1;
        report.counted.processes_peak = sample->processes ? sample->processes - 1 : 0;
        report.counted.cpu_us = sample->cpu_us;
        return message_send(run->socket, &report, sizeof(report), NULL, 0) >= 0;
}

/* Of what is open it keeps the way to the supervisor alone: the program's pipes and the attached
 * connection must end with the run. */
static _Noreturn void sample_on(struct docker_run *run, pid_t parent)
{
        struct daemon daemon;
        struct sample sample;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != parent)
                _exit(0);
        if (run->socket > HELPER_SOCKET)
                (void)sys_close_range(HELPER_SOCKET, (unsigned)run->socket - 1);
        (void)sys_close_range((unsigned)run->socket + 1, ~0u);
        if (daemon_open(&daemon, run->order.host, run->order.cert_path, run->order.verify,
                        run->order.timeout_ms, NULL) < 0)
                _exit(0);
        daemon.api = run->daemon.api;
        daemon.is_podman = run->daemon.is_podman;
        for (int misses = 0; misses < MISSES_MAX; misses++) {
                if (ask(&daemon, &run->container, &sample)) {
                        if (!tell(run, &sample))
                                break;
                        misses = -1;
                }
                (void)poll(NULL, 0, (int)run->order.usage_ms);
        }
        _exit(0);
}

void sampler_begin(struct docker_run *run)
{
        pid_t own = getpid();

        run->sample_ms = 0;
        run->sampler = fork();
        if (run->sampler == 0)
                sample_on(run, own);
}

void sampler_end(struct docker_run *run)
{
        if (run->sampler <= 0)
                return;
        (void)kill(run->sampler, SIGKILL);
        while (waitpid(run->sampler, NULL, 0) < 0 && errno == EINTR)
                ;
        run->sampler = 0;
}
