/*
 * A module of the user's in the worker's engine, under limits: whatever the bytes are, they are
 * refused, or they run and end, with no more memory and fuel than they were given. Leaves with 77
 * where the engine was not built.
 */
#include "wasm/engine.h"
#include "wasm/wasi.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOT_BUILT = 77, MODULE_MAX = 1 << 16, WALL_MS = 500, FUEL = 200000, MEMORY = 16 << 20 };

static struct wasm_engine engine;
static struct wasi wasi;
static volatile bool stop;
static int nowhere;

static void require(bool condition)
{
        if (!condition)
                abort();
}

static void on_alarm(int signal)
{
        (void)signal;
        stop = true;
        wasm_engine_interrupt(&engine);
}

static void open_engine(void)
{
        const struct sigaction action = { .sa_handler = on_alarm };
        const char *path = getenv("SANDBOX_WASM_ENGINE");

        if (wasm_engine_open(&engine, path ? path : WASM_ENGINE) < 0) {
                (void)fprintf(stderr, "skipped: %s\n", engine.why);
                exit(NOT_BUILT);
        }
        wasi_init(&wasi, &engine, &stop);
        require(wasi_define(&wasi) == 0);
        nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
        require(nowhere >= 0 && sigaction(SIGALRM, &action, NULL) == 0);
}

/* A host as a run has it at its beginning: three streams, and a library that is not there. */
static void begin(void)
{
        static char *words[] = { "program", "argument" };

        stop = false;
        wasi_init(&wasi, &engine, &stop);
        for (int i = 0; i < 3; i++)
                wasi.files[i].fd = nowhere;
        require(wasi_give_library(&wasi, NULL, 0) == 0);
        wasi.arguments = wasi.environment = words;
        wasi.argument_count = wasi.environment_count = 2;
}

static void set_alarm(int milliseconds)
{
        const struct itimerval time = { .it_value.tv_usec = milliseconds * 1000 };

        require(setitimer(ITIMER_REAL, &time, NULL) == 0);
}

static void run(void)
{
        enum wasm_trap trap = WASM_TRAP_NONE;
        int32_t value;
        size_t size;

        require(wasm_engine_set_limits(&engine, MEMORY, FUEL) == 0);
        if (wasm_engine_instantiate(&engine, &trap) == 0 && wasm_engine_has(&engine, "_start"))
                (void)wasm_engine_call(&engine, "_start", &value);
        (void)wasm_engine_memory(&engine, &size);
        require(size <= MEMORY && wasm_engine_fuel_left(&engine) <= FUEL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (!engine.engine)
                open_engine();
        if (size > MODULE_MAX)
                return 0;
        begin();
        set_alarm(WALL_MS);
        if (wasm_engine_load_module(&engine, data, size) == 0)
                run();
        set_alarm(0);
        for (uint32_t i = 3; i < WASI_FILES_MAX; i++)
                if (wasi_file(&wasi, i))
                        wasi_drop(&wasi.files[i]);
        require(wasm_engine_unload(&engine) == 0);
        return 0;
}
