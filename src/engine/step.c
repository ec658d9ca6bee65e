/*
 * One contained step, the compiler's or the program's: plan it, start it on a backend, watch it,
 * say what held it. The stages of the pipeline that use it are in steps.c.
 */
#include "engine/attempt.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/str.h"
#include "base/tree.h"
#include "kernel/sys.h"
#include "monitor/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Where the monitor is asked first, refuses and remembers it, the kernel's own limit is the wall
 * behind; where the kernel counts alone, it is the limit. */
enum {
        NPROC_SLACK = 4,
        NEST_SETUP_MS = 5000, /* a nest that takes longer is broken: the run goes without */
        NPROC_FEW = 8, /* up to here we are asked: that all are there does not mean a refusal */
};

/* From Linux 5.14 RLIMIT_NPROC counts within the guest's own user namespace; before, an ordinary
 * user's whole session would be counted. There is no way to ask but the version. */
static bool counts_by_namespace(void)
{
        struct utsname name;
        unsigned major = 0, minor = 0;

        return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
               (major > 5 || (major == 5 && minor >= 14));
}

/* A local run as root writes into a workspace as its owner: there is no mount to translate for it.
 */
static int take_owner(const struct passage *passage, struct plan *plan, struct error *err)
{
        AUTO_CLOSE int place = -1;
        struct stat st;
        int r;

        if (plan->kind != PLAN_LOCAL || !passage->workspace || plan->uid_span == 0)
                return 0;
        place = sys_openat2(AT_FDCWD, passage->workspace, O_PATH, SYS_RESOLVE_NO_SYMLINKS);
        if (place < 0 || fstat(place, &st) < 0)
                return error_set_errno(err, "workspace '%s'", passage->workspace);
        if (st.st_uid == 0) {
                r = error_set(err, SBX_EREFUSED,
                              "the local backend does not write into a workspace of root's");
                error_hint(err,
                           "use the container backend, or give the directory to an ordinary user");
                return r;
        }
        plan->owner_uid = st.st_uid;
        return 0;
}

/* Where a control group counts processes it also counts refusals, and must be the first. Without
 * one, the kernel counts within the guest's own user namespace, or we are asked. */
static void plan_processes(const struct passage *passage, const struct limits *limits,
                           struct plan *plan)
{
        bool by_namespace = plan->kind == PLAN_CONTAINER && plan->user_namespace &&
                            limits->processes > NPROC_FEW && counts_by_namespace();

        if (passage->engine->site.parent_fds[CGROUP_PIDS] >= 0)
                return;
        plan->ask_forks = by_namespace ? PLAN_ASK_THREADS : PLAN_ASK_ALL;
        if (by_namespace)
                plan->processes = limits->processes;
        else if (passage->engine->identity.uid_span > 0 ||
                 (plan->kind == PLAN_CONTAINER && counts_by_namespace()))
                plan->processes = limits->processes + NPROC_SLACK;
}

static int complete_plan(const struct passage *passage, const struct limits *limits,
                         struct plan *plan, struct error *err)
{
        const struct engine_identity *identity = &passage->engine->identity;
        bool container = plan->kind == PLAN_CONTAINER;

        plan->user_namespace = container && identity->user_namespace;
        plan->uid_base = identity->uid_base;
        plan->uid_span = identity->uid_span;
        plan->host_uid = identity->host_uid;
        plan->pin_cpus = limits_pinned_cpus(passage, limits);
        plan_processes(passage, limits, plan);
        plan->memory_bytes = limits->memory_bytes;
        plan->sums_memory = passage->engine->site.parent_fds[CGROUP_MEMORY] < 0;
        if (passage->order->request->turn_fd >= 0)
                plan->cpu_seconds = UINT32_MAX; /* the monitor counts each turn */
        return take_owner(passage, plan, err);
}

/* What all processes may have: a worker of ours needs some beside its guest's. */
static uint64_t group_memory(const struct passage *passage, const struct limits *limits)
{
        return wasm_is_used(passage) ? limits->memory_bytes + WASM_OVERHEAD : limits->memory_bytes;
}

/* Why nothing can be reached; NULL where somebody makes connections. */
static const char *closed_network(const struct plan *plan)
{
        if (plan->kind != PLAN_CONTAINER || plan->listener_port)
                return NULL;
        if (plan->network == PLAN_NETWORK_LOCALHOST)
                return "network is localhost";
        return plan->network == PLAN_NETWORK_NONE ? "network is none" : NULL;
}

static void order_monitor(struct passage *passage, const struct step_order *order,
                          const struct plan *plan, struct monitor_order *watch)
{
        const struct request *request = passage->order->request;
        const struct limits *limits = order->limits;
        bool running = order->step == PLAN_STEP_RUN;

        *watch = (struct monitor_order){
                .timeout_ms = limits->timeout_ms,
                .cpu_time_ms = limits->cpu_time_ms,
                .memory_bytes = group_memory(passage, limits),
                .processes = limits->processes,
                .disk_bytes = limits->disk_bytes,
                .output_caps = { 0, limits->stdout_bytes, limits->stderr_bytes },
                .output_kill = running && request->output_kill,
                .keep_output = true,
                .keep_passed = running ? record_keeps_passed(passage) : 0,
                .output_fds = { -1, running ? request->output_fds[1] : -1,
                                running ? request->output_fds[2] : -1 },
                .stdin_data = running ? request->stdin_data : NULL,
                .stdin_length = running ? request->stdin_length : 0,
                .stdin_fd = running ? request->stdin_fd : -1,
                .cancel_fd = passage->order->cancel_fd,
                .turn_fd = running ? request->turn_fd : -1,
                .counted_fds = passage->counted_fds,
                .counted_count = running && passage->disk_is_known ? passage->counted_count : 0,
                .counted_before = passage->counted_before,
                .counts_workspace =
                        passage->backend->kind == PLAN_LOCAL && (!running || !passage->workspace),
                .started_ns = clock_now_ns(),
                .is_elsewhere = docker_is_used(passage),
                .forks_are_silent = plan->ask_forks == PLAN_ASK_THREADS,
                .no_network = closed_network(plan),
                .has_loopback = plan->network == PLAN_NETWORK_LOCALHOST,
        };
        if (watch->turn_fd >= 0) {
                /* The caller, who hears everything, tells the turns apart and cuts them. */
                watch->output_caps[1] = watch->output_caps[2] = UINT64_MAX;
                watch->keep_output = false;
        }
        memory_end_listen(passage, order, watch);
        passage_listen(passage, order, watch);
        monitor_begin(watch, passage->engine->site.parent_fds[CGROUP_MEMORY] < 0);
}

/* What the monitor could not call the program's doing. */
static int explain(const struct passage *passage, const struct run *run,
                   const struct result_step *outcome, struct error *err)
{
        int r = backend_child_failure(run, err);

        if (r < 0)
                return r;
        if (run->has_failed && docker_is_used(passage))
                return docker_failure(run, err);
        if (run->has_failed && !run->is_ready)
                return backend_failure(&run->failed, !passage->engine->identity.user_namespace,
                                       err);
        if (outcome->outcome == OUTCOME_REFUSED)
                return error_set(err, SBX_ESYSTEM, "the helper ended before the program started");
        if (outcome->outcome != OUTCOME_INTERNAL_ERROR)
                return 0;
        r = error_set(err, SBX_ESYSTEM, "%s",
                      outcome->broken_why ? outcome->broken_why
                                          : "the sandbox was ended from outside");
        if (!str_equal(passage->result->warm, "none"))
                error_hint(err,
                           "its keeper, or what that had lent it, has ended; run it again: the "
                           "next run starts without");
        return r;
}

static unsigned next_number(struct engine *engine, bool *ret_sweep)
{
        unsigned number;

        (void)pthread_mutex_lock(&engine->lock);
        number = engine->next_number++;
        *ret_sweep = !engine->swept;
        engine->swept = true;
        (void)pthread_mutex_unlock(&engine->lock);
        return number;
}

/* The helper that was started before the run, if it fits this plan. */
static struct helper *take_early(struct engine *engine, const struct plan *plan)
{
        struct helper *early;

        (void)pthread_mutex_lock(&engine->lock);
        early = engine->early;
        engine->early = NULL;
        (void)pthread_mutex_unlock(&engine->lock);
        if (!early || engine->identity.user_namespace || backend_makes_network(plan))
                return early;
        helper_dismiss(early); /* it made a network namespace, and none is wanted */
        mem_free(early);
        return NULL;
}

static int start_cold(struct passage *passage, struct attempt *attempt, struct plan *plan,
                      struct error *err)
{
        struct engine *engine = passage->engine;
        bool sweep;
        int r;

        plan->adopts = plan->join_count = 0;
        passage->result->warm = "none";
        attempt->host.number = next_number(engine, &sweep);
        attempt->host.early = docker_is_used(passage) ? NULL : take_early(engine, plan);
        r = backend_start(passage->backend, &attempt->host, plan, &attempt->input, &attempt->run,
                          err);
        attempt->is_open = r == 0;
        if (sweep && cgroup_sweep(&engine->site) > 0) /* while the helper works */
                passage_tell(passage, "cleanup.leftover",
                             "control groups of a supervisor that was killed were removed");
        return r;
}

static int tell(struct passage *passage, const struct step_order *order, const struct plan *plan,
                struct run *run, struct error *err)
{
        int r;

        if (docker_is_used(passage))
                docker_settle(run);
        if (run->is_ready) {
                passage->backend->describe(run, plan, passage->result);
                if (docker_is_used(passage))
                        docker_tell_version(run, passage->result);
                else
                        limits_describe(passage, run, order->limits);
        }
        memory_end_settle(passage, order);
        r = explain(passage, run, order->outcome, err);
        if (r == 0 && wasm_is_used(passage) && run->is_ready)
                r = wasm_settle(passage, err);
        if (r == 0 && run->workspace_fd >= 0)
                r = order->collect(passage, run->workspace_fd, err);
        return r;
}

/* Output that nobody takes is the caller's error; what else there is to tell is told. */
static int tell_watched(struct passage *passage, const struct step_order *order,
                        const struct plan *plan, struct run *run, int r, struct error *err)
{
        struct error other = { 0 };

        if (r == SBX_EOUTPUT)
                (void)tell(passage, order, plan, run, &other);
        return r < 0 ? r : tell(passage, order, plan, run, err);
}

/* Of a program that was never executed: a part of ours refused, died, or does not answer. */
static bool is_our_failure(enum outcome outcome)
{
        return outcome == OUTCOME_REFUSED || outcome == OUTCOME_INTERNAL_ERROR;
}

/* Starts the step and watches it to its end; what it started is the caller's to end. */
static int start_and_watch(struct passage *passage, const struct step_order *order,
                           struct plan_draft *draft, struct attempt *attempt, struct error *err)
{
        struct plan *plan = &draft->plan;
        struct monitor_order watch;
        int r;

        order_monitor(passage, order, plan, &watch); /* the clock of the step starts here */
        watch.setup_ms = docker_is_used(passage) ? docker_setup_ms() : NEST_SETUP_MS;
        if (attempt_in_nest(passage, attempt, draft, err)) {
                r = monitor_watch(&attempt->run, &watch, order->outcome, passage->result, err);
                if (attempt->run.is_ready || !is_our_failure(order->outcome->outcome))
                        return tell_watched(passage, order, plan, &attempt->run, r, err);
                /* A nest that does not do its part is thrown away, and the run goes without one. */
                attempt_end(passage, attempt);
                order_monitor(passage, order, plan, &watch);
        }
        watch.setup_ms = docker_is_used(passage) ? docker_setup_ms() : 0;
        r = step_open_network(passage, plan, &watch.network, err);
        if (r == 0)
                r = start_cold(passage, attempt, plan, err);
        if (r == 0)
                r = monitor_watch(&attempt->run, &watch, order->outcome, passage->result, err);
        agent_free(watch.network);
        return tell_watched(passage, order, plan, &attempt->run, r, err);
}

/* Who starts the step. */
static struct backend_host host_of(const struct passage *passage)
{
        if (docker_is_used(passage))
                return docker_host(passage->docker.helper);
        return (struct backend_host){ .init_path = passage->engine->init_path,
                                      .site = &passage->engine->site };
}

/* A program's sandbox is taken down while its record is written; go() waits for that. What a local
 * run leaves on the host is looked at once it is gone. */
static int try_step(struct passage *passage, const struct step_order *order,
                    const struct step_files *files, struct plan_draft *draft, struct error *err)
{
        const struct request *request = passage->order->request;
        const struct limits *limits = order->limits;
        struct attempt *attempt = mem_alloc(sizeof(*attempt));
        int r;

        if (!attempt)
                return error_set_nomem(err);
        attempt->host = host_of(passage);
        attempt->input.group_limits =
                (struct cgroup_limits){ group_memory(passage, limits), limits->processes,
                                        limits->cpus_milli };
        attempt->input.empty_stdin =
                order->build || (request->stdin_fd < 0 && request->stdin_length == 0);
        for (int i = 0; i < files->count; i++)
                attempt->input.file_fds[attempt->input.file_fd_count++] = files->fds[i];
        r = start_and_watch(passage, order, draft, attempt, err);
        if (r == 0 && order->step == PLAN_STEP_RUN && draft->plan.kind != PLAN_LOCAL) {
                attempt_let_go(attempt);
                passage->ending = attempt;
        } else {
                attempt_end(passage, attempt);
                mem_free(attempt);
        }
        return r;
}

void step_end(struct passage *passage)
{
        if (!passage->ending)
                return;
        attempt_settle(passage, passage->ending);
        mem_free(TAKE(passage->ending));
}

int step_run(struct passage *passage, const struct step_order *order, struct error *err)
{
        char scratch[4096] = "";
        struct step_files files = { 0 };
        struct plan_input input;
        struct plan_draft draft;
        int r = docker_is_used(passage) ? 0 : limits_check(passage, order->limits, err);

        if (r == 0 && passage->backend == &backend_local && passage->code->deps)
                r = error_set(err, SBX_EREFUSED, "dependencies are for the container alone");
        step_describe(passage, order, scratch, &input, &files);
        if (r == 0)
                r = inputs_check(&input, err);
        if (r == 0 && input.kind == PLAN_LOCAL)
                r = folder_name_temporary(scratch, sizeof(scratch), err);
        if (r < 0)
                return r;
        if (wasm_is_used(passage))
                r = wasm_describe(passage, &input, &files, err);
        if (docker_is_used(passage))
                r = docker_describe(passage, order, &input, err);
        if (r == 0)
                r = plan_build(&input, &draft, err);
        if (r < 0)
                return r;
        passage->result->backend = passage->backend->name;
        passage->result->fuel.is_used = wasm_is_used(passage);
        r = complete_plan(passage, order->limits, &draft.plan, err);
        if (r == 0)
                r = try_step(passage, order, &files, &draft, err);
        plan_draft_done(&draft);
        if (scratch[0])
                (void)tree_remove(scratch); /* gone already, unless the helper was killed */
        return r;
}
