#include "engine/docker.h"
#include "engine/passage.h"
#include "base/fd.h"
#include "base/str.h"
#include "base/units.h"
#include "docker/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define DEFAULT_HOST "unix:///var/run/docker.sock"

enum { TIMEOUT_S = 20, SETUP_SLACK_MS = 60000, CALLS_BEFORE_START = 4 };

void docker_init(struct docker_passage *docker)
{
        *docker = (struct docker_passage){ 0 };
}

void docker_done(struct docker_passage *docker)
{
        mem_free(docker->helper);
        mem_free(docker->inside);
        mem_free(docker->image);
        mem_free(docker->order);
        docker_init(docker);
}

bool docker_is_used(const struct passage *passage)
{
        return passage->backend == &backend_docker;
}

bool docker_is_wanted(const struct passage *passage)
{
        return passage->policy.backends[0] == BACKEND_DOCKER;
}

static const char *setting(const char *name, const char *otherwise)
{
        const char *value = secure_getenv(name);

        return value && *value ? value : otherwise;
}

static uint64_t timeout_s(void)
{
        char *end;
        unsigned long seconds = strtoul(setting("DOCKER_CLIENT_TIMEOUT", ""), &end, 10);

        return *end == '\0' && seconds > 0 && seconds <= 3600 ? seconds : TIMEOUT_S;
}

uint64_t docker_setup_ms(void)
{
        return timeout_s() * 1000 * CALLS_BEFORE_START + SETUP_SLACK_MS;
}

struct backend_host docker_host(const char *helper)
{
        static const struct cgroup_site nowhere = { .parent_fds = { -1, -1, -1, -1 } };

        return (struct backend_host){ .init_path = helper, .site = &nowhere };
}

/* What this backend cannot do is said before anything is asked of the engine. */
static const char *refusal(const struct passage *passage)
{
        enum policy_network mode = passage->policy.network_mode;

        if (mode == NETWORK_DNS || mode == NETWORK_ALLOWLIST)
                return "has no network modes 'dns' and 'allowlist'";
        if (passage->workspace)
                return "keeps no workspace";
        if (passage->code->deps)
                return "installs no dependencies: they belong into the image";
        if (str_equal(passage->language->name, "wasm"))
                return "runs no modules";
        return NULL;
}

int docker_check(struct passage *passage, struct error *err)
{
        struct docker_passage *docker = &passage->docker;
        const char *why = refusal(passage);
        char image[128];
        int r;

        if (why) {
                r = error_set(err, SBX_EUNAVAILABLE, "backend 'docker' %s", why);
                error_hint(err, "use '--backend container', or '--fallback container'");
                return r;
        }
        docker_done(docker);
        docker->helper = engine_find_helper("sandbox-docker", "SANDBOX_DOCKER");
        docker->inside = docker->helper
                                 ? engine_find_beside(docker->helper, "sandbox-inside", "docker")
                                 : NULL;
        (void)snprintf(image, sizeof(image), "sandbox-run/%s:latest", passage->language->name);
        docker->image = mem_strdup(setting("DOCKER_IMAGE", image));
        if (!docker->helper || !docker->image)
                return error_set_nomem(err);
        if (access(docker->helper, X_OK) < 0 || !docker->inside) {
                r = error_set(err, SBX_EUNAVAILABLE, "backend 'docker' is not installed: '%s' %s",
                              docker->inside ? docker->helper : "sandbox-inside", "is missing");
                error_hint(err, "install it beside sandbox-init");
                return r;
        }
        return 0;
}

static json_t *words_of(const char *const *words)
{
        json_t *list = json_array();

        for (; *words; words++)
                if ((*words)[0] == '/')
                        (void)json_array_append_new(list, json_string(*words));
        return list;
}

static uint64_t at_most(uint64_t limit, uint64_t other)
{
        return other && other < limit ? other : limit;
}

/* DOCKER_MEMORY_LIMIT and DOCKER_CPU_LIMIT bound what a policy allows. */
static int bound(const struct limits *limits, uint64_t *ret_memory, uint64_t *ret_cpus,
                 struct error *err)
{
        const char *memory = setting("DOCKER_MEMORY_LIMIT", NULL);
        const char *cpus = setting("DOCKER_CPU_LIMIT", NULL);
        uint64_t bytes = 0;
        double share = 0;
        char *end = NULL;

        if (memory && units_parse_size(memory, 1, &bytes, NULL) < 0)
                return error_set(err, SBX_EINVAL, "DOCKER_MEMORY_LIMIT: '%.40s' is not a size",
                                 memory);
        if (cpus) {
                share = strtod(cpus, &end);
                if (*end || !(share > 0 && share < 100000))
                        return error_set(err, SBX_EINVAL,
                                         "DOCKER_CPU_LIMIT: '%.40s' is not a number of CPUs", cpus);
        }
        *ret_memory = at_most(limits->memory_bytes, bytes);
        *ret_cpus = at_most(limits->cpus_milli, (uint64_t)(share * 1000));
        return 0;
}

/* Whether what there is afterwards says something even where nothing is there. */
static bool wants_files(const struct passage *passage, const struct step_order *order)
{
        const struct request *request = passage->order->request;

        return order->step != PLAN_STEP_RUN || request->inputs.count > 0 ||
               request->collect_fd >= 0;
}

static char *order_text(const struct passage *passage, const struct step_order *order,
                        uint64_t memory, uint64_t cpus)
{
        const struct docker_passage *docker = &passage->docker;
        const char *verify = setting("DOCKER_TLS_VERIFY", ""), *home = setting("HOME", "");
        const char *cert_path = setting("DOCKER_CERT_PATH", NULL);
        AUTO_STRBUF struct strbuf certs = { 0 };
        const char *temporary = setting("TMPDIR", NULL);
        json_t *json;
        char *text;

        if (cert_path)
                strbuf_adds(&certs, cert_path);
        else if (*verify)
                strbuf_addf(&certs, "%s/.docker", home);
        json = json_pack(
                "{s:s,s:s,s:b,s:I,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:b,s:o,s:o,s:b,s:I}", "host",
                setting("DOCKER_HOST", DEFAULT_HOST), "cert_path", certs.data ? certs.data : "",
                "verify", *verify && !str_equal(verify, "0"), "timeout_ms",
                (json_int_t)timeout_s() * 1000, "image", docker->image, "inside", docker->inside,
                "temporary", temporary && temporary[0] == '/' ? temporary : "/tmp", "language",
                passage->language->name, "memory", (json_int_t)memory, "processes",
                (json_int_t)order->limits->processes, "cpus_milli", (json_int_t)cpus, "cpu_us",
                (json_int_t)order->limits->cpu_time_ms * 1000, "wants_files",
                wants_files(passage, order), "tools", words_of(passage->language->candidates),
                "runtimes", words_of(passage->language->runtime), "strict",
                passage->policy.enforcement == ENFORCEMENT_STRICT, "usage_ms",
                (json_int_t)(passage_tells_usage(passage) ? passage->policy.interval_ms : 0));
        text = json ? json_dumps(json, JSON_COMPACT) : NULL;
        json_decref(json);
        return text;
}

int docker_describe(struct passage *passage, const struct step_order *order,
                    struct plan_input *input, struct error *err)
{
        struct docker_passage *docker = &passage->docker;
        uint64_t memory = 0, cpus = 0;
        int r = bound(order->limits, &memory, &cpus, err);

        if (r < 0)
                return r;
        mem_free(docker->order);
        docker->order = order_text(passage, order, memory, cpus);
        if (!docker->order)
                return error_set_nomem(err);
        input->docker = docker->order;
        input->tool = passage->language->candidates[0] ? INSIDE_TOOL : "";
        input->runtime = passage->language->runtime[0] ? INSIDE_RUNTIME : "";
        input->prepared = NULL;
        input->resolver = NULL;
        input->park = NULL;
        return 0;
}

/* What is told after the program's end belongs to the run as well. */
void docker_settle(struct run *run)
{
        struct pollfd socket = { .fd = run->socket, .events = POLLIN };

        while (!run->is_gone && run->socket >= 0) {
                int r = poll(&socket, 1, -1) < 0 ? -1 : run_receive(run);

                if (r == 0 || (r < 0 && errno != EINTR && errno != EAGAIN))
                        run->is_gone = true;
        }
}

void docker_tell_version(const struct run *run, struct result *result)
{
        char version[REPORT_DETAIL_MAX];

        (void)snprintf(version, sizeof(version), "%.*s", (int)sizeof(version) - 1,
                       run->ready.detail);
        mem_free(result->version);
        result->version = version[0] ? mem_strdup(version) : NULL;
}

int docker_failure(const struct run *run, struct error *err)
{
        static const int codes[] = { SBX_EUNAVAILABLE, SBX_EREFUSED, SBX_ETOOBIG, SBX_EINVAL };
        const struct report *failed = &run->failed;
        int code = SBX_ESYSTEM;

        for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
                if (codes[i] == -failed->sys_errno)
                        code = codes[i];
        (void)error_set(err, code, "docker: %.*s", (int)sizeof(failed->detail), failed->detail);
        if (failed->hint[0])
                error_hint(err, "%.*s", (int)sizeof(failed->hint), failed->hint);
        return code;
}

int docker_reach(struct error *err)
{
        static const char scheme[] = "unix://";
        const char *host = setting("DOCKER_HOST", DEFAULT_HOST);
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int r;

        if (!str_has_prefix(host, scheme) ||
            strlen(host) - strlen(scheme) >= sizeof(address.sun_path))
                return error_set(err, SBX_EUNAVAILABLE, "'%.200s' is asked by a run alone", host);
        (void)strcpy(address.sun_path, host + strlen(scheme));
        if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
                return 0;
        r = error_set(err, SBX_EUNAVAILABLE, "cannot connect to %.200s: %s", host, strerror(errno));
        error_hint(err, "install and start Docker or Podman, or say in DOCKER_HOST where it is");
        return r;
}
