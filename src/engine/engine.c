/* What runs share: set up once, by looking at the machine. */
#include "engine/engine.h"
#include "engine/analysis.h"
#include "engine/keeper.h"
#include "engine/nests.h"
#include "engine/tools.h"
#include "base/fd.h"
#include "base/str.h"
#include "plan/report.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { COMPILED_BYTES = 512 << 20, ENGINE_RUNS = 256 };

/* Ids that nobody uses: outside of every range that systems hand out (see docs/SECURITY-MODEL.md).
 * A run takes the base plus its helper's pid, which is below the span. */
static const uint32_t guest_uid_base = 0x70000000, guest_uid_span = 0x400000;

/* Whether this process may make namespaces and become other users without one of its own. */
static bool is_privileged(void)
{
        const uint32_t needed = 1u << CAP_SYS_ADMIN | 1u << CAP_SETUID | 1u << CAP_SETGID;
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[2] = { 0 };

        return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & needed) == needed;
}

/* Of a range that is too small for ids of our own those that accounts seldom have: of its upper
 * half what lies below those that systems hand out at the end of 16 bits, or beyond, whichever is
 * more. */
static void take_upper(uint64_t start, uint64_t count, uint64_t *ret_start, uint64_t *ret_count)
{
        const uint64_t handed_out = 61184, beyond = 65536, end = start + count;
        uint64_t below, above, from;

        start += count > 3 ? count / 2 : start == 0;
        from = start > beyond ? start : beyond;
        below = start < handed_out && start < end ? (end < handed_out ? end : handed_out) - start
                                                  : 0;
        above = end > from ? end - from : 0;
        if (above == 0 && below == 0)
                below = end > start ? end - start : 0; /* there are no others */
        *ret_start = above > below ? from : start;
        *ret_count = above > below ? above : below;
}

/* Chooses ids from those that this user namespace has, by its uid_map. */
static void choose_ids(struct engine_identity *identity, const char *map)
{
        uint64_t best_start = 0, best_count = 0;

        identity->host_uid = geteuid();
        for (const char *line = map; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                unsigned long long inside, outside, count;
                uint64_t start, upper;

                if (sscanf(line, " %llu %llu %llu", &inside, &outside, &count) != 3)
                        continue;
                if (geteuid() >= inside && geteuid() - inside < count)
                        identity->host_uid = (uint32_t)(outside + (geteuid() - inside));
                if (inside <= guest_uid_base &&
                    inside + count >= guest_uid_base + 2ull * guest_uid_span) {
                        best_start = guest_uid_base;
                        best_count = 2ull * guest_uid_span;
                        continue;
                }
                take_upper(inside, count, &start, &upper);
                if (best_start != guest_uid_base && upper > best_count) {
                        best_start = start;
                        best_count = upper;
                }
        }
        if (!identity->user_namespace && best_count >= 2) {
                identity->uid_base = (uint32_t)best_start;
                identity->uid_span = (uint32_t)(best_count / 2);
        }
}

static int find_identity(struct engine_identity *identity, struct error *err)
{
        char map[4096];
        ssize_t n = fd_read_file_at(AT_FDCWD, "/proc/self/uid_map", map, sizeof(map));

        if (n < 0)
                return error_set_errno(err, "read /proc/self/uid_map");
        if (n == 0) {
                (void)error_set(err, SBX_EREFUSED, "this user namespace has no users");
                error_hint(err, "map one where it is made: 'unshare --map-root-user ...'");
                return SBX_EREFUSED;
        }
        choose_ids(identity, map);
        return 0;
}

static bool is_program(const char *path)
{
        struct stat st;

        return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *engine_find_helper(const char *name, const char *variable)
{
        static const char *const beside[] = {
                ".",           "../init",     "../src/init",     "../toml",
                "../src/toml", "../analysis", "../src/analysis", "../wasm",
                "../src/wasm", "../docker",   "../src/docker",   "../libexec/sandbox",
        };
        const char *chosen = secure_getenv(variable);
        AUTO_STRBUF struct strbuf installed = { 0 };
        char self[4096], path[4200];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        char *slash;

        if (chosen && *chosen)
                return mem_strdup(chosen);
        self[n > 0 ? n : 0] = '\0';
        slash = strrchr(self, '/');
        for (size_t i = 0; slash && i < ARRAY_SIZE(beside); i++) {
                (void)snprintf(path, sizeof(path), "%.*s/%s/%s", (int)(slash - self), self,
                               beside[i], name);
                if (is_program(path))
                        return mem_strdup(path);
        }
        strbuf_addf(&installed, SBX_LIBEXECDIR "/%s", name);
        return strbuf_take(&installed);
}

char *engine_find_beside(const char *helper, const char *name, const char *room)
{
        const char *slash = helper ? strrchr(helper, '/') : NULL;
        int length = slash ? (int)(slash - helper + 1) : 0;
        char path[4200], *real;

        (void)snprintf(path, sizeof(path), "%.*s%s", length, helper, name);
        real = slash ? realpath(path, NULL) : NULL;
        if (real || !slash)
                return real;
        (void)snprintf(path, sizeof(path), "%.*s../%s/%s", length, helper, room, name);
        return realpath(path, NULL);
}

char *engine_need_beside(const struct engine *engine, const char *name, const char *room,
                         struct error *err)
{
        char *path = engine_find_beside(engine->init_path, name, room);

        if (!path) {
                (void)error_set(err, SBX_ESYSTEM, "start '%s': No such file or directory", name);
                error_hint(err, "install it beside sandbox-init");
        }
        return path;
}

static char *find_analyze(const char *init_path)
{
        const char *chosen = secure_getenv("SANDBOX_ANALYZE");
        char *path = chosen && *chosen
                             ? NULL
                             : engine_find_beside(init_path, "sandbox-analyze", "analysis");

        return path ? path : engine_find_helper("sandbox-analyze", "SANDBOX_ANALYZE");
}

const char *engine_analyze_path(struct engine *engine)
{
        const char *path;

        (void)pthread_mutex_lock(&engine->lock);
        if (!engine->analyze_path)
                engine->analyze_path = find_analyze(engine->init_path);
        path = engine->analyze_path;
        (void)pthread_mutex_unlock(&engine->lock);
        return path;
}

/* Where versions of languages and compiled programs are kept. Without a place, nothing is. */
static char *find_cache(void)
{
        const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
        const char *chosen = secure_getenv("SANDBOX_CACHE_DIR");
        AUTO_STRBUF struct strbuf path = { 0 };

        if (chosen && chosen[0] == '/')
                return mem_strdup(chosen);
        if (geteuid() == 0)
                return mem_strdup("/var/cache/sandbox");
        if (cache && cache[0] == '/')
                strbuf_addf(&path, "%s/sandbox", cache);
        else if (home && home[0] == '/')
                strbuf_addf(&path, "%s/.cache/sandbox", home);
        return path.length && !path.failed ? strbuf_take(&path) : NULL;
}

/* One that does not answer is none. */
static void find_keeper(struct engine *engine, const char *path)
{
        engine->keeper_fd = keeper_connect(path);
        if (engine->keeper_fd >= 0)
                engine->keeper_path = mem_strdup(path);
}

/* Where it fails, the run starts one of its own and tells what is wrong. */
static void start_early(struct engine *engine)
{
        struct helper *helper = mem_alloc(sizeof(*helper));
        const char *hint = engine->identity.user_namespace ? NULL : HELPER_HINT_NETWORK_FIRST;

        if (helper && helper_start(helper, engine->init_path, hint) < 0) {
                mem_free(helper);
                helper = NULL;
        }
        engine->early = helper;
}

int engine_init(struct engine *engine, const struct engine_options *options, struct error *err)
{
        pthread_condattr_t by_clock;
        int r;

        *engine = (struct engine){ .max_runs = options->max_runs ? options->max_runs : ENGINE_RUNS,
                                   .history = { .dir = -1 } };
        (void)pthread_mutex_init(&engine->lock, NULL); /* cannot fail with default attributes */
        (void)pthread_condattr_init(&by_clock); /* nor can these, with a clock that is there */
        (void)pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
        (void)pthread_cond_init(&engine->freed, &by_clock);
        (void)pthread_condattr_destroy(&by_clock);
        engine->keeper_fd = -1;
        engine->serves_alone = options->serves_alone;
        for (int i = 0; i < CGROUP_CONTROLLERS; i++)
                engine->site.parent_fds[i] = -1;
        engine->identity.user_namespace = !is_privileged();
        r = fd_open_standard(NULL) < 0 ? error_set_errno(err, "open /dev/null") : 0;
        engine->init_path = options->init_path ? mem_strdup(options->init_path)
                                               : engine_find_helper("sandbox-init", "SANDBOX_INIT");
        /* One that has nests of its own would only take up a keeper's time. */
        if (r == 0 && options->keeper_path && options->warm_slots == 0)
                find_keeper(engine, options->keeper_path);
        /* What it does not need to know is looked up while it starts. */
        if (r == 0 && options->early_start && engine->init_path && !engine->keeper_path)
                start_early(engine);
        if (r == 0)
                r = find_identity(&engine->identity, err);
        if (r == 0)
                r = cgroup_site_open(&engine->site, err);
        if (r < 0) {
                engine_done(engine);
                return r;
        }
        engine->languages = languages_new();
        engine->cache_dir = find_cache();
        history_init(&engine->history);
        engine->cache_bytes = COMPILED_BYTES;
        if (options->warm_slots > 0 || engine->keeper_path)
                engine->park_path =
                        engine_find_beside(engine->init_path, "sandbox-park.so", "park");
        if (options->warm_slots > 0) {
                engine->nests = nests_new(engine, options);
                engine->analysed = analysis_memory_new(); /* without, nothing is remembered */
                engine->tools = tools_new();              /* as well */
        }
        if (!engine->languages || !engine->init_path || (options->warm_slots && !engine->nests)) {
                engine_done(engine);
                return error_set_nomem(err);
        }
        return 0;
}

void engine_done(struct engine *engine)
{
        nests_free(engine->nests);
        analysis_memory_free(engine->analysed);
        tools_free(engine->tools);
        fd_close(engine->keeper_fd);
        mem_free(engine->keeper_path);
        if (engine->early) {
                helper_dismiss(engine->early);
                mem_free(engine->early);
        }
        languages_free(engine->languages);
        mem_free(engine->init_path);
        mem_free(engine->analyze_path);
        mem_free(engine->park_path);
        mem_free(engine->cache_dir);
        history_done(&engine->history);
        cgroup_site_close(&engine->site);
        (void)pthread_cond_destroy(&engine->freed);
        (void)pthread_mutex_destroy(&engine->lock);
}
