/* A run: the module or the guest, what it may have, how it ended. */
#include "wasm/worker.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Who is interrupted by a signal. */
static const struct wasm_engine *interrupted;
static volatile bool stop;

static void on_term(int signal)
{
        (void)signal;
        stop = true;
        if (interrupted)
                wasm_engine_interrupt(interrupted);
}

static void watch_signals(const struct worker *worker)
{
        struct sigaction action = { .sa_handler = on_term };

        interrupted = &worker->engine;
        (void)sigaction(SIGTERM, &action, NULL);
        /* They come back as errors of the call. */
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
}

void *worker_map(const char *path, size_t *ret_size)
{
        AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat st;
        void *data;

        if (fd < 0 || fstat(fd, &st) < 0)
                return NULL;
        if (st.st_size <= 0 || st.st_size > WORKER_MODULE_MAX) {
                errno = st.st_size > 0 ? EFBIG : EINVAL;
                return NULL;
        }
        *ret_size = (size_t)st.st_size;
        data = mmap(NULL, *ret_size, PROT_READ, MAP_PRIVATE, fd, 0);
        return data == MAP_FAILED ? NULL : data;
}

/* ---- how it ends ---- */

static void tell(struct worker *worker, enum wasm_end end, const char *text)
{
        worker->report.magic = WASM_REPORT_MAGIC;
        worker->report.end = end;
        (void)snprintf(worker->report.text, sizeof(worker->report.text), "%s", text);
        if (worker->has_report &&
            pwrite(WASM_REPORT_FD, &worker->report, sizeof(worker->report), 0) < 0)
                (void)fprintf(stderr, "sandbox: write the report: %s\n", strerror(errno));
}

static int give_up(struct worker *worker, enum wasm_end end, const char *what, const char *why)
{
        char text[sizeof(worker->report.text)];

        (void)snprintf(text, sizeof(text), "%.60s%s%.170s", what, *why ? ": " : "", why);
        if (end != WASM_END_BROKEN || !worker->has_report) /* who reads the report says it */
                (void)fprintf(stderr, "sandbox: %s\n", text);
        tell(worker, end, text);
        return end == WASM_END_BROKEN ? 125 : 1;
}

static int finish(struct worker *worker, enum wasm_trap trap, int32_t value)
{
        static const struct {
                enum wasm_trap trap;
                enum wasm_end end;
                int code;
        } ends[] = {
                { WASM_TRAP_FUEL, WASM_END_FUEL, 124 },
                { WASM_TRAP_INTERRUPT, WASM_END_STOPPED, 143 },
                { WASM_TRAP_OTHER, WASM_END_TRAP, WASM_TRAP_EXIT },
                { WASM_TRAP_HOST, WASM_END_STOPPED, 143 },
        };

        if (stop && !worker->wasi.has_exited && trap != WASM_TRAP_NONE) {
                tell(worker, WASM_END_STOPPED, "");
                /* As a program does that has nothing to say to the signal. */
                (void)signal(SIGTERM, SIG_DFL);
                (void)raise(SIGTERM);
        }
        if (worker->wasi.has_exited || trap == WASM_TRAP_NONE) {
                int code = worker->wasi.has_exited ? worker->wasi.exit_code : value;

                tell(worker, value == WASM_CODE_MEMORY ? WASM_END_MEMORY : WASM_END_EXITED, "");
                return value == WASM_CODE_MEMORY ? 1 : code & 255;
        }
        for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
                if (ends[i].trap == trap) {
                        if (ends[i].end == WASM_END_TRAP)
                                (void)fprintf(stderr, "sandbox: %s\n", worker->engine.why);
                        tell(worker, ends[i].end, worker->engine.why);
                        return ends[i].code;
                }
        return 1;
}

/* ---- what it is given ---- */

/* Without the variable that is ours. */
static void take_environment(struct wasi *wasi, char **environment)
{
        size_t kept = 0;

        for (char **variable = environment; *variable; variable++)
                if (!str_has_prefix(*variable, WASM_VARIABLE "="))
                        environment[kept++] = *variable;
        wasi->environment = environment;
        wasi->environment_count = kept;
}

static const char *find_orders(char **environment)
{
        for (char **variable = environment; *variable; variable++)
                if (str_has_prefix(*variable, WASM_VARIABLE "="))
                        return *variable + strlen(WASM_VARIABLE "=");
        return NULL;
}

static int give_directories(struct worker *worker, const struct wasm_orders *orders)
{
        for (size_t i = 0; i < orders->directory_count; i++) {
                const struct wasm_directory *one = &orders->directories[i];

                if (wasi_give(&worker->wasi, one->inside, one->outside, one->writable) < 0 &&
                    errno != ENOENT)
                        return give_up(worker, WASM_END_BROKEN, one->outside, strerror(errno));
        }
        return 0;
}

int worker_load(struct worker *worker, const char *parts, const char *guest)
{
        enum wasm_trap trap;
        char path[4096];
        size_t size = 0;
        void *library;

        (void)snprintf(path, sizeof(path), "%s/libwasmtime.so", parts);
        if (wasm_engine_open(&worker->engine, path) < 0)
                return -1;
        wasi_init(&worker->wasi, &worker->engine, &stop);
        if (wasi_define(&worker->wasi) < 0)
                return -1;
        if (str_equal(guest, "module"))
                return 0;
        (void)snprintf(path, sizeof(path), "%s/%s.zip", parts, guest);
        library = worker_map(path, &size);
        if (wasi_give_library(&worker->wasi, library, size) < 0)
                return -1;
        (void)snprintf(path, sizeof(path), "%s/%s.cwasm", parts, guest);
        /* Limits come with the run: there is nothing in it yet that could use anything up. */
        return wasm_engine_load_image(&worker->engine, path) < 0 ||
                               wasm_engine_set_limits(&worker->engine, UINT32_MAX, UINT64_MAX) < 0
                       ? -1
                       : wasm_engine_instantiate(&worker->engine, &trap);
}

/* How a call of the module ended, with what it used up to there. */
static int conclude(struct worker *worker, const struct wasm_orders *orders, enum wasm_trap trap,
                    int32_t value)
{
        size_t size;
        uint64_t left;

        (void)wasm_engine_memory(&worker->engine, &size);
        worker->report.memory_peak = size;
        left = trap == WASM_TRAP_FUEL ? 0 : wasm_engine_fuel_left(&worker->engine);
        worker->report.fuel_consumed = orders->fuel > left ? orders->fuel - left : 0;
        return finish(worker, trap, value);
}

static int call(struct worker *worker, const struct wasm_orders *orders, const char *name)
{
        enum wasm_trap trap = WASM_TRAP_HOST;
        int32_t value = 0;

        if (!stop)
                trap = wasm_engine_call(&worker->engine, name, &value);
        return conclude(worker, orders, trap, value);
}

/* Links the module and runs its start function, which is code of its own already: how that ends is
 * how a run ends. */
static int start_module(struct worker *worker, const struct wasm_orders *orders)
{
        enum wasm_trap trap = WASM_TRAP_NONE;
        bool is_memory;

        if (wasm_engine_set_limits(&worker->engine, orders->memory_bytes, orders->fuel) == 0 &&
            wasm_engine_instantiate(&worker->engine, &trap) == 0)
                return wasm_engine_has(&worker->engine, "_start")
                               ? call(worker, orders, "_start")
                               : give_up(worker, WASM_END_REFUSED,
                                         "the module has no function '_start'",
                                         "it is a library, not a program");
        if (trap == WASM_TRAP_NONE && (worker->wasi.has_exited || stop))
                trap = WASM_TRAP_HOST; /* a function of ours ended it, which is told otherwise */
        if (trap != WASM_TRAP_NONE)
                return conclude(worker, orders, trap, 0);
        is_memory = strstr(worker->engine.why, "exceeds memory limits") != NULL;
        return give_up(worker, is_memory ? WASM_END_MEMORY : WASM_END_REFUSED,
                       "the module cannot be started", worker->engine.why);
}

/* A module of the user's: compiled in here, under the limits of the run. */
static int run_module(struct worker *worker, const struct wasm_orders *orders, const char *path)
{
        size_t size = 0;
        void *bytes = worker_map(path, &size);
        int r;

        if (!bytes)
                return give_up(worker, WASM_END_REFUSED, "read the module", strerror(errno));
        r = wasm_engine_load_module(&worker->engine, bytes, size);
        (void)munmap(bytes, size);
        if (r < 0)
                return give_up(worker, WASM_END_REFUSED, "not a module that can be run",
                               worker->engine.why);
        return start_module(worker, orders);
}

static int run(struct worker *worker, const struct wasm_orders *orders, const char *program)
{
        int r;

        watch_signals(worker);
        r = give_directories(worker, orders);
        if (r != 0)
                return r;
        if (str_equal(orders->guest, "module"))
                return run_module(worker, orders, program);
        if (wasm_engine_set_limits(&worker->engine, orders->memory_bytes, orders->fuel) < 0)
                return give_up(worker, WASM_END_BROKEN, "set limits", worker->engine.why);
        return call(worker, orders, "run");
}

int worker_run(struct worker *worker, char **arguments, size_t argument_count, char **environment)
{
        const char *text = find_orders(environment);
        struct wasm_orders orders;
        struct stat st;
        int code;

        /* Whoever runs the worker by hand has no such file; later, others may get its number. */
        worker->has_report = fstat(WASM_REPORT_FD, &st) == 0 && S_ISREG(st.st_mode) &&
                             st.st_size == sizeof(worker->report);

        if (!text || argument_count < 1 || wasm_orders_read(text, &orders) < 0)
                return give_up(worker, WASM_END_BROKEN, "the worker has no orders", "");
        if (!worker->is_ready && worker_load(worker, orders.parts, orders.guest) < 0) {
                code = give_up(worker, WASM_END_BROKEN, WASM_NOT_LOADED, worker->engine.why);
        } else {
                take_environment(&worker->wasi, environment);
                worker->wasi.arguments = arguments;
                worker->wasi.argument_count = argument_count;
                code = run(worker, &orders, arguments[0]);
        }
        wasm_orders_done(&orders);
        return code;
}
