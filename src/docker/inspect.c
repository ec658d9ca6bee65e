/* What the engine says is in force, read from the container it made: what was asked for is not
 * believed. */
#include "docker/container.h"
#include "base/protection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION_MAX = 40 };

struct view {
        const json_t *config, *host;
        const struct docker_order *order;
        const struct plan *plan;
};

static const char *host_text(const struct view *view, const char *key)
{
        const char *text = json_string_value(json_object_get(view->host, key));

        return text ? text : "";
}

static json_int_t host_number(const struct view *view, const char *key)
{
        return json_integer_value(json_object_get(view->host, key));
}

/* Whether a list has a word that begins so. */
static bool has_word(const json_t *list, const char *beginning)
{
        size_t i;
        json_t *item;

        json_array_foreach(list, i, item)
        {
                const char *text = json_string_value(item);

                if (text && strncasecmp(text, beginning, strlen(beginning)) == 0)
                        return true;
        }
        return false;
}

/* Neither the host's nor another container's. */
static bool is_own(const char *mode)
{
        return strcmp(mode, "host") != 0 && strncmp(mode, "container:", 10) != 0 &&
               strncmp(mode, "ns:", 3) != 0;
}

static bool is_unprivileged(const struct view *view)
{
        return !json_is_true(json_object_get(view->host, "Privileged"));
}

static bool sees_mounts(const struct view *view)
{
        return is_unprivileged(view);
}

static bool sees_pids(const struct view *view)
{
        return is_own(host_text(view, "PidMode"));
}

static bool sees_network(const struct view *view)
{
        return strcmp(host_text(view, "NetworkMode"), "none") == 0;
}

static bool sees_ipc(const struct view *view)
{
        return is_own(host_text(view, "IpcMode"));
}

static bool sees_uts(const struct view *view)
{
        return is_own(host_text(view, "UTSMode"));
}

static bool sees_groups(const struct view *view)
{
        return strcmp(host_text(view, "CgroupnsMode"), "private") == 0 ||
               strcmp(host_text(view, "CgroupMode"), "private") == 0;
}

static bool sees_root(const struct view *view)
{
        return json_is_true(json_object_get(view->host, "ReadonlyRootfs")) && is_unprivileged(view);
}

/* An engine that tells of no masks has its own: only that they were not taken off can be seen. */
static bool sees_proc(const struct view *view)
{
        const json_t *masked = json_object_get(view->host, "MaskedPaths");

        return is_unprivileged(view) && (!json_is_array(masked) || json_array_size(masked) > 0) &&
               !has_word(json_object_get(view->host, "SecurityOpt"), "systempaths=unconfined");
}

static bool sees_identity(const struct view *view)
{
        const char *user = json_string_value(json_object_get(view->config, "User"));

        return user && strtoul(user, NULL, 10) > 0 &&
               json_array_size(json_object_get(view->host, "GroupAdd")) == 0;
}

/* Docker gives the word back, Podman all the names. */
static bool sees_capabilities(const struct view *view)
{
        const json_t *dropped = json_object_get(view->host, "CapDrop");

        return is_unprivileged(view) &&
               json_array_size(json_object_get(view->host, "CapAdd")) == 0 &&
               (has_word(dropped, "ALL") || json_array_size(dropped) >= 10);
}

static bool sees_no_new_privs(const struct view *view)
{
        return has_word(json_object_get(view->host, "SecurityOpt"), "no-new-privileges") &&
               !has_word(json_object_get(view->host, "SecurityOpt"), "no-new-privileges:false");
}

static bool sees_seccomp(const struct view *view)
{
        const json_t *options = json_object_get(view->host, "SecurityOpt");

        return has_word(options, "seccomp=") && !has_word(options, "seccomp=unconfined");
}

static bool sees_terminal(const struct view *view)
{
        return !json_is_true(json_object_get(view->config, "Tty"));
}

static bool has_ulimit(const struct view *view, const char *name, uint64_t most)
{
        const json_t *list = json_object_get(view->host, "Ulimits");
        size_t i;
        json_t *item;

        json_array_foreach(list, i, item)
        {
                const char *found = json_string_value(json_object_get(item, "Name"));

                if (found && strncasecmp(found, "RLIMIT_", 7) == 0)
                        found += 7;
                if (found && strcasecmp(found, name) == 0 &&
                    (uint64_t)json_integer_value(json_object_get(item, "Hard")) <= most)
                        return true;
        }
        return false;
}

static bool sees_no_cores(const struct view *view)
{
        return has_ulimit(view, "core", 0);
}

static bool sees_open_files(const struct view *view)
{
        return has_ulimit(view, "nofile", view->plan->open_files);
}

static bool sees_removal(const struct view *view)
{
        return json_is_true(json_object_get(view->host, "AutoRemove"));
}

static bool sees_memory(const struct view *view)
{
        json_int_t memory = host_number(view, "Memory"), swap = host_number(view, "MemorySwap");

        return memory > 0 && (uint64_t)memory <= view->order->memory_bytes && swap == memory;
}

static bool sees_processes(const struct view *view)
{
        json_int_t most = host_number(view, "PidsLimit");

        return most > 0 && (uint64_t)most <= view->order->processes + 1;
}

/* Either as it was given, or as a quota of a period. */
static bool sees_cpus(const struct view *view)
{
        json_int_t nano = host_number(view, "NanoCpus"), quota = host_number(view, "CpuQuota"),
                   period = host_number(view, "CpuPeriod");

        if (nano <= 0 && quota > 0 && period > 0)
                nano = quota * 1000 / period * 1000000;
        return nano > 0 && (uint64_t)nano <= view->order->cpus_milli * 1000000;
}

static const struct {
        enum protection protection;
        bool (*is_seen)(const struct view *view);
} looks[] = {
        { PROTECTION_MOUNT_NAMESPACE, sees_mounts },
        { PROTECTION_PID_NAMESPACE, sees_pids },
        { PROTECTION_NETWORK, sees_network },
        { PROTECTION_IPC_NAMESPACE, sees_ipc },
        { PROTECTION_UTS_NAMESPACE, sees_uts },
        { PROTECTION_CGROUP_NAMESPACE, sees_groups },
        { PROTECTION_FILESYSTEM, sees_root },
        { PROTECTION_PROC, sees_proc },
        { PROTECTION_IDENTITY, sees_identity },
        { PROTECTION_CAPABILITIES, sees_capabilities },
        { PROTECTION_NO_NEW_PRIVS, sees_no_new_privs },
        { PROTECTION_SECCOMP, sees_seccomp },
        { PROTECTION_SESSION, sees_terminal },
        { PROTECTION_CORE_DUMPS, sees_no_cores },
        { PROTECTION_OPEN_FILES, sees_open_files },
        { PROTECTION_CLEANUP, sees_removal },
        { PROTECTION_MEMORY, sees_memory },
        { PROTECTION_PROCESSES, sees_processes },
        { PROTECTION_CPUS, sees_cpus },
};

static bool has_size(const char *options, uint64_t most)
{
        const char *size = options ? strstr(options, "size=") : NULL;

        return size && strtoull(size + 5, NULL, 10) <= most;
}

/* The size of the workspace is an option of its mount, or of its volume. */
static int sees_disk(struct daemon *daemon, const struct view *view, const json_t *mounts,
                     bool *ret_seen, struct error *err)
{
        const json_t *memory = json_object_get(view->host, "Tmpfs");
        size_t i;
        json_t *item;

        *ret_seen = has_size(json_string_value(json_object_get(memory, "/workspace")),
                             view->plan->disk_bytes);
        json_array_foreach(mounts, i, item)
        {
                const char *target = json_string_value(json_object_get(item, "Destination"));
                const char *name = json_string_value(json_object_get(item, "Name"));
                json_t *volume = NULL;
                char path[256];
                int r;

                if (!target || strcmp(target, "/workspace") != 0 || !name ||
                    strspn(name, "0123456789abcdef") != strlen(name))
                        continue;
                (void)snprintf(path, sizeof(path), "/volumes/%.128s", name);
                r = daemon_call(daemon, "GET", path, NULL, &volume, NULL, err);
                if (r < 0)
                        return r;
                *ret_seen = has_size(
                        json_string_value(json_object_get(json_object_get(volume, "Options"), "o")),
                        view->plan->disk_bytes);
                json_decref(volume);
                return 0;
        }
        return 0;
}

static int stale(const char *why, struct error *err)
{
        return error_set(err, SBX_EUNAVAILABLE, "a container that waited %s", why);
}

/* Whether one that was made earlier is what a new one would be: of the image that bears the name
 * now, running, with nobody else in it. */
static int check_old(struct daemon *daemon, const struct docker_order *order, const json_t *json,
                     struct error *err)
{
        static const char proper[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@";
        const json_t *state = json_object_get(json, "State");
        const char *made_of = json_string_value(json_object_get(json, "Image")), *named;
        json_t *image = NULL;
        char path[256];
        int r;

        if (!json_is_true(json_object_get(state, "Running")) ||
            json_is_true(json_object_get(state, "Paused")))
                return stale("has ended", err);
        if (json_array_size(json_object_get(json, "ExecIDs")) > 0)
                return stale("was entered by others", err);
        if (order->image[strspn(order->image, proper)] ||
            snprintf(path, sizeof(path), "/images/%s/json", order->image) >= (int)sizeof(path))
                return stale("has an image of a strange name", err);
        r = daemon_call(daemon, "GET", path, NULL, &image, NULL, err);
        if (r < 0)
                return r;
        named = json_string_value(json_object_get(image, "Id"));
        r = made_of && named && strcmp(made_of, named) == 0 ? 0 : stale("is of an old image", err);
        json_decref(image);
        return r;
}

/* A version that an image tells may be anything; only what looks like one is. */
static bool keep_version(const char *text, char *ret_version, size_t size)
{
        static const char proper[] =
                "0123456789.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_+-";

        if (!text || !*text || strlen(text) >= size || text[strspn(text, proper)])
                return false;
        (void)strcpy(ret_version, text);
        return true;
}

/* What the image says the version of its language is: our label, or a variable as those that are
 * published by the languages' own people have. Nothing is started for it. */
static void find_version(const json_t *config, const char *language, char *ret_version, size_t size)
{
        static const struct {
                const char *language, *variable;
        } known[] = {
                { "python", "PYTHON_VERSION=" }, { "javascript", "NODE_VERSION=" },
                { "go", "GOLANG_VERSION=" },     { "rust", "RUST_VERSION=" },
                { "java", "JAVA_VERSION=" },     { "ruby", "RUBY_VERSION=" },
                { "php", "PHP_VERSION=" },
        };
        const json_t *label =
                json_object_get(json_object_get(config, "Labels"), CONTAINER_LABEL_VERSION);
        const json_t *environment = json_object_get(config, "Env");
        size_t index;
        json_t *item;

        ret_version[0] = '\0';
        if (keep_version(json_string_value(label), ret_version, size))
                return;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
                size_t length = strlen(known[i].variable);

                if (strcmp(known[i].language, language) != 0)
                        continue;
                json_array_foreach(environment, index, item)
                {
                        const char *text = json_string_value(item);

                        if (text && strncmp(text, known[i].variable, length) == 0)
                                (void)keep_version(text + length, ret_version, size);
                }
        }
}

int inspect_container(struct daemon *daemon, const struct container *container,
                      const struct docker_order *order, const struct plan *plan,
                      struct report *report, struct error *err)
{
        struct view view = { .order = order, .plan = plan };
        json_t *json = NULL;
        bool has_disk = false;
        char path[160];
        int r;

        (void)snprintf(path, sizeof(path), "/containers/%s/json", container->id);
        r = daemon_call(daemon, "GET", path, NULL, &json, NULL, err);
        if (r < 0)
                return r;
        if (container->is_old)
                r = check_old(daemon, order, json, err);
        view.config = json_object_get(json, "Config");
        view.host = json_object_get(json, "HostConfig");
        report->seen = 0;
        for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
                if (view.config && view.host && looks[i].is_seen(&view))
                        report->seen |= UINT64_C(1) << looks[i].protection;
        find_version(view.config, order->language, report->detail, VERSION_MAX);
        if (r == 0)
                r = sees_disk(daemon, &view, json_object_get(json, "Mounts"), &has_disk, err);
        if (has_disk)
                report->seen |= PROTECTION_BIT(DISK);
        /* A container may be left out of the engine's. */
        if (daemon->users && strcmp(host_text(&view, "UsernsMode"), "host") != 0) {
                report->seen |= PROTECTION_BIT(USER_NAMESPACE);
                (void)snprintf(report->hint, sizeof(report->hint), "%s", daemon->users);
        }
        json_decref(json);
        return r;
}
