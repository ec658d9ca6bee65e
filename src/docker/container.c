#include "docker/container.h"
#include "docker/images.h"
#include "docker/inside.h"
#include "docker/pack.h"
#include "base/fd.h"
#include "base/mem.h"

#include "seccomp_profile.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
        CODE_SLACK = 4 << 20,
        ARCHIVE_SLACK = 64 << 20,
        PODMAN_PROCESSES = 32768,
        REMOVE_TRIES = 500,
        REMOVE_EACH_MS = 20,
        HTTP_NOT_FOUND = 404
};

/* A memory file system of the container's own. Docker's archive calls reach a volume of that kind,
 * and not what it calls tmpfs; Podman's reach that, and it makes no such volume. */
static json_t *memory_volume(const char *target, uint64_t bytes, uint64_t inodes, unsigned owner,
                             const char *mode)
{
        char options[160];

        (void)snprintf(options, sizeof(options),
                       "size=%llu,nr_inodes=%llu,mode=%s,uid=%u,gid=%u,nosuid,nodev",
                       (unsigned long long)bytes, (unsigned long long)inodes, mode, owner, owner);
        return json_pack("{s:s,s:s,s:{s:b,s:o,s:{s:s,s:{s:s,s:s,s:s}}}}", "Type", "volume",
                         "Target", target, "VolumeOptions", "NoCopy", 1, "Labels", sweep_labels(),
                         "DriverConfig", "Name", "local", "Options", "type", "tmpfs", "device",
                         "tmpfs", "o", options);
}

static void add_volumes(const struct plan *plan, json_t *mounts)
{
        (void)json_array_append_new(mounts,
                                    memory_volume("/code", plan->root_bytes + CODE_SLACK,
                                                  plan->disk_inodes + PACK_ENTRIES_MAX, 0, "0755"));
        (void)json_array_append_new(mounts,
                                    memory_volume("/workspace", plan->disk_bytes, plan->disk_inodes,
                                                  CONTAINER_USER, "0755"));
}

static json_t *memory_mounts(const struct daemon *daemon, const struct plan *plan)
{
        const struct {
                const char *place, *mode;
                uint64_t bytes;
        } all[] = {
                { "/tmp", "1777", plan->disk_bytes },
                { "/workspace", "1777", plan->disk_bytes },
                { "/code", "0755", plan->root_bytes + CODE_SLACK },
        };
        json_t *mounts = json_object();

        for (size_t i = 0; i < (daemon->is_podman ? ARRAY_SIZE(all) : 1); i++) {
                char options[128];

                (void)snprintf(options, sizeof(options), "rw,exec,nosuid,nodev,mode=%s,size=%llu",
                               all[i].mode, (unsigned long long)all[i].bytes);
                if (!daemon->is_podman) /* which knows no such option */
                        (void)snprintf(options + strlen(options), sizeof(options) - strlen(options),
                                       ",nr_inodes=%llu", (unsigned long long)plan->disk_inodes);
                (void)json_object_set_new(mounts, all[i].place, json_string(options));
        }
        return mounts;
}

static json_t *mounts_of(const struct daemon *daemon, const struct plan *plan, const char *tools)
{
        json_t *mounts = json_array();

        (void)json_array_append_new(
                mounts, json_pack("{s:s,s:s,s:s,s:b,s:{s:b,s:{s:s}}}", "Type", "volume", "Source",
                                  tools, "Target", INSIDE_PLACE, "ReadOnly", 1, "VolumeOptions",
                                  "NoCopy", 1, "Labels", CONTAINER_LABEL_KIND, "tools"));
        if (!daemon->is_podman)
                add_volumes(plan, mounts);
        /* What the caller asked for, and nothing else of the host. */
        for (uint32_t i = 0; i < plan->mount_count; i++)
                if (plan->mounts[i].kind == PLAN_MOUNT_READ ||
                    plan->mounts[i].kind == PLAN_MOUNT_WRITE)
                        (void)json_array_append_new(
                                mounts,
                                json_pack("{s:s,s:s,s:s,s:b}", "Type", "bind", "Source",
                                          plan->mounts[i].source, "Target", plan->mounts[i].target,
                                          "ReadOnly", plan->mounts[i].kind == PLAN_MOUNT_READ));
        return mounts;
}

static json_t *ulimit(const char *name, uint64_t value)
{
        return json_pack("{s:s,s:I,s:I}", "Name", name, "Soft", (json_int_t)value, "Hard",
                         (json_int_t)value);
}

/* Podman would give a container more processes of its user than a machine may let it. It bounds
 * itself to so many. */
static json_t *ulimits_of(const struct daemon *daemon, const struct plan *plan)
{
        json_t *list =
                json_pack("[o,o,o,o]", ulimit("core", 0), ulimit("nofile", plan->open_files),
                          ulimit("fsize", plan->file_bytes), ulimit("cpu", plan->cpu_seconds));

        if (list && daemon->is_podman)
                (void)json_array_append_new(list, ulimit("nproc", PODMAN_PROCESSES));
        return list;
}

static json_t *host_config(const struct daemon *daemon, const struct docker_order *order,
                           const struct plan *plan, const char *tools)
{
        static const char filter[] = "seccomp=";
        AUTO_STRBUF struct strbuf seccomp = { 0 };

        strbuf_adds(&seccomp, filter);
        strbuf_adds(&seccomp, daemon->profile_path ? daemon->profile_path : seccomp_profile);
        if (seccomp.failed)
                return NULL;
        return json_pack("{s:s,s:b,s:b,s:[s],s:[s,s],s:I,s:I,s:I,s:I,s:o,s:o,s:{s:s},s:o,"
                         "s:s,s:s,s:I,s:b}",
                         "NetworkMode", plan->network == PLAN_NETWORK_HOST ? "host" : "none",
                         "ReadonlyRootfs", 1, "AutoRemove", 1, "CapDrop", "ALL", "SecurityOpt",
                         "no-new-privileges", seccomp.data, "Memory",
                         (json_int_t)order->memory_bytes, "MemorySwap",
                         (json_int_t)order->memory_bytes, "NanoCpus",
                         (json_int_t)order->cpus_milli * 1000000, "PidsLimit",
                         (json_int_t)order->processes + 1, "Tmpfs", memory_mounts(daemon, plan),
                         "Mounts", mounts_of(daemon, plan, tools), "LogConfig", "Type", "none",
                         "Ulimits", ulimits_of(daemon, plan), "IpcMode", "private", "CgroupnsMode",
                         "private", "ShmSize", (json_int_t)plan->disk_bytes, "Init", 0);
}

static int missing_image(const struct docker_order *order, struct error *err)
{
        char image[128], language[64];
        int r;

        (void)snprintf(image, sizeof(image), "%s", order->image);
        (void)snprintf(language, sizeof(language), "%s", order->language);
        r = error_set(err, SBX_EUNAVAILABLE, "there is no image '%s'", image);
        if (images_know(language))
                error_hint(err,
                           "build it with 'sandbox images build %s', or name another one with "
                           "DOCKER_IMAGE",
                           language);
        else
                error_hint(err, "name one that has %s with DOCKER_IMAGE", language);
        return r;
}

static int make(struct daemon *daemon, const struct docker_order *order, const struct plan *plan,
                struct container *container, struct error *err)
{
        char tools[64], user[32];
        json_t *body, *answer = NULL;
        long status = 0;
        int r = tools_name(order, tools, err);

        if (r < 0)
                return r;
        (void)snprintf(user, sizeof(user), "%d:%d", CONTAINER_USER, CONTAINER_USER);
        body = json_pack("{s:s,s:s,s:[s],s:[],s:s,s:s,s:b,s:b,s:b,s:b,s:b,s:b,s:o,s:o}", "Image",
                         order->image, "User", user, "Entrypoint", INSIDE_PLACE "/" INSIDE_NAME,
                         "Cmd", "WorkingDir", "/", "Hostname", "sandbox", "OpenStdin", 1,
                         "StdinOnce", 1, "AttachStdin", 1, "AttachStdout", 1, "AttachStderr", 1,
                         "Tty", 0, "Labels", sweep_labels(), "HostConfig",
                         host_config(daemon, order, plan, tools));
        if (!body)
                return error_set_nomem(err);
        if (!daemon->is_podman) { /* which takes even this for a check */
                (void)json_object_set_new(body, "Healthcheck",
                                          json_pack("{s:[s]}", "Test", "NONE"));
                /* The namespace is as empty as with the mode "none", but Docker does not execute
                 * itself to set up a loopback in it, which takes half of the start. */
                (void)json_object_set_new(body, "NetworkDisabled",
                                          json_boolean(plan->network == PLAN_NETWORK_NONE));
        }
        r = daemon_call(daemon, "POST", "/containers/create", body, &answer, &status, err);
        json_decref(body);
        if (r < 0 && status == HTTP_NOT_FOUND)
                return missing_image(order, err);
        if (r == 0) {
                const char *id = json_string_value(json_object_get(answer, "Id"));

                if (!id || !*id || strlen(id) >= sizeof(container->id) ||
                    strspn(id, "0123456789abcdef") != strlen(id))
                        r = error_set(err, SBX_EUNAVAILABLE,
                                      "%s gave no proper answer: a container without an id",
                                      daemon->host);
                else
                        (void)strcpy(container->id, id);
        }
        json_decref(answer);
        return r;
}

int container_make(struct daemon *daemon, const struct docker_order *order, const struct plan *plan,
                   struct container *container, struct error *err)
{
        container->id[0] = '\0';
        container->is_started = false;
        return make(daemon, order, plan, container, err);
}

static int call(struct daemon *daemon, const char *method, const struct container *container,
                const char *rest, long *ret_status, struct error *err)
{
        char path[200];

        (void)snprintf(path, sizeof(path), "/containers/%s%s", container->id, rest);
        return daemon_call(daemon, method, path, NULL, NULL, ret_status, err);
}

int container_start(struct daemon *daemon, struct container *container, struct error *err)
{
        int r = call(daemon, "POST", container, "/start", NULL, err);

        container->is_started = r == 0;
        return r;
}

int container_signal(struct daemon *daemon, const struct container *container, const char *signal,
                     struct error *err)
{
        char rest[64];

        (void)snprintf(rest, sizeof(rest), "/kill?signal=%s", signal);
        return call(daemon, "POST", container, rest, NULL, err);
}

/* The engine's answer to whether it is there: 404 is that it has gone, 0 that nobody answers. */
static long presence(struct daemon *daemon, const struct container *container)
{
        long status = 0;

        (void)call(daemon, "GET", container, "/json", &status, NULL); /* the status says it all */
        return status;
}

/* One that ended by itself is removed by the engine, which refuses a second removal meanwhile. Not
 * every engine tells when it is done, so it is asked. */
int container_remove(struct daemon *daemon, struct container *container, struct error *err)
{
        long status = 0, present;
        int r;

        if (!container->id[0])
                return 0;
        r = call(daemon, "DELETE", container, "?force=1&v=1", &status, err);
        if (r < 0 && status == 0)
                return r; /* nobody answers: the next run sweeps */
        present = presence(daemon, container);
        for (int i = 0; i < REMOVE_TRIES && present && present != HTTP_NOT_FOUND; i++) {
                (void)poll(NULL, 0, REMOVE_EACH_MS);
                if (r < 0 && i % 10 == 9)
                        r = call(daemon, "DELETE", container, "?force=1&v=1", &status, err);
                present = presence(daemon, container);
        }
        if (present == HTTP_NOT_FOUND)
                r = 0;
        if (r == 0)
                container->id[0] = '\0';
        return r;
}

/* ---- files ---- */

static size_t read_archive(void *context, char *buffer, size_t size)
{
        ssize_t n = read(*(const int *)context, buffer, size);

        return n > 0 ? (size_t)n : n == 0 ? 0 : CURL_READFUNC_ABORT;
}

int container_put(struct daemon *daemon, const struct container *container, const char *place,
                  int archive_fd, struct error *err)
{
        struct daemon_source source = { read_archive, &archive_fd };
        char path[200];

        if (lseek(archive_fd, 0, SEEK_SET) < 0)
                return error_set_errno(err, "read the archive");
        (void)snprintf(path, sizeof(path), "/containers/%s/archive?path=%s", container->id, place);
        return daemon_put(daemon, "PUT", path, "application/x-tar", &source, NULL, err);
}

struct keeping {
        int fd;
        uint64_t bytes, most;
        bool is_too_much;
};

static bool keep_archive(void *context, const char *data, size_t length)
{
        struct keeping *keeping = context;

        keeping->bytes += length;
        keeping->is_too_much = keeping->bytes > keeping->most;
        return !keeping->is_too_much && fd_write_all(keeping->fd, data, length) == 0;
}

int container_get(struct daemon *daemon, const struct container *container, const char *place,
                  uint64_t most, int *ret_fd, struct error *err)
{
        AUTO_CLOSE int fd = memfd_create("archive", MFD_CLOEXEC);
        /* Each entry has a head of half a kilobyte and is filled up to that. */
        struct keeping keeping = { fd, 0, most + ARCHIVE_SLACK, false };
        struct daemon_sink sink = { .write = keep_archive, .context = &keeping };
        char path[200];
        int r;

        if (fd < 0)
                return error_set_errno(err, "make a memory file");
        (void)snprintf(path, sizeof(path), "/containers/%s/archive?path=%s", container->id, place);
        r = daemon_fetch(daemon, "GET", path, &sink, err);
        if (keeping.is_too_much)
                r = error_set(err, SBX_ETOOBIG, "what came back is larger than %llu bytes",
                              (unsigned long long)most);
        if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
                r = error_set_errno(err, "read the archive");
        if (r == 0)
                *ret_fd = fd_take(&fd);
        return r;
}
