#include "docker/run.h"
#include "docker/pack.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/protection.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define PROFILE_NAME "sandbox-seccomp.json"

enum {
        END_MS = 3000, /* what is told to end has so long; then the container is killed */
        QUIET_MS = 20, /* bytes that may be how the record begins wait so long for the rest */
};

/* ---- whether to go on ---- */

/* Who keeps this process, and whose run it is: without either there is nobody to run for. */
static void look_at_supervisor(struct docker_run *run)
{
        struct pollfd sockets[] = { { .fd = HELPER_SOCKET, .events = POLLRDHUP },
                                    { .fd = run->socket, .events = POLLRDHUP } };

        if (poll(sockets, 2, 0) > 0)
                run->is_orphan = run->is_told = true;
}

/* Asked while a call to the daemon is under way. */
static bool is_over(void *context)
{
        struct docker_run *run = context;
        struct signalfd_siginfo info;

        look_at_supervisor(run);
        if (read(run->signal_fd, &info, sizeof(info)) == sizeof(info))
                run->is_told = true;
        return run->is_told;
}

/* ---- before the program ---- */

/* Podman wants the filter as a file of its machine: the one that lies beside what it starts. */
static int find_profile(struct docker_run *run, struct error *err)
{
        struct daemon *daemon = &run->daemon;
        const char *inside = run->order.inside, *slash = strrchr(inside, '/');
        AUTO_STRBUF struct strbuf path = { 0 };

        if (!daemon->is_podman || !daemon->socket)
                return 0;
        strbuf_add(&path, inside, slash ? (size_t)(slash - inside) + 1 : 0);
        strbuf_adds(&path, PROFILE_NAME);
        daemon->profile_path = strbuf_take(&path);
        if (!daemon->profile_path)
                return error_set_nomem(err);
        if (access(daemon->profile_path, R_OK) < 0)
                return error_set_errno(err, "read '%.400s'", daemon->profile_path);
        return 0;
}

static int attach(struct docker_run *run, struct error *err)
{
        AUTO_STRBUF struct strbuf first = { 0 };
        char path[200];
        int r;

        (void)snprintf(path, sizeof(path),
                       "/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1",
                       run->container.id);
        r = daemon_attach(&run->daemon, path, &run->streams.curl, &run->streams.fd, &first, err);
        if (r == 0 && first.length > 0)
                streams_feed(&run->streams, first.data, first.length);
        return r;
}

static int make_and_start(struct docker_run *run, struct error *err)
{
        int r = container_make(&run->daemon, &run->order, &run->plan, &run->container, err);

        if (r == 0)
                r = attach(run, err);
        if (r == 0)
                r = container_start(&run->daemon, &run->container, err);
        return r;
}

/* The first run with an engine finds nothing of ours in it. */
static int bring_up(struct docker_run *run, struct error *err)
{
        int r = make_and_start(run, err);

        if (r == 0 || !run->container.id[0] || !strstr(err->message, INSIDE_PLACE))
                return r;
        curl_easy_cleanup(run->streams.curl);
        run->streams.curl = NULL;
        run->streams.fd = -1;
        (void)container_remove(&run->daemon, &run->container, NULL);
        *err = (struct error){ 0 };
        r = tools_fill(&run->daemon, &run->order, err);
        return r == 0 ? make_and_start(run, err) : r;
}

static int put(struct docker_run *run, const char *place, struct error *err)
{
        AUTO_CLOSE int archive = -1;
        int r = pack_files(&run->plan, place, run->file_fds, run->file_count, CONTAINER_USER,
                           &archive, err);

        return r == 0 && archive >= 0
                       ? container_put(&run->daemon, &run->container, place, archive, err)
                       : r;
}

/* What an engine limits by a control group. */
static const uint64_t by_group =
        PROTECTION_BIT(MEMORY) | PROTECTION_BIT(PROCESSES) | PROTECTION_BIT(CPUS);

static int check(struct docker_run *run, struct error *err)
{
        uint64_t lacking;
        AUTO_STRBUF struct strbuf names = { 0 };
        int r = inspect_container(&run->daemon, &run->container, &run->order, &run->plan,
                                  &run->report, err);

        /* Of a terminal, and of descriptors, the engine gives none. */
        run->report.seen |= PROTECTION_BIT(DESCRIPTORS);
        run->report.guest_uid = CONTAINER_USER;
        lacking = run->plan.required & ~run->report.seen;
        if (r < 0 || !run->order.is_strict || !lacking)
                return r;
        for (int id = 0; id < PROTECTION_COUNT; id++)
                if (lacking & UINT64_C(1) << id)
                        strbuf_addf(&names, "%s%s", names.length ? ", " : "",
                                    protection_name((enum protection)id));
        r = error_set(err, SBX_EREFUSED, "the engine does not give what the policy asks for: %s",
                      names.data ? names.data : "");
        error_hint(err, "%s",
                   lacking & by_group && run->report.seen & PROTECTION_BIT(USER_NAMESPACE)
                           ? "an engine without root limits by control groups of version 2 alone; "
                             "use one of root's, '--backend container', or accept less with "
                             "'--enforcement best-effort'"
                           : "accept less with '--enforcement best-effort', or use the container "
                             "backend");
        return r;
}

static void add_list(struct strbuf *words, const json_t *list, uint32_t *count)
{
        size_t i;
        json_t *item;

        json_array_foreach(list, i, item)
        {
                const char *text = json_string_value(item);

                strbuf_add(words, text ? text : "", strlen(text ? text : "") + 1);
                ++*count;
        }
}

static int send_order(struct docker_run *run, struct error *err)
{
        /* An engine that limits something does it by a group that it made. */
        struct inside_order order = { .magic = INSIDE_MAGIC,
                                      .cpu_us = run->order.cpu_us,
                                      .is_alone = run->plan.network == PLAN_NETWORK_NONE ||
                                                  run->plan.network == PLAN_NETWORK_LOCALHOST,
                                      .has_group = (run->report.seen & by_group) != 0 };
        AUTO_STRBUF struct strbuf words = { 0 };

        strbuf_add(&words, run->plan.directory, strlen(run->plan.directory) + 1);
        add_list(&words, run->order.tools, &order.tools);
        add_list(&words, run->order.runtimes, &order.runtimes);
        for (uint32_t i = 0; i < run->plan.argument_count; i++, order.arguments++)
                strbuf_add(&words, run->plan.arguments[i], strlen(run->plan.arguments[i]) + 1);
        for (uint32_t i = 0; i < run->plan.environment_count; i++, order.variables++)
                strbuf_add(&words, run->plan.environment[i], strlen(run->plan.environment[i]) + 1);
        if (words.failed)
                return error_set_nomem(err);
        if (words.length > INSIDE_WORDS_MAX)
                return error_set(err, SBX_ETOOBIG, "arguments and environment are too long");
        order.length = (uint32_t)words.length;
        memcpy(order.secret, run->secret, INSIDE_SECRET);
        memcpy(order.seal, run->seal, INSIDE_SECRET);
        streams_send(&run->streams, &order, sizeof(order));
        streams_send(&run->streams, words.data, words.length);
        return 0;
}

/* The container, up to where it waits for a program. */
static int prepare(struct docker_run *run, struct error *err)
{
        int r = daemon_open(&run->daemon, run->order.host, run->order.cert_path, run->order.verify,
                            run->order.timeout_ms, err);

        run->daemon.is_over = is_over;
        run->daemon.context = run;
        if (r == 0)
                r = daemon_greet(&run->daemon, err);
        if (r == 0)
                r = find_profile(run, err);
        if (r < 0)
                return r;
        daemon_ask_users(&run->daemon);
        r = bring_up(run, err);
        /* Not before: it would have the engine do two things at once while somebody waits. */
        run->sweeper = sweep_beside(&run->daemon, &run->order);
        return r;
}

/* What is the run's own, once it is sure what holds it. */
static int hand_over(struct docker_run *run, struct error *err)
{
        int r = check(run, err);

        if (r == 0)
                r = put(run, "/code", err);
        if (r == 0)
                r = put(run, "/workspace", err);
        return r == 0 ? send_order(run, err) : r;
}

/* ---- while it runs ---- */

static void end_program(struct docker_run *run, const char *signal)
{
        run->daemon.is_over = NULL; /* from here on every call is one that clears up */
        (void)container_signal(&run->daemon, &run->container, signal, NULL); /* or it has ended */
}

static void hear_signal(struct docker_run *run)
{
        struct signalfd_siginfo info;

        if (read(run->signal_fd, &info, sizeof(info)) != sizeof(info))
                return;
        if (info.ssi_signo == SIGTERM)
                end_program(run, "SIGTERM");
        else
                run->is_told = true;
}

/* Milliseconds until there is something to do that nobody wakes us for; -1: nothing. */
static int patience(const struct docker_run *run, uint64_t deadline, uint64_t now)
{
        uint64_t next = deadline && (!run->sample_ms || deadline < run->sample_ms) ? deadline
                                                                                   : run->sample_ms;

        if (run->hesitation && (!next || next > run->hesitates_ms + QUIET_MS))
                next = run->hesitates_ms + QUIET_MS;
        return !next ? -1 : next > now ? (int)(next - now + 1) : 0;
}

/* Lets bytes go that have waited long enough for what would make them the record. */
static void stop_hesitating(struct docker_run *run, uint64_t now)
{
        uint64_t hesitation = streams_hesitate(&run->streams);

        if (hesitation != run->hesitation)
                run->hesitates_ms = now;
        run->hesitation = hesitation;
        if (!hesitation || now - run->hesitates_ms < QUIET_MS)
                return;
        streams_release(&run->streams);
        run->hesitation = 0;
}

/* Until the record is there: 0; -1 where it will not come. */
static int pump(struct docker_run *run, struct inside_end *ret_end)
{
        uint64_t deadline = 0;

        while (!demux_end(&run->streams.demux, ret_end) || !streams_are_empty(&run->streams)) {
                struct pollfd slots[STREAMS_SLOTS + 3];
                uint64_t now = clock_now_ns() / 1000000;

                if (run->is_told && !deadline) {
                        end_program(run, "SIGINT");
                        deadline = clock_now_ns() / 1000000 + END_MS;
                        run->streams.drops = true;
                        streams_serve(&run->streams, (struct pollfd[STREAMS_SLOTS]){ 0 });
                }
                if (run->is_orphan || run->streams.is_broken || (deadline && now > deadline))
                        return -1;
                if (run->sample_ms && now >= run->sample_ms)
                        sampler_begin(run);
                stop_hesitating(run, now);
                streams_fill(&run->streams, slots);
                slots[STREAMS_SLOTS] = (struct pollfd){ .fd = run->signal_fd, .events = POLLIN };
                slots[STREAMS_SLOTS + 1] =
                        (struct pollfd){ .fd = HELPER_SOCKET, .events = POLLRDHUP };
                slots[STREAMS_SLOTS + 2] =
                        (struct pollfd){ .fd = run->socket, .events = POLLRDHUP };
                if (poll(slots, STREAMS_SLOTS + 3, patience(run, deadline, now)) < 0 &&
                    errno != EINTR)
                        return -1;
                streams_serve(&run->streams, slots);
                if (slots[STREAMS_SLOTS].revents)
                        hear_signal(run);
                if (slots[STREAMS_SLOTS + 1].revents || slots[STREAMS_SLOTS + 2].revents)
                        run->is_orphan = run->is_told = true;
        }
        return 0;
}

/* ---- all of it ---- */

static void run_program(struct docker_run *run)
{
        struct inside_end end;
        struct error err = { 0 };
        int r;

        outcome_report(run, REPORT_READY, NULL, 0);
        if (run->order.usage_ms)
                run->sample_ms = clock_now_ns() / 1000000 + run->order.usage_ms;
        r = pump(run, &end);
        sampler_end(run);
        if (r < 0) {
                outcome_lost(run);
                return;
        }
        if (end.kind != INSIDE_EXITED) {
                outcome_unstarted(run, &end);
                return;
        }
        outcome_end(run, &end);
        run->daemon.is_over = NULL;
        if (outcome_fetch(run, &end, &err) < 0) {
                /* It has run: no other backend is to run it again. */
                if (err.code == SBX_EUNAVAILABLE || err.code == SBX_EREFUSED)
                        err.code = SBX_ESYSTEM;
                outcome_error(run, &err);
        } else {
                run->has_ended = !run->is_told;
        }
}

/* With the connection the first process leaves, which is the last, and Docker removes what it was
 * told to remove: that is not waited for where the run went as it should and the inspection has
 * shown that it was told. */
static void clear_up(struct docker_run *run)
{
        bool is_promised = run->has_ended && !run->daemon.is_podman &&
                           run->report.seen & PROTECTION_BIT(CLEANUP);

        streams_done(&run->streams);
        if (run->daemon.curl && !is_promised)
                (void)container_remove(&run->daemon, &run->container, NULL); /* swept, if not */
        sweep_end(run->sweeper, run->is_told);
        daemon_close(&run->daemon);
}

/* The run, or an end of it that the supervisor did not ask for. */
static int make_ready(struct docker_run *run, struct error *err)
{
        int r = prepare(run, err);

        if (r == 0 && run->plan.nest)
                r = pool_wait(run, err);
        return r == 0 ? hand_over(run, err) : r;
}

void docker_run(struct docker_run *run)
{
        struct error err = { 0 };

        if (getrandom(run->secret, sizeof(run->secret), 0) != sizeof(run->secret) ||
            getrandom(run->seal, sizeof(run->seal), 0) != sizeof(run->seal))
                _exit(1);
        run->socket = HELPER_SOCKET;
        demux_init(&run->streams.demux, run->secret, run->seal);
        outcome_started(run);
        if (make_ready(run, &err) == 0)
                run_program(run);
        else if (!run->is_told)
                outcome_error(run, &err);
        run->daemon.is_over = NULL;
        outcome_report(run, REPORT_GONE, NULL, 0);
        clear_up(run);
        if (run->scratch[0])
                outcome_settle(run);
}
