#include "docker/container.h"
#include "base/fd.h"
#include "base/mem.h"
#include "kernel/sys.h"
#include "plan/report.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SWEEP_WAITS = 200, SWEEP_WAIT_MS = 10 };

/* When a process started, as the kernel counts; 0: there is none. */
static unsigned long long start_of(long pid)
{
        char path[64], text[1024], *rest;
        unsigned long long started = 0;

        (void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
        if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return 0;
        rest = strrchr(text, ')');
        if (!rest || sscanf(rest + 1,
                            " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %*d "
                            "%*d %*d %llu",
                            &started) != 1)
                return 0;
        return started;
}

/* This boot of this machine, and whose process numbers they are. */
static const char *host_name(char buffer[128])
{
        char boot[64] = "", space[64] = "";
        ssize_t n =
                fd_read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));

        boot[n > 0 ? strcspn(boot, "\n") : 0] = '\0';
        n = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);
        space[n > 0 ? n : 0] = '\0';
        (void)snprintf(buffer, 128, "%s.%.20s", boot, space + strcspn(space, "0123456789"));
        buffer[strcspn(buffer, "]")] = '\0';
        return buffer;
}

json_t *sweep_labels(void)
{
        char owner[64], host[128];

        (void)snprintf(owner, sizeof(owner), "%ld.%llu", (long)getpid(), start_of(getpid()));
        return json_pack("{s:s,s:s}", CONTAINER_LABEL_OWNER, owner, CONTAINER_LABEL_HOST,
                         host_name(host));
}

/* Whether the labels are of this machine and of a process that is no more. */
static bool is_orphan(const json_t *labels)
{
        const char *owner = json_string_value(json_object_get(labels, CONTAINER_LABEL_OWNER));
        const char *host = json_string_value(json_object_get(labels, CONTAINER_LABEL_HOST));
        unsigned long long started, now;
        char own[128];
        long pid;

        if (!owner || !host || strcmp(host, host_name(own)) != 0 ||
            sscanf(owner, "%ld.%llu", &pid, &started) != 2)
                return false;
        /* One that cannot be looked at, as where /proc hides what is not ours, may live. */
        now = start_of(pid);
        return now ? now != started : kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static const char filter[] = "filters=%7B%22label%22%3A%5B%22" CONTAINER_LABEL_OWNER "%22%5D%7D";

static unsigned sweep_containers(struct daemon *daemon, const json_t *list)
{
        unsigned count = 0;
        size_t i;
        json_t *item;

        json_array_foreach(list, i, item)
        {
                const char *id = json_string_value(json_object_get(item, "Id"));
                const char *state = json_string_value(json_object_get(item, "State"));
                struct container one = { 0 };

                /* What Docker removes already needs nobody to wait for it. Podman's may have been
                 * ended at that, and stay so. */
                if (!id || !is_orphan(json_object_get(item, "Labels")) ||
                    (!daemon->is_podman && state && strcmp(state, "removing") == 0))
                        continue;
                (void)snprintf(one.id, sizeof(one.id), "%.64s", id);
                count += container_remove(daemon, &one, NULL) == 0;
        }
        return count;
}

static unsigned sweep_volumes(struct daemon *daemon, const json_t *list)
{
        unsigned count = 0;
        size_t i;
        json_t *item;

        json_array_foreach(list, i, item)
        {
                const char *name = json_string_value(json_object_get(item, "Name"));
                char path[256];

                if (!name || strspn(name, "0123456789abcdef") != strlen(name) ||
                    strlen(name) > 128 || !is_orphan(json_object_get(item, "Labels")))
                        continue;
                (void)snprintf(path, sizeof(path), "/volumes/%s", name);
                count += daemon_call(daemon, "DELETE", path, NULL, NULL, NULL, NULL) == 0;
        }
        return count;
}

int sweep_leftovers(struct daemon *daemon, unsigned *ret_count, struct error *err)
{
        json_t *containers = NULL, *volumes = NULL;
        char path[256];
        int r;

        *ret_count = 0;
        (void)snprintf(path, sizeof(path), "/containers/json?all=1&%s", filter);
        r = daemon_call(daemon, "GET", path, NULL, &containers, NULL, err);
        if (r == 0)
                *ret_count = sweep_containers(daemon, containers);
        (void)snprintf(path, sizeof(path), "/volumes?%s", filter);
        if (r == 0)
                r = daemon_call(daemon, "GET", path, NULL, &volumes, NULL, err);
        if (r == 0)
                *ret_count += sweep_volumes(daemon, json_object_get(volumes, "Volumes"));
        json_decref(containers);
        json_decref(volumes);
        return r;
}

/* The calls of its own connection: the one of this process is in use. */
static _Noreturn void sweep_and_leave(const struct daemon *known, const struct docker_order *order)
{
        struct daemon daemon;
        unsigned count = 0;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)sys_close_range(HELPER_SOCKET, ~0u); /* the supervisor goes by its end, and pipes */
        if (daemon_open(&daemon, order->host, order->cert_path, order->verify, order->timeout_ms,
                        NULL) == 0) {
                daemon.api = known->api;
                daemon.is_podman = known->is_podman;
                (void)sweep_leftovers(&daemon, &count, NULL); /* the next run tries again */
        }
        _exit(0);
}

pid_t sweep_beside(const struct daemon *daemon, const struct docker_order *order)
{
        pid_t pid = fork();

        if (pid == 0)
                sweep_and_leave(daemon, order);
        return pid;
}

void sweep_end(pid_t pid, bool at_once)
{
        if (pid <= 0)
                return;
        /* What others left, and an engine cannot remove, is not this run's to wait for. */
        for (int i = 0; !at_once && i < SWEEP_WAITS; i++) {
                if (waitpid(pid, NULL, WNOHANG) != 0)
                        return;
                (void)poll(NULL, 0, SWEEP_WAIT_MS);
        }
        (void)kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}
