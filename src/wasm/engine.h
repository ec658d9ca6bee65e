/*
 * The engine, as the worker sees it: load a module, run it with fuel and a memory limit, interrupt
 * it. Everything of libwasmtime is behind this, and the library is loaded when it is opened.
 */
#ifndef WASM_ENGINE_H
#define WASM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values as the library lays them out. */
union wasm_raw {
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
        uint8_t v128[16];
} __attribute__((aligned(8)));

struct wasm_bytes {
        size_t size;
        char *data;
};
struct wasm_pointers {
        size_t size;
        void **data;
};
struct wasm_instance {
        uint64_t store;
        size_t index;
};
struct wasm_func {
        uint64_t store;
        void *function;
};
struct wasm_memory {
        uint64_t store;
        uint32_t a;
        uint32_t padding;
        uint32_t b;
};
struct wasm_extern {
        uint8_t kind;
        union {
                struct wasm_func func;
                struct wasm_memory memory;
                uint64_t room[3];
        } of;
};

typedef void *(*wasm_callback)(void *data, void *caller, union wasm_raw *values, size_t count);

struct wasm_library {
#define X(type, name, parameters) type(*name) parameters;
#include "wasm/wasmtime.def"
#undef X
};

enum { WASM_WHY_MAX = 240 };

struct wasm_engine {
        struct wasm_library call;
        void *engine, *module, *linker, *store, *context;
        struct wasm_instance instance;
        struct wasm_memory memory;
        bool has_memory;
        char why[WASM_WHY_MAX]; /* the last thing that went wrong */
};

/* How a call ended. */
enum wasm_trap {
        WASM_TRAP_NONE,
        WASM_TRAP_FUEL,
        WASM_TRAP_INTERRUPT,
        WASM_TRAP_HOST, /* a function of ours ended it */
        WASM_TRAP_OTHER,
};

/* All of these: 0, or -1 with `why`. */
int wasm_engine_open(struct wasm_engine *engine, const char *library);
int wasm_engine_load_image(struct wasm_engine *engine, const char *path);
int wasm_engine_load_module(struct wasm_engine *engine, const void *bytes, size_t length);
/* Lets go of the module and all that it had, so that another one can be loaded. */
int wasm_engine_unload(struct wasm_engine *engine);
/* The loaded module as native code. The bytes are the engine's until it ends. */
int wasm_engine_image(struct wasm_engine *engine, struct wasm_bytes *ret_image);
/* Gives the module a function. `signature`: 'i' and 'I' for parameters of 32 and 64 bits; it
 * returns a number of 32 bits, or nothing where it ends the program. */
int wasm_engine_define(struct wasm_engine *engine, const char *module, const char *name,
                       const char *signature, bool returns, wasm_callback callback, void *data);
/* May be set again at any time before the call. */
int wasm_engine_set_limits(struct wasm_engine *engine, uint64_t memory_bytes, uint64_t fuel);
/* Where the module's own start function ended it, the trap says how; else that is NONE. */
int wasm_engine_instantiate(struct wasm_engine *engine, enum wasm_trap *ret_trap);

/* Makes what is loaded cheap to copy by fork. */
int wasm_engine_settle(struct wasm_engine *engine);

/* Whether it exports a function of this name that takes nothing. */
bool wasm_engine_has(struct wasm_engine *engine, const char *name);
/* Calls one; the number it returns, or 0. */
enum wasm_trap wasm_engine_call(struct wasm_engine *engine, const char *name, int32_t *ret_value);
/* May be called from a signal handler. */
void wasm_engine_interrupt(const struct wasm_engine *engine);
uint64_t wasm_engine_fuel_left(struct wasm_engine *engine);
/* Its memory, and how large that is; NULL where it has none (yet). */
uint8_t *wasm_engine_memory(struct wasm_engine *engine, size_t *ret_size);
/* The same from within a function that it called, which may be before it is instantiated. */
uint8_t *wasm_engine_caller_memory(struct wasm_engine *engine, void *caller, size_t *ret_size);

#endif
