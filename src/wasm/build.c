/* What the build of the guests needs: the memory of one after its preparation, and its image. */
#include "wasm/worker.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static volatile bool never;

static int fail(const char *what, const char *why)
{
        (void)fprintf(stderr, "sandbox-wasm: error: %s: %s\n", what, why);
        return 1;
}

static int write_file(const char *path, const void *data, size_t size)
{
        AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        if (fd < 0 || fd_write_all(fd, data, size) < 0)
                return fail(path, strerror(errno));
        return 0;
}

static int load(struct worker *worker, const char *engine, const char *module)
{
        size_t size;
        void *bytes = worker_map(module, &size);

        if (!bytes)
                return fail(module, strerror(errno));
        if (wasm_engine_open(&worker->engine, engine) < 0)
                return fail(engine, worker->engine.why);
        if (wasm_engine_load_module(&worker->engine, bytes, size) < 0)
                return fail(module, worker->engine.why);
        return 0;
}

/* --compile ENGINE MODULE IMAGE */
static int compile(struct worker *worker, char **argv)
{
        struct wasm_bytes image;
        int r = load(worker, argv[0], argv[1]);

        if (r)
                return r;
        if (wasm_engine_image(&worker->engine, &image) < 0)
                return fail(argv[1], worker->engine.why);
        return write_file(argv[2], image.data, image.size);
}

/* --snapshot ENGINE MODULE LIBRARY MEMORY: LIBRARY may be empty */
static int snapshot(struct worker *worker, char **argv)
{
        static const char *const calls[] = { "_initialize", "prepare" };
        void *library = NULL;
        enum wasm_trap trap;
        uint8_t *memory;
        size_t size = 0;
        int32_t value;
        int r = load(worker, argv[0], argv[1]);

        if (r)
                return r;
        if (argv[2][0] && !(library = worker_map(argv[2], &size)))
                return fail(argv[2], strerror(errno));
        wasi_init(&worker->wasi, &worker->engine, &never);
        if (wasi_define(&worker->wasi) < 0 || wasi_give_library(&worker->wasi, library, size) < 0 ||
            wasm_engine_set_limits(&worker->engine, UINT32_MAX, UINT64_MAX) < 0 ||
            wasm_engine_instantiate(&worker->engine, &trap) < 0)
                return fail(argv[1], worker->engine.why);
        for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
                if (wasm_engine_call(&worker->engine, calls[i], &value) != WASM_TRAP_NONE ||
                    value != 0)
                        return fail(calls[i], worker->engine.why);
        memory = wasm_engine_memory(&worker->engine, &size);
        return memory ? write_file(argv[3], memory, size) : fail(argv[1], "it has no memory");
}

int worker_build(int argc, char **argv)
{
        static const struct {
                const char *word;
                int arguments;
                int (*go)(struct worker *worker, char **argv);
        } ways[] = {
                { "--compile", 3, compile },
                { "--snapshot", 4, snapshot },
        };
        static struct worker worker;

        for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
                if (argc == 2 + ways[i].arguments && str_equal(argv[1], ways[i].word))
                        return ways[i].go(&worker, argv + 2);
        return fail("usage",
                    "--compile ENGINE MODULE IMAGE | --snapshot ENGINE MODULE LIBRARY MEMORY");
}
