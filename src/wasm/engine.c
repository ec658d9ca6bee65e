#include "wasm/engine.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum {
        STACK_BYTES = 4 << 20,
        PARAMETERS_MAX = 16,
        TABLE_ELEMENTS = 1 << 20,
        INSTANCES = 1,
        TABLES = 16,
        MEMORIES = 1,
        EXTERN_FUNC = 0,
        EXTERN_MEMORY = 3,
        KIND_I32 = 0,
        KIND_I64 = 1,
        /* The library's numbers for what ends a program. */
        TRAP_CODE_INTERRUPT = 10,
        TRAP_CODE_FUEL = 11,
};

static int complain(struct wasm_engine *engine, const char *what, const char *why)
{
        (void)snprintf(engine->why, sizeof(engine->why), "%s%s%s", what, *what && *why ? ": " : "",
                       why);
        return -1;
}

/* Copies a message in one line; of a trap's, the cause alone: the library puts its frames before.
 */
static void keep_message(struct wasm_engine *engine, struct wasm_bytes *message, bool is_trap)
{
        static const char mark[] = "Caused by:";
        const char *from = message->data, *end = message->data + message->size;
        const char *cause = message->size && is_trap
                                    ? memmem(from, message->size, mark, sizeof(mark) - 1)
                                    : NULL;
        size_t n = 0;

        if (cause)
                from = cause + sizeof(mark) - 1;
        for (; from < end && *from && n + 1 < WASM_WHY_MAX; from++) {
                bool is_blank = *from == '\n' || *from == ' ';

                if (!is_blank || (n > 0 && engine->why[n - 1] != ' '))
                        engine->why[n++] = is_blank ? ' ' : *from;
        }
        engine->why[n] = '\0';
        engine->call.wasm_byte_vec_delete(message);
}

/* What went wrong, kept; NULL is success. */
static int settle(struct wasm_engine *engine, void *error)
{
        struct wasm_bytes message = { 0 };

        if (!error)
                return 0;
        engine->call.wasmtime_error_message(error, &message);
        keep_message(engine, &message, false);
        engine->call.wasmtime_error_delete(error);
        return -1;
}

static int load_library(struct wasm_engine *engine, const char *path)
{
        static const struct {
                const char *name;
                size_t offset;
        } functions[] = {
#define X(type, name, parameters) { #name, offsetof(struct wasm_library, name) },
#include "wasm/wasmtime.def"
#undef X
        };
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

        if (!library)
                return complain(engine, "", dlerror());
        for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
                void *symbol = dlsym(library, functions[i].name);

                if (!symbol)
                        return complain(engine, "the engine is of another version",
                                        functions[i].name);
                memcpy((char *)&engine->call + functions[i].offset, &symbol, sizeof(symbol));
        }
        return 0;
}

static int open_store(struct wasm_engine *engine)
{
        const struct wasm_library *call = &engine->call;

        engine->store = call->wasmtime_store_new(engine->engine, NULL, NULL);
        if (!engine->store)
                return complain(engine, "the engine has no store", "");
        engine->context = call->wasmtime_store_context(engine->store);
        call->wasmtime_context_set_epoch_deadline(engine->context, 1);
        return 0;
}

int wasm_engine_open(struct wasm_engine *engine, const char *library)
{
        const struct wasm_library *call = &engine->call;
        void *config;

        *engine = (struct wasm_engine){ 0 };
        if (load_library(engine, library) < 0)
                return -1;
        config = call->wasm_config_new();
        call->wasmtime_config_consume_fuel_set(config, true);
        call->wasmtime_config_epoch_interruption_set(config, true);
        call->wasmtime_config_max_wasm_stack_set(config, STACK_BYTES);
        call->wasmtime_config_async_stack_size_set(config, 2 * STACK_BYTES); /* it must be larger */
        /* One thread, whatever it does: the guest is counted by processes, and copied by fork. */
        call->wasmtime_config_parallel_compilation_set(config, false);
        call->wasmtime_config_wasm_threads_set(config, false);
        /* The same program does the same on every machine. */
        call->wasmtime_config_wasm_relaxed_simd_deterministic_set(config, true);
        call->wasmtime_config_native_unwind_info_set(config, false);
        engine->engine = call->wasm_engine_new_with_config(config);
        engine->linker = engine->engine ? call->wasmtime_linker_new(engine->engine) : NULL;
        if (!engine->linker)
                return complain(engine, "the engine does not start", "");
        return open_store(engine);
}

int wasm_engine_unload(struct wasm_engine *engine)
{
        engine->call.wasmtime_store_delete(engine->store);
        if (engine->module)
                engine->call.wasmtime_module_delete(engine->module);
        engine->module = NULL;
        engine->has_memory = false;
        return open_store(engine);
}

int wasm_engine_load_image(struct wasm_engine *engine, const char *path)
{
        return settle(engine, engine->call.wasmtime_module_deserialize_file(engine->engine, path,
                                                                            &engine->module));
}

int wasm_engine_load_module(struct wasm_engine *engine, const void *bytes, size_t length)
{
        return settle(engine, engine->call.wasmtime_module_new(engine->engine, bytes, length,
                                                               &engine->module));
}

int wasm_engine_image(struct wasm_engine *engine, struct wasm_bytes *ret_image)
{
        return settle(engine, engine->call.wasmtime_module_serialize(engine->module, ret_image));
}

int wasm_engine_define(struct wasm_engine *engine, const char *module, const char *name,
                       const char *signature, bool returns, wasm_callback callback, void *data)
{
        const struct wasm_library *call = &engine->call;
        void *types[PARAMETERS_MAX], *result, *type, *error;
        struct wasm_pointers parameters, results;
        size_t count = 0;

        for (; count < PARAMETERS_MAX && signature[count]; count++)
                types[count] =
                        call->wasm_valtype_new(signature[count] == 'I' ? KIND_I64 : KIND_I32);
        call->wasm_valtype_vec_new(&parameters, count, types);
        result = returns ? call->wasm_valtype_new(KIND_I32) : NULL;
        if (returns)
                call->wasm_valtype_vec_new(&results, 1, &result);
        else
                call->wasm_valtype_vec_new_empty(&results);
        type = call->wasm_functype_new(&parameters, &results);
        error = call->wasmtime_linker_define_func_unchecked(engine->linker, module, strlen(module),
                                                            name, strlen(name), type, callback,
                                                            data, NULL);
        call->wasm_functype_delete(type);
        return settle(engine, error);
}

int wasm_engine_set_limits(struct wasm_engine *engine, uint64_t memory_bytes, uint64_t fuel)
{
        int64_t most = memory_bytes > INT64_MAX ? INT64_MAX : (int64_t)memory_bytes;

        engine->call.wasmtime_store_limiter(engine->store, most, TABLE_ELEMENTS, INSTANCES, TABLES,
                                            MEMORIES);
        return settle(engine, engine->call.wasmtime_context_set_fuel(engine->context, fuel));
}

/* Which kind of end a trap is; its message is kept. */
static enum wasm_trap take_trap(struct wasm_engine *engine, void *trap)
{
        struct wasm_bytes message = { 0 };
        uint8_t code = 0;
        bool has_code = engine->call.wasmtime_trap_code(trap, &code);

        engine->call.wasm_trap_message(trap, &message);
        keep_message(engine, &message, true);
        engine->call.wasm_trap_delete(trap);
        if (!has_code)
                return WASM_TRAP_HOST;
        return code == TRAP_CODE_FUEL        ? WASM_TRAP_FUEL
               : code == TRAP_CODE_INTERRUPT ? WASM_TRAP_INTERRUPT
                                             : WASM_TRAP_OTHER;
}

int wasm_engine_instantiate(struct wasm_engine *engine, enum wasm_trap *ret_trap)
{
        struct wasm_extern memory;
        void *trap = NULL;
        void *error = engine->call.wasmtime_linker_instantiate(
                engine->linker, engine->context, engine->module, &engine->instance, &trap);

        *ret_trap = trap ? take_trap(engine, trap) : WASM_TRAP_NONE;
        if (trap || settle(engine, error) < 0)
                return -1;
        if (engine->call.wasmtime_instance_export_get(engine->context, &engine->instance, "memory",
                                                      6, &memory) &&
            memory.kind == EXTERN_MEMORY) {
                engine->memory = memory.of.memory;
                engine->has_memory = true;
        }
        return 0;
}

/* The function, and whether it returns something; false where there is none that can be called. */
static bool find_function(struct wasm_engine *engine, const char *name,
                          struct wasm_extern *ret_function, bool *ret_returns)
{
        const struct wasm_library *call = &engine->call;
        bool fits;
        void *type;

        if (!call->wasmtime_instance_export_get(engine->context, &engine->instance, name,
                                                strlen(name), ret_function) ||
            ret_function->kind != EXTERN_FUNC)
                return false;
        type = call->wasmtime_func_type(engine->context, &ret_function->of.func);
        *ret_returns = call->wasm_functype_results(type)->size == 1;
        fits = call->wasm_functype_params(type)->size == 0 &&
               call->wasm_functype_results(type)->size <= 1;
        call->wasm_functype_delete(type);
        return fits;
}

bool wasm_engine_has(struct wasm_engine *engine, const char *name)
{
        struct wasm_extern function;
        bool returns;

        return find_function(engine, name, &function, &returns);
}

enum wasm_trap wasm_engine_call(struct wasm_engine *engine, const char *name, int32_t *ret_value)
{
        struct wasm_extern function;
        union wasm_raw value = { 0 };
        void *trap = NULL, *error;
        bool returns;

        *ret_value = 0;
        if (!find_function(engine, name, &function, &returns)) {
                (void)complain(engine, "the module has no function", name);
                return WASM_TRAP_OTHER;
        }
        error = engine->call.wasmtime_func_call_unchecked(engine->context, &function.of.func,
                                                          &value, returns, &trap);
        if (trap)
                return take_trap(engine, trap);
        if (settle(engine, error) < 0)
                return WASM_TRAP_OTHER;
        *ret_value = returns ? value.i32 : 0;
        return WASM_TRAP_NONE;
}

void wasm_engine_interrupt(const struct wasm_engine *engine)
{
        if (engine->engine)
                engine->call.wasmtime_engine_increment_epoch(engine->engine);
}

uint64_t wasm_engine_fuel_left(struct wasm_engine *engine)
{
        uint64_t left = 0;

        (void)settle(engine, engine->call.wasmtime_context_get_fuel(engine->context, &left));
        return left;
}

uint8_t *wasm_engine_memory(struct wasm_engine *engine, size_t *ret_size)
{
        *ret_size = 0;
        if (!engine->has_memory)
                return NULL;
        *ret_size = engine->call.wasmtime_memory_data_size(engine->context, &engine->memory);
        return engine->call.wasmtime_memory_data(engine->context, &engine->memory);
}

uint8_t *wasm_engine_caller_memory(struct wasm_engine *engine, void *caller, size_t *ret_size)
{
        struct wasm_extern memory;

        if (!engine->has_memory &&
            engine->call.wasmtime_caller_export_get(caller, "memory", 6, &memory) &&
            memory.kind == EXTERN_MEMORY) {
                engine->memory = memory.of.memory;
                engine->has_memory = true;
        }
        return wasm_engine_memory(engine, ret_size);
}
