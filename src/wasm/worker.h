/* The parts of the worker program. */
#ifndef WASM_WORKER_H
#define WASM_WORKER_H

#include "wasm/engine.h"
#include "wasm/orders.h"
#include "wasm/report.h"
#include "wasm/wasi.h"

struct worker {
        struct wasm_engine engine;
        struct wasi wasi;
        bool is_ready;   /* engine and guest are loaded: the worker was parked */
        bool has_report; /* somebody wants to know how it ended */
        struct wasm_report report;
};

enum { WORKER_MODULE_MAX = 256 << 20 };

/* run.c: opens engine and image of a guest and prepares it. 0, or -1 with the engine's `why`. */
int worker_load(struct worker *worker, const char *parts, const char *guest);
/* Does what the variable of its environment orders; the code to leave with. */
int worker_run(struct worker *worker, char **arguments, size_t argument_count, char **environment);
/* The file, mapped or read; NULL with errno. */
void *worker_map(const char *path, size_t *ret_size);

/* build.c: what the build of the guests needs. The code to leave with. */
int worker_build(int argc, char **argv);

#endif
