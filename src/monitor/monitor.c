/* The loop; see monitor.h for what it watches. */
#include "monitor/watch.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/turn.h"
#include "kernel/notify.h"
#include "network/attempts.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t ns_per_ms = 1000000;

void watch_end(struct watch *watch, enum outcome verdict, bool gracefully)
{
        if (watch->killed || watch->run->has_exited)
                return;
        if (watch->verdict == OUTCOME_OK)
                watch->verdict = verdict;
        if (gracefully && watch->kill_ns == 0) {
                run_terminate(watch->run);
                watch->kill_ns = clock_now_ns() + MONITOR_GRACE_MS * ns_per_ms;
                return;
        }
        if (verdict != OUTCOME_MEMORY_LIMIT && verdict != OUTCOME_DISK_LIMIT)
                usage_note_io(watch); /* what it moved goes with it; to look takes a moment */
        run_kill(watch->run);
        cgroup_lift_cpus(&watch->run->group);
        watch->killed = true;
        watch->force_ns = clock_now_ns() + MONITOR_FORCE_MS * ns_per_ms;
}

/* Ends the run because the sandbox itself cannot go on. */
static void give_up(struct watch *watch, const char *why)
{
        if (!watch->killed && !watch->run->has_exited && watch->verdict == OUTCOME_OK)
                watch->step->broken_why = why;
        watch_end(watch, OUTCOME_INTERNAL_ERROR, false);
}

static void hear_refusal(void *context, const char *what, const char *why)
{
        const struct watch *watch = context;

        result_add_violation(watch->result, "network", what, why, 1);
}

/* There is no way to end its connections alone: nobody else holds them. */
static void hear_exceeded(void *context)
{
        watch_end(context, OUTCOME_SIGNALED, false);
}

/* The program is about to start: from now on it asks. */
static void begin_network(struct watch *watch)
{
        struct run *run = watch->run;
        struct agent_guest guest = {
                .listener = run->fork_fd,
                .resolver_fds = { run->resolver_fds[0], run->resolver_fds[1] },
                .uid = run->ready.skipped[STAGE_GUEST_NAMESPACE] ? 0 : run->ready.guest_uid,
                .denies_tcp = run->ready.landlock_abi >= 4 && !run->ready.skipped[STAGE_LANDLOCK],
                .refused = hear_refusal,
                .exceeded = hear_exceeded,
                .may_fork = watch->sums_processes ? sample_may_fork : NULL,
                .context = watch,
        };

        static_assert((int)NETWORK_RELAYS == (int)REPORT_RELAYS_MAX, "one number, two rooms");
        if (!watch->order->network)
                return;
        memcpy(guest.relay_fds, run->relay_fds, sizeof(guest.relay_fds));
        /* A program whose questions nobody hears would wait for ever. */
        if (agent_attach(watch->order->network, &guest) < 0)
                give_up(watch,
                        "the process that makes its connections did not take the program on");
        run_close_network(run);
}

static void hear_network(struct watch *watch)
{
        if (agent_hear(watch->order->network))
                return;
        /* It died: the program's calls would wait for ever. */
        watch->network_is_gone = true;
        give_up(watch, "the process that makes its connections ended");
}

static uint64_t usage_interval(const struct watch *watch)
{
        return (watch->order->interval_ms ? watch->order->interval_ms : MONITOR_SAMPLE_MS) *
               ns_per_ms;
}

/* When a report was sent, where that can be true: heard it may be much later on a busy machine. */
static uint64_t sent_at(const struct report *report, uint64_t earliest, uint64_t now)
{
        return report->at_ns >= earliest && report->at_ns <= now ? report->at_ns : now;
}

static void note_end(struct watch *watch, uint64_t now)
{
        if (run_is_over(watch->run) && watch->ended_ns == 0)
                watch->ended_ns = now;
}

/* Reports from the helper, until there is none or it is gone. */
static void hear_helper(struct watch *watch)
{
        struct run *run = watch->run;
        int r;

        while ((r = run_receive(run)) > 0) {
                uint64_t now = clock_now_ns();

                if (run->is_ready && watch->ready_ns == 0) {
                        now = sent_at(&run->ready, watch->order->started_ns, now);
                        watch->ready_ns = watch->turn_ns = now;
                        begin_network(watch);
                        disk_begin(watch);
                        sample_begin(watch);
                        watch->deadline_ns = now + watch->order->timeout_ms * ns_per_ms;
                        watch->sample_ns = now + MONITOR_SHORT_SAMPLE_MS * ns_per_ms;
                        watch->told_ns = now;
                        watch->usage_ns = now + usage_interval(watch);
                }
                if (run->used.is_new)
                        watch->sample_ns = watch->usage_ns = now; /* told as it comes */
                note_end(watch,
                         run->has_exited ? sent_at(&run->exited, watch->ready_ns, now) : now);
        }
        if (r < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        /* Gone, or not to be understood any more: then nothing else would ever be heard either. */
        if (r < 0)
                give_up(watch, "the helper cannot be understood");
        run->is_gone = true;
        note_end(watch, clock_now_ns());
}

/* What is due by now: limits of time, the end of the grace, samples. */
static void check_clock(struct watch *watch)
{
        uint64_t now = clock_now_ns();

        if (run_is_over(watch->run))
                return;
        /* Somebody may have stopped those who are to end it: its guest, where the kernel lets it,
         * and maybe once more. */
        if (watch->force_ns && now >= watch->force_ns) {
                run_force(watch->run);
                watch->force_ns = now + MONITOR_SAMPLE_MS * ns_per_ms;
                note_end(watch, now);
        }
        if (watch->ready_ns == 0) {
                watch->run->is_overdue = now >= watch->setup_end_ns;
                if (watch->run->is_overdue)
                        give_up(watch, "the program was not started in time: this machine may have "
                                       "too much to do");
                return;
        }
        if (watch->kill_ns && now >= watch->kill_ns)
                watch_end(watch, watch->verdict, false);
        else if (now >= watch->deadline_ns && watch->kill_ns == 0)
                /* No grace where turns are taken: a program that caught the signal would go on. */
                watch_end(watch, OUTCOME_TIMEOUT, watch->order->turn_fd < 0);
        if (now >= watch->sample_ns && !watch->run->has_exited)
                sample_take(watch, now);
}

/* A signal that came just before a wait is heard after it: no wait is long. */
static void ask_caller(struct watch *watch, bool was_interrupted)
{
        const struct monitor_listener *listener = &watch->order->listener;
        uint64_t now;

        if (!listener->wait)
                return;
        now = clock_now_ns();
        if (!was_interrupted && now < watch->wait_ns)
                return;
        listener->wait(listener->context);
        watch->wait_ns = now + MONITOR_WAIT_MS * ns_per_ms;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
        return b && (!a || b < a) ? b : a;
}

/* How long the poll may wait; NULL: until something happens. */
static const struct timespec *time_left(const struct watch *watch, struct timespec *buffer)
{
        uint64_t now = clock_now_ns(), due;

        /* What is left is its end, or who takes its output. */
        if (run_is_over(watch->run) || watch->killed)
                due = run_is_over(watch->run) ? 0 : watch->force_ns;
        else if (watch->ready_ns == 0)
                due = watch->setup_end_ns;
        else
                due = earliest(watch->kill_ns ? watch->kill_ns : watch->deadline_ns,
                               watch->sample_ns);
        due = earliest(due, watch->wait_ns);
        if (due == 0)
                return NULL;
        due = due > now ? due - now : 0;
        *buffer = (struct timespec){ .tv_sec = (time_t)(due / 1000000000),
                                     .tv_nsec = (long)(due % 1000000000) };
        return buffer;
}

enum slot {
        SLOT_SOCKET,
        SLOT_OUT,
        SLOT_ERR,
        SLOT_INPUT,
        SLOT_CANCEL,
        SLOT_TURN,
        SLOT_GROUP,
        SLOT_FORK,
        SLOT_NETWORK,
        SLOT_COUNT
};

static void fill_slots(const struct watch *watch, struct pollfd slots[SLOT_COUNT])
{
        const struct run *run = watch->run;
        bool input_waits = watch->order->stdin_fd >= 0 && watch->stdin_start == watch->stdin_end &&
                           !watch->stdin_done;

        for (int i = 0; i < SLOT_COUNT; i++)
                slots[i] = (struct pollfd){ .fd = -1 };
        if (!run->is_gone || run->socket >= 0)
                slots[SLOT_SOCKET] =
                        (struct pollfd){ .fd = run->is_gone ? -1 : run->socket, .events = POLLIN };
        for (int i = 1; i <= 2; i++) {
                bool blocked = watch->output_blocked[i];

                slots[SLOT_OUT + i - 1].fd =
                        blocked ? watch->order->output_fds[i] : run->streams[i];
                slots[SLOT_OUT + i - 1].events = blocked ? POLLOUT : POLLIN;
        }
        if (run->streams[0] >= 0 && watch->ready_ns) {
                slots[SLOT_INPUT].fd = input_waits ? watch->order->stdin_fd : run->streams[0];
                slots[SLOT_INPUT].events = input_waits ? POLLIN : POLLOUT;
        }
        /* Also of one that was ended: its output may wait for a reader. */
        if (!watch->cancelled)
                slots[SLOT_CANCEL] =
                        (struct pollfd){ .fd = watch->order->cancel_fd, .events = POLLIN };
        if (watch->ready_ns && !watch->killed)
                slots[SLOT_TURN] = (struct pollfd){ .fd = watch->order->turn_fd, .events = POLLIN };
        if (watch->order->network)
                slots[SLOT_NETWORK] =
                        (struct pollfd){ .fd = run_is_over(run) || watch->network_is_gone
                                                       ? -1
                                                       : agent_fd(watch->order->network),
                                         .events = POLLIN };
        else
                slots[SLOT_FORK] =
                        (struct pollfd){ .fd = run->is_gone ? -1 : run->fork_fd, .events = POLLIN };
        if (run->group.event_fd >= 0 && !watch->killed)
                slots[SLOT_GROUP] =
                        (struct pollfd){ .fd = run->group.event_fd,
                                         .events = run->group.version == CGROUP_V2 ? POLLPRI
                                                                                   : POLLIN };
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

/* The limits of time hold for each turn. What is computed between two turns counts for the one
 * before, so that a thread left behind cannot go on for ever. */
static void hear_turn(struct watch *watch)
{
        const struct monitor_order *order = watch->order;
        uint64_t now = clock_now_ns(), wanted_ms;

        if (read(order->turn_fd, &wanted_ms, sizeof(wanted_ms)) != sizeof(wanted_ms))
                return;
        if (wanted_ms == TURN_ENDS) {
                watch->deadline_ns = UINT64_MAX;
                return;
        }
        wanted_ms = wanted_ms ? smaller(wanted_ms, order->timeout_ms) : order->timeout_ms;
        sample_take(watch, now);
        watch->turn_ns = now;
        watch->turn_cpu_us = watch->cpu_us;
        watch->warned = 0;
        watch->deadline_ns = now + wanted_ms * ns_per_ms;
}

static void hear_group(struct watch *watch)
{
        uint64_t count;
        char text[512];

        /* Reading clears the event; version 2 also wakes for counters that do not concern us. */
        if (watch->run->group.version == CGROUP_V1)
                (void)fd_read_full(watch->run->group.event_fd, &count, sizeof(count));
        else if (pread(watch->run->group.event_fd, text, sizeof(text), 0) < 0)
                return;
        if (watch->run->group.version == CGROUP_V1 || cgroup_memory_kills(&watch->run->group) > 0)
                watch_end(watch, OUTCOME_MEMORY_LIMIT, false);
}

/* A call of the program's that waits: one more process, or something to reach where nothing can be
 * reached. False where nobody is left who could make one. */
static bool hear_call(struct watch *watch)
{
        const struct monitor_order *order = watch->order;
        int listener = watch->run->fork_fd;
        char what[ATTEMPT_MAX];
        struct notify_call call;
        int r = notify_receive(listener, &call);

        if (r <= 0)
                return r == 0;
        if (call.number == SYS_connect || call.number == SYS_sendto) {
                if (order->no_network &&
                    attempt_describe(listener, &call, order->has_loopback, what))
                        result_add_violation(watch->result, "network", what, order->no_network, 1);
        } else if (!sample_may_fork(watch)) {
                (void)notify_answer(listener, call.id, EAGAIN); /* or it was killed meanwhile */
                return true;
        }
        (void)notify_go_on(listener, call.id); /* likewise; its arguments are no secret */
        return true;
}

static void serve(struct watch *watch, const struct pollfd slots[SLOT_COUNT])
{
        if (slots[SLOT_SOCKET].revents)
                hear_helper(watch);
        for (int i = 1; i <= 2; i++)
                if (slots[SLOT_OUT + i - 1].revents)
                        streams_take_output(watch, i);
        /* Before its input: the turn has begun when the program hears of it. */
        if (slots[SLOT_TURN].revents & POLLIN)
                hear_turn(watch);
        if (slots[SLOT_INPUT].revents)
                streams_feed_input(watch);
        if (slots[SLOT_FORK].revents && !hear_call(watch))
                fd_close(fd_take(&watch->run->fork_fd));
        if (slots[SLOT_NETWORK].revents)
                hear_network(watch);
        if (slots[SLOT_GROUP].revents & (POLLPRI | POLLIN))
                hear_group(watch);
        if (slots[SLOT_CANCEL].revents & POLLIN) {
                watch->cancelled = true;
                watch_end(watch, OUTCOME_CANCELLED, false);
        }
}

/* Writing to a stream whose reader is gone raises SIGPIPE, which must not reach the caller. */
static bool hold_sigpipe(sigset_t *ret_before)
{
        sigset_t pipe, pending;

        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        (void)sigpending(&pending);
        (void)pthread_sigmask(SIG_BLOCK, &pipe, ret_before);
        return sigismember(&pending, SIGPIPE) == 1;
}

static void release_sigpipe(const sigset_t *before, bool was_pending)
{
        const struct timespec now = { 0 };
        sigset_t pipe;

        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        while (!was_pending && sigtimedwait(&pipe, NULL, &now) > 0)
                ;
        (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void loop(struct watch *watch)
{
        streams_begin(watch);
        while (!run_is_over(watch->run) || !streams_are_done(watch)) {
                struct pollfd slots[SLOT_COUNT];
                struct timespec buffer;
                int ready;

                if (run_is_over(watch->run))
                        streams_empty(watch);
                if (run_is_over(watch->run) && streams_are_done(watch))
                        break;
                fill_slots(watch, slots);
                ready = ppoll(slots, SLOT_COUNT, time_left(watch, &buffer), NULL);
                ask_caller(watch, ready < 0);
                if (ready > 0)
                        serve(watch, slots);
                check_clock(watch);
        }
}

int monitor_watch(struct run *run, const struct monitor_order *order, struct result_step *step,
                  struct result *result, struct error *err)
{
        struct watch watch = { .run = run, .order = order, .step = step, .result = result };
        sigset_t before;
        bool was_pending;

        if (order->stdin_fd >= 0) {
                watch.stdin_buffer = mem_alloc(MONITOR_STDIN_BYTES);
                if (!watch.stdin_buffer) {
                        run_kill(run);
                        return error_set_nomem(err);
                }
        }
        was_pending = hold_sigpipe(&before);
        watch.setup_end_ns = order->started_ns +
                             (order->setup_ms ? order->setup_ms : MONITOR_SETUP_MS) * ns_per_ms;
        if (order->listener.wait)
                watch.wait_ns = clock_now_ns() + MONITOR_WAIT_MS * ns_per_ms;
        watch.sums_memory = run->group.dir_fds[CGROUP_MEMORY] < 0 && !order->is_elsewhere;
        watch.sums_processes = run->group.dir_fds[CGROUP_PIDS] < 0 && !order->is_elsewhere;
        watch.stdin_done = order->stdin_fd < 0 && order->stdin_length == 0;
        loop(&watch);
        run->was_ended = watch.verdict != OUTCOME_OK;
        release_sigpipe(&before, was_pending);
        mem_free(watch.stdin_buffer);
        mem_free(watch.accounts);
        run->counted = cgroup_read(&run->group);
        if (run->exited.counted.is_known)
                run->counted = (struct cgroup_reading){
                        .memory_peak = run->exited.memory_peak,
                        .memory_kills = run->exited.counted.memory_kills,
                        .cpu_us = run->exited.counted.cpu_us,
                        .processes_peak = run->exited.counted.processes_peak,
                        .fork_refusals = run->exited.counted.fork_refusals
                };
        if (!run->is_ready && (run->has_failed || watch.verdict == OUTCOME_OK))
                step->outcome = OUTCOME_REFUSED; /* the caller turns the report into an error */
        else
                verdict_decide(&watch);
        if (run->is_ready)
                usage_look_back(&watch);
        if (watch.output_failed) {
                errno = watch.output_errno;
                (void)error_set_errno(err, "write the program's output");
                if (err)
                        err->code = SBX_EOUTPUT;
                return SBX_EOUTPUT;
        }
        /* Output that there was no memory for must not look as if it had not been written. */
        return step->out.kept.failed || step->err.kept.failed ? error_set_nomem(err) : 0;
}
