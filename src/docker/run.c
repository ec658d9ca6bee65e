#include "docker/run.h"
#include "docker/pack.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"
#include "base/protection.h"
#include "base/tree.h"
#include "kernel/sys.h"

#include "seccomp_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { END_MS = 3000 }; /* what is told to end has so long; then the container is killed */

static void report(struct docker_run *run, enum report_kind kind, const int *fds, int count)
{
        run->report.magic = REPORT_MAGIC;
        run->report.kind = kind;
        run->report.at_ns = clock_now_ns();
        (void)message_send(HELPER_SOCKET, &run->report, sizeof(run->report), fds, (size_t)count);
}

/* The supervisor turns it into its error again. */
static void report_error(struct docker_run *run, const struct error *err)
{
        run->report.stage = STAGE_DOCKER;
        run->report.sys_errno = -err->code;
        (void)snprintf(run->report.detail, sizeof(run->report.detail), "%.199s", err->message);
        (void)snprintf(run->report.hint, sizeof(run->report.hint), "%.199s", err->hint);
        report(run, REPORT_FAILED, NULL, 0);
}

/* ---- whether to go on ---- */

static void look_at_supervisor(struct docker_run *run)
{
        struct pollfd socket = { .fd = HELPER_SOCKET, .events = POLLRDHUP };

        if (poll(&socket, 1, 0) > 0 && socket.revents)
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

static int make_scratch(struct docker_run *run, struct error *err)
{
        char path[sizeof(run->scratch)];

        if (run->scratch[0])
                return 0;
        (void)snprintf(path, sizeof(path), "%.4000s/sandbox-run.XXXXXX", run->order.temporary);
        if (!mkdtemp(path))
                return error_set_errno(err, "make a directory '%.500s'", path);
        (void)strcpy(run->scratch, path);
        return 0;
}

/* Podman wants the filter as a file of its machine, which it reads when it makes the container: one
 * of ours in memory, by a path that the caller's processes can open while this one is dumpable. */
static int write_profile(struct docker_run *run, struct error *err)
{
        struct daemon *daemon = &run->daemon;
        char path[64];

        if (!daemon->is_podman || !daemon->socket)
                return 0;
        run->profile_fd = fd_memfile("seccomp", seccomp_profile, strlen(seccomp_profile));
        if (run->profile_fd < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
                return error_set_errno(err, "write the filter");
        (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), run->profile_fd);
        daemon->profile_path = mem_strdup(path);
        return daemon->profile_path ? 0 : error_set_nomem(err);
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

static int check(struct docker_run *run, struct error *err)
{
        uint64_t lacking;
        AUTO_STRBUF struct strbuf names = { 0 };
        int r = inspect_container(&run->daemon, &run->container, &run->order, &run->plan,
                                  &run->report.seen, err);

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
        error_hint(err,
                   "accept less with '--enforcement best-effort', or use the container backend");
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
        struct inside_order order = { .magic = INSIDE_MAGIC, .cpu_us = run->order.cpu_us };
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
        streams_send(&run->streams, &order, sizeof(order));
        streams_send(&run->streams, words.data, words.length);
        return 0;
}

static int prepare(struct docker_run *run, struct error *err)
{
        unsigned swept = 0;
        int r = daemon_open(&run->daemon, run->order.host, run->order.cert_path, run->order.verify,
                            run->order.timeout_ms, err);

        run->daemon.is_over = is_over;
        run->daemon.context = run;
        if (r == 0)
                r = daemon_greet(&run->daemon, err);
        if (r == 0)
                r = sweep_leftovers(&run->daemon, &swept, err);
        if (r == 0)
                r = write_profile(run, err);
        if (r == 0)
                r = bring_up(run, err);
        if (r == 0)
                r = check(run, err);
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

/* Until the record is there: 0; -1 where it will not come. */
static int pump(struct docker_run *run, struct inside_end *ret_end)
{
        uint64_t deadline = 0;

        while (!demux_end(&run->streams.demux, ret_end) || !streams_are_empty(&run->streams)) {
                struct pollfd slots[STREAMS_SLOTS + 2];
                uint64_t now = clock_now_ns() / 1000000;

                if (run->is_told && !deadline) {
                        end_program(run, "SIGINT");
                        deadline = clock_now_ns() / 1000000 + END_MS;
                        run->streams.drops = true;
                        streams_serve(&run->streams, (struct pollfd[STREAMS_SLOTS]){ 0 });
                }
                if (run->is_orphan || run->streams.is_broken || (deadline && now > deadline))
                        return -1;
                streams_fill(&run->streams, slots);
                slots[STREAMS_SLOTS] = (struct pollfd){ .fd = run->signal_fd, .events = POLLIN };
                slots[STREAMS_SLOTS + 1] =
                        (struct pollfd){ .fd = HELPER_SOCKET, .events = POLLRDHUP };
                if (poll(slots, STREAMS_SLOTS + 2, deadline ? (int)(deadline - now + 1) : -1) < 0 &&
                    errno != EINTR)
                        return -1;
                streams_serve(&run->streams, slots);
                if (slots[STREAMS_SLOTS].revents)
                        hear_signal(run);
                if (slots[STREAMS_SLOTS + 1].revents)
                        run->is_orphan = run->is_told = true;
        }
        return 0;
}

/* ---- afterwards ---- */

/* What the program made, into a folder that the supervisor looks at. */
static int fetch(struct docker_run *run, const struct inside_end *end, struct error *err)
{
        struct unpack unpack = { .most = run->plan.disk_bytes };
        AUTO_CLOSE int archive = -1;
        AUTO_CLOSE int folder = -1;
        char path[sizeof(run->scratch) + 32];
        int r = 0;

        if (end->entries == 0 && !run->order.wants_files)
                return 0;
        r = make_scratch(run, err);
        if (r < 0)
                return r;
        (void)snprintf(path, sizeof(path), "%s/workspace", run->scratch);
        if (mkdir(path, 0700) < 0 || (folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
                return error_set_errno(err, "make a directory '%.500s'", path);
        if (end->entries > 0)
                r = container_get(&run->daemon, &run->container, "/workspace", run->plan.disk_bytes,
                                  &archive, err);
        if (r == 0 && archive >= 0)
                r = unpack_tree(archive, folder, &unpack, err);
        if (r == 0)
                report(run, REPORT_PLACES, &folder, 1);
        return r;
}

static void report_end(struct docker_run *run, const struct inside_end *end)
{
        struct report *told = &run->report;

        told->wait_status = end->wait_status;
        told->survivors = end->survivors;
        told->cpu_user_us = end->cpu_user_us;
        told->cpu_system_us = end->cpu_system_us;
        told->memory_peak = end->memory_peak;
        told->counted = (struct report_counted){ .is_known = 1,
                                                 .disk_is_full = end->disk_is_full,
                                                 .cpu_us = end->cpu_us,
                                                 .memory_kills = end->memory_kills,
                                                 .processes_peak = end->processes_peak,
                                                 .fork_refusals = end->fork_refusals };
        report(run, REPORT_EXITED, NULL, 0);
}

static void tell_lost(struct docker_run *run)
{
        struct error err = { 0 };
        char path[160];
        long status = 0;

        if (run->is_told)
                return; /* it was to end, and did */
        (void)snprintf(path, sizeof(path), "/containers/%s/json", run->container.id);
        if (daemon_call(&run->daemon, "GET", path, NULL, NULL, &status, &err) == 0 || status == 404)
                (void)error_set(&err, SBX_ESYSTEM, "the container was ended from outside");
        else
                (void)error_set(&err, SBX_ESYSTEM, "%s went away during the run", run->daemon.host);
        report_error(run, &err);
}

static void tell_unstarted(struct docker_run *run, const struct inside_end *end)
{
        struct error err = { 0 };

        if (end->kind == INSIDE_NO_TOOL) {
                (void)error_set(&err, SBX_EUNAVAILABLE, "image '%.100s' has no program for '%s'",
                                run->order.image, run->order.language);
                error_hint(&err, "name an image that has it with DOCKER_IMAGE");
        } else {
                errno = end->sys_errno;
                (void)error_set(&err, SBX_EREFUSED, "cannot execute the program: %s",
                                strerror(end->sys_errno));
        }
        report_error(run, &err);
}

static void run_program(struct docker_run *run)
{
        struct inside_end end;
        struct error err = { 0 };

        report(run, REPORT_READY, NULL, 0);
        if (pump(run, &end) < 0) {
                tell_lost(run);
                return;
        }
        if (end.kind != INSIDE_EXITED) {
                tell_unstarted(run, &end);
                return;
        }
        report_end(run, &end);
        run->daemon.is_over = NULL;
        if (fetch(run, &end, &err) < 0)
                report_error(run, &err);
}

/* The supervisor lets go of what it was given by closing the connection. */
static void wait_for_supervisor(struct docker_run *run)
{
        struct pollfd socket = { .fd = HELPER_SOCKET, .events = POLLRDHUP };

        while (poll(&socket, 1, -1) < 0 && errno == EINTR)
                ;
        (void)tree_remove(run->scratch); /* nobody is left who could be told */
}

void docker_run(struct docker_run *run)
{
        struct error err = { 0 };
        int own = sys_pidfd_open(getpid());

        if (getrandom(run->secret, sizeof(run->secret), 0) != sizeof(run->secret))
                _exit(1);
        demux_init(&run->streams.demux, run->secret);
        run->report.keeper_pid = getpid();
        report(run, REPORT_STARTED, &own, 1);
        fd_close(own);
        if (prepare(run, &err) < 0) {
                if (!run->is_told)
                        report_error(run, &err);
        } else {
                run_program(run);
        }
        run->daemon.is_over = NULL;
        report(run, REPORT_GONE, NULL, 0);
        streams_done(&run->streams);
        if (run->daemon.curl)
                (void)container_remove(&run->daemon, &run->container, NULL); /* swept, if not */
        daemon_close(&run->daemon);
        if (run->scratch[0])
                wait_for_supervisor(run);
}
