/* The host of a module: memory, arguments, clocks, randomness, its end; and the table of calls. */
#include "wasm/wasi.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define WASI_MODULE "wasi_snapshot_preview1"

enum { FUNCTIONS_MAX = 64, CLOCKS = 4 };

/* ---- memory and files ---- */

void *wasi_at(const struct wasi *wasi, uint32_t at, uint64_t size)
{
        if (!wasi->memory || at > wasi->memory_size || size > wasi->memory_size - at)
                return NULL;
        return wasi->memory + at;
}

bool wasi_put32(const struct wasi *wasi, uint32_t at, uint32_t value)
{
        void *place = wasi_at(wasi, at, sizeof(value));

        return place && memcpy(place, &value, sizeof(value));
}

bool wasi_put64(const struct wasi *wasi, uint32_t at, uint64_t value)
{
        void *place = wasi_at(wasi, at, sizeof(value));

        return place && memcpy(place, &value, sizeof(value));
}

struct wasi_file *wasi_file(struct wasi *wasi, uint32_t number)
{
        if (number >= WASI_FILES_MAX || wasi->files[number].kind == WASI_FREE)
                return NULL;
        return &wasi->files[number];
}

int wasi_add(struct wasi *wasi, const struct wasi_file *file)
{
        for (int i = 0; i < WASI_FILES_MAX; i++)
                if (wasi->files[i].kind == WASI_FREE) {
                        wasi->files[i] = *file;
                        return i;
                }
        return -1;
}

void wasi_drop(struct wasi_file *file)
{
        if (file->kind != WASI_STREAM) /* our own three stay ours */
                fd_close(file->fd);
        mem_free(file->preopen);
        *file = (struct wasi_file){ .kind = WASI_FREE, .fd = -1 };
}

void wasi_init(struct wasi *wasi, struct wasm_engine *engine, volatile bool *stop)
{
        *wasi = (struct wasi){ .engine = engine, .stop = stop };
        for (int i = 0; i < WASI_FILES_MAX; i++)
                wasi->files[i].fd = -1;
        for (int i = 0; i < 3; i++)
                wasi->files[i] = (struct wasi_file){
                        .kind = WASI_STREAM, .fd = i, .readable = i == 0, .writable = i > 0
                };
}

static int give(struct wasi *wasi, struct wasi_file file, const char *inside)
{
        file.preopen = mem_strdup(inside);
        if (file.preopen && wasi_add(wasi, &file) >= 0)
                return 0;
        mem_free(file.preopen);
        fd_close(file.fd);
        errno = ENOMEM;
        return -1;
}

int wasi_give(struct wasi *wasi, const char *inside, const char *outside, bool writable)
{
        int fd = open(outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return -1;
        return give(wasi, (struct wasi_file){ .kind = WASI_DIR, .fd = fd, .writable = writable },
                    inside);
}

int wasi_give_library(struct wasi *wasi, const void *data, size_t size)
{
        wasi->library = data;
        wasi->library_size = size;
        return give(wasi, (struct wasi_file){ .kind = WASI_SHELF, .fd = -1 }, "/lib");
}

/* ---- words ---- */

static uint32_t put_sizes(const struct wasi *wasi, char **words, size_t count,
                          const union wasm_raw *in)
{
        uint64_t bytes = 0;

        for (size_t i = 0; i < count; i++)
                bytes += strlen(words[i]) + 1;
        return wasi_put32(wasi, wasi_u32(in[0]), (uint32_t)count) &&
                               wasi_put32(wasi, wasi_u32(in[1]), (uint32_t)bytes)
                       ? WASI_OK
                       : WASI_EFAULT;
}

static uint32_t put_words(const struct wasi *wasi, char **words, size_t count,
                          const union wasm_raw *in)
{
        uint32_t pointers = wasi_u32(in[0]), at = wasi_u32(in[1]);

        for (size_t i = 0; i < count; i++) {
                size_t length = strlen(words[i]) + 1;
                void *place = wasi_at(wasi, at, length);

                if (!place || !wasi_put32(wasi, pointers + (uint32_t)i * 4, at))
                        return WASI_EFAULT;
                memcpy(place, words[i], length);
                at += (uint32_t)length;
        }
        return WASI_OK;
}

static uint32_t args_sizes_get(struct wasi *wasi, const union wasm_raw *in)
{
        return put_sizes(wasi, wasi->arguments, wasi->argument_count, in);
}

static uint32_t args_get(struct wasi *wasi, const union wasm_raw *in)
{
        return put_words(wasi, wasi->arguments, wasi->argument_count, in);
}

static uint32_t environ_sizes_get(struct wasi *wasi, const union wasm_raw *in)
{
        return put_sizes(wasi, wasi->environment, wasi->environment_count, in);
}

static uint32_t environ_get(struct wasi *wasi, const union wasm_raw *in)
{
        return put_words(wasi, wasi->environment, wasi->environment_count, in);
}

/* ---- time, chance, the end ---- */

static const clockid_t clocks[CLOCKS] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                          CLOCK_THREAD_CPUTIME_ID };

static uint32_t put_time(const struct wasi *wasi, uint32_t at, int r, const struct timespec *time)
{
        if (r < 0)
                return wasi_errno(errno);
        return wasi_put64(wasi, at,
                          (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec)
                       ? WASI_OK
                       : WASI_EFAULT;
}

static uint32_t clock_res_get_(struct wasi *wasi, const union wasm_raw *in)
{
        struct timespec time;

        if (wasi_u32(in[0]) >= CLOCKS)
                return WASI_EINVAL;
        return put_time(wasi, wasi_u32(in[1]), clock_getres(clocks[wasi_u32(in[0])], &time), &time);
}

static uint32_t clock_time_get(struct wasi *wasi, const union wasm_raw *in)
{
        struct timespec time;

        if (wasi_u32(in[0]) >= CLOCKS)
                return WASI_EINVAL;
        return put_time(wasi, wasi_u32(in[2]), clock_gettime(clocks[wasi_u32(in[0])], &time),
                        &time);
}

static uint32_t random_get(struct wasi *wasi, const union wasm_raw *in)
{
        uint32_t size = wasi_u32(in[1]), done = 0;
        uint8_t *place = wasi_at(wasi, wasi_u32(in[0]), size);

        if (!place)
                return WASI_EFAULT;
        while (done < size && !*wasi->stop) {
                ssize_t n = getrandom(place + done, size - done, 0);

                if (n < 0 && errno != EINTR)
                        return wasi_errno(errno);
                done += n > 0 ? (uint32_t)n : 0;
        }
        return WASI_OK;
}

static uint32_t sched_yield_(struct wasi *wasi, const union wasm_raw *in)
{
        (void)wasi;
        (void)in;
        (void)sched_yield();
        return WASI_OK;
}

static uint32_t proc_exit(struct wasi *wasi, const union wasm_raw *in)
{
        wasi->has_exited = wasi->is_over = true;
        wasi->exit_code = in[0].i32;
        return WASI_OK;
}

static uint32_t not_here(struct wasi *wasi, const union wasm_raw *in)
{
        (void)wasi;
        (void)in;
        return WASI_ENOSYS;
}

const struct wasi_function wasi_base_functions[] = {
        { "args_get", "ii", args_get },
        { "args_sizes_get", "ii", args_sizes_get },
        { "environ_get", "ii", environ_get },
        { "environ_sizes_get", "ii", environ_sizes_get },
        { "clock_res_get", "ii", clock_res_get_ },
        { "clock_time_get", "iIi", clock_time_get },
        { "random_get", "ii", random_get },
        { "sched_yield", "", sched_yield_ },
        { "poll_oneoff", "iiii", wasi_poll_oneoff },
        { "proc_exit", "i", proc_exit },
        { "proc_raise", "i", not_here },
        { "sock_accept", "iii", not_here },
        { "sock_recv", "iiiiii", not_here },
        { "sock_send", "iiiii", not_here },
        { "sock_shutdown", "ii", not_here },
        { NULL, NULL, NULL },
};

/* ---- the calls ---- */

struct binding {
        struct wasi *wasi;
        const struct wasi_function *function;
};

/* Every call comes through here. What it returns ends the program; NULL goes on. */
static void *dispatch(void *data, void *caller, union wasm_raw *values, size_t count)
{
        const struct binding *binding = data;
        struct wasi *wasi = binding->wasi;
        uint32_t result;

        wasi->memory = wasm_engine_caller_memory(wasi->engine, caller, &wasi->memory_size);
        result = binding->function->call(wasi, values);
        if (count > 0)
                values[0] = (union wasm_raw){ .i32 = (int32_t)result };
        if (*wasi->stop)
                wasi->is_over = true;
        return wasi->is_over ? wasi->engine->call.wasmtime_trap_new("end", 3) : NULL;
}

int wasi_define(struct wasi *wasi)
{
        static const struct wasi_function *const tables[] = { wasi_base_functions,
                                                              wasi_fd_functions,
                                                              wasi_path_functions };
        static struct binding bindings[FUNCTIONS_MAX];
        size_t used = 0;

        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                for (const struct wasi_function *one = tables[i]; one->name && used < FUNCTIONS_MAX;
                     one++, used++) {
                        bool returns = one->call != proc_exit;

                        bindings[used] = (struct binding){ wasi, one };
                        if (wasm_engine_define(wasi->engine, WASI_MODULE, one->name, one->signature,
                                               returns, dispatch, &bindings[used]) < 0)
                                return -1;
                }
        return 0;
}
