/* Nests and parked interpreters, made and ended. Both take a while: no lock is held here. */
#include "engine/nests.h"
#include "engine/docker.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <fcntl.h>

enum { PARK_START_MS = 30000, LIBRARY_MAX = 16 << 20, PARK_PROCESSES = 64, PARK_CPU_MILLI = 1000 };
#define PARK_MEMORY_MOST (UINT64_C(2) << 30)

static int decode(const struct strbuf *bytes, struct plan *ret_plan, void **ret_arena)
{
        size_t size = plan_arena_size(bytes->length);

        *ret_arena = mem_alloc(size);
        return *ret_arena && !plan_decode(bytes->data, bytes->length, *ret_arena, size, ret_plan)
                       ? 0
                       : -1;
}

static struct backend_host host_of(struct engine *engine)
{
        struct backend_host host = { .init_path = engine->init_path, .site = &engine->site };

        (void)pthread_mutex_lock(&engine->lock);
        host.number = engine->next_number++;
        (void)pthread_mutex_unlock(&engine->lock);
        return host;
}

void nest_drop(struct nest *nest)
{
        nest_end(nest);
        mem_free(nest);
}

void park_drop(struct park *park)
{
        park_end(park);
        mem_free(park);
}

/* Inside the container there is no path to the library: it is a file without a name, which nobody
 * can change. */
static int copy_library(const struct engine *engine)
{
        AUTO_CLOSE int fd = open(engine->park_path, O_RDONLY | O_CLOEXEC);
        AUTO_FREE char *bytes = NULL;
        size_t length = 0;

        if (fd < 0 || fd_read_all(fd, LIBRARY_MAX, "the library", &bytes, &length, NULL) < 0)
                return -1;
        return fd_memfile("library", bytes, length);
}

static int place_guest(struct engine *engine, struct nest *nest, const struct strbuf *bytes)
{
        AUTO_CLOSE int library = copy_library(engine);
        AUTO_FREE void *arena = NULL;
        struct plan plan;

        if (library < 0 || decode(bytes, &plan, &arena) < 0)
                return -1;
        return nest_place(&backend_container, nest, &plan, library);
}

/* By the helper that makes such ones: for a container engine's it is another. */
static int start_nest(struct engine *engine, const struct nest_kind *kind, struct nest *nest)
{
        AUTO_FREE char *helper = engine_find_helper("sandbox-docker", "SANDBOX_DOCKER");
        AUTO_FREE void *arena = NULL;
        struct plan plan;
        struct backend_host host;
        bool is_engines;

        if (!helper || decode(&kind->nest_plan, &plan, &arena) < 0)
                return -1;
        is_engines = plan.docker[0] != '\0';
        host = is_engines ? docker_host(helper) : host_of(engine);
        if (nest_start(is_engines ? &backend_docker : &backend_container, &host, &plan,
                       &kind->limits, nest, NULL) < 0)
                return -1;
        return nest_wait(nest) == 0 ? 1 : 0; /* the helper's path is not needed any more */
}

struct nest *nest_build(struct engine *engine, const struct nest_kind *kind,
                        const struct park *park)
{
        struct nest *nest = mem_alloc(sizeof(*nest));
        int r = nest ? start_nest(engine, kind, nest) : -1;

        if (r < 0) {
                mem_free(nest);
                return NULL;
        }
        if (r > 0 &&
            (!nest_kind_has_guest(kind) || place_guest(engine, nest, &kind->park_plan) == 0)) {
                if (!kind->is_once)
                        (void)nest_prepare(nest, park); /* else, when its run comes */
                return nest;
        }
        nest_drop(nest);
        return NULL;
}

struct park *park_build(struct engine *engine, const struct strbuf *bytes, uint64_t memory)
{
        struct cgroup_limits limits = { memory < PARK_MEMORY_MOST ? memory : PARK_MEMORY_MOST,
                                        PARK_PROCESSES, PARK_CPU_MILLI };
        struct backend_host host = host_of(engine);
        struct park *park = mem_alloc(sizeof(*park));
        AUTO_FREE void *arena = NULL;
        struct plan plan;

        if (!park || decode(bytes, &plan, &arena) < 0 ||
            park_start(&host, &plan, &limits, park, NULL) < 0) {
                mem_free(park);
                return NULL;
        }
        if (park_wait(park, PARK_START_MS) == 0)
                return park;
        park_drop(park);
        return NULL;
}
