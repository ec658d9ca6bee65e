/*
 * The front of the JavaScript guest: QuickJS with a console, timers, files and ES modules.
 * prepare() makes a context and runs prelude.js, which builds what programs see from the few
 * functions here; its memory is then the snapshot that runs begin with. run() runs one program and
 * returns its code.
 */
#include "quickjs.h"
#include "prelude.h"
#include "front.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

enum { STACK_BYTES = 1 << 20, PIECE = 65536 };

static JSRuntime *runtime;
static JSContext *context;

/* ---- what prelude.js has to build on ---- */

static JSValue throw_errno(JSContext *ctx, const char *call, const char *path)
{
        JSValue error = JS_NewError(ctx);
        char text[4400];

        snprintf(text, sizeof(text), "%s, %s '%s'", strerror(errno), call, path);
        JS_DefinePropertyValueStr(ctx, error, "message", JS_NewString(ctx, text),
                                  JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
        JS_SetPropertyStr(ctx, error, "errno", JS_NewInt32(ctx, -errno));
        JS_SetPropertyStr(ctx, error, "syscall", JS_NewString(ctx, call));
        JS_SetPropertyStr(ctx, error, "path", JS_NewString(ctx, path));
        JS_SetPropertyStr(ctx, error, "code",
                          JS_NewString(ctx, errno == ENOENT    ? "ENOENT"
                                            : errno == EEXIST  ? "EEXIST"
                                            : errno == EROFS   ? "EROFS"
                                            : errno == ENOTDIR ? "ENOTDIR"
                                            : errno == EISDIR  ? "EISDIR"
                                            : errno == ENOSPC  ? "ENOSPC"
                                            : errno == 76      ? "ENOTCAPABLE"
                                                               : "EIO"));
        return JS_Throw(ctx, error);
}

static bool write_all(int fd, const char *data, size_t length)
{
        while (length > 0) {
                ssize_t n = write(fd, data, length);

                if (n < 0)
                        return false;
                data += n;
                length -= (size_t)n;
        }
        return true;
}

/* write(fd, text) */
static JSValue js_write(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        int fd = 1;
        size_t length;
        const char *text = JS_ToCStringLen(ctx, &length, argv[1]);

        if (!text || JS_ToInt32(ctx, &fd, argv[0]) < 0)
                return JS_EXCEPTION;
        (void)write_all(fd, text, length);
        JS_FreeCString(ctx, text);
        return JS_UNDEFINED;
}

static void free_bytes(JSRuntime *rt, void *opaque, void *bytes)
{
        free(bytes);
}

static JSValue read_descriptor(JSContext *ctx, int fd, const char *path)
{
        size_t length = 0, room = PIECE;
        uint8_t *bytes = malloc(room);

        while (bytes) {
                ssize_t n = read(fd, bytes + length, room - length);

                if (n < 0) {
                        free(bytes);
                        return throw_errno(ctx, "read", path);
                }
                if (n == 0)
                        return JS_NewArrayBuffer(ctx, bytes, length, free_bytes, NULL, false);
                length += (size_t)n;
                if (length == room) {
                        uint8_t *larger = realloc(bytes, room *= 2);

                        if (!larger)
                                free(bytes);
                        bytes = larger;
                }
        }
        return JS_ThrowOutOfMemory(ctx);
}

/* read(path or descriptor): an ArrayBuffer */
static JSValue js_read(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        const char *path;
        JSValue result;
        int fd;

        if (JS_IsNumber(argv[0])) {
                if (JS_ToInt32(ctx, &fd, argv[0]) < 0)
                        return JS_EXCEPTION;
                return read_descriptor(ctx, fd, "");
        }
        path = JS_ToCString(ctx, argv[0]);
        if (!path)
                return JS_EXCEPTION;
        fd = open(path, O_RDONLY);
        result = fd < 0 ? throw_errno(ctx, "open", path) : read_descriptor(ctx, fd, path);
        if (fd >= 0)
                close(fd);
        JS_FreeCString(ctx, path);
        return result;
}

/* The bytes of a string, an ArrayBuffer or a typed array. `*ret_text` is to be freed. */
static const char *bytes_of(JSContext *ctx, JSValueConst value, size_t *length,
                            const char **ret_text)
{
        size_t offset = 0, size = 0, item;
        JSValue buffer;
        uint8_t *bytes;

        *ret_text = NULL;
        if (!JS_IsObject(value))
                return *ret_text = JS_ToCStringLen(ctx, length, value);
        bytes = JS_GetArrayBuffer(ctx, length, value);
        if (bytes)
                return (const char *)bytes;
        JS_FreeValue(ctx, JS_GetException(ctx));
        buffer = JS_GetTypedArrayBuffer(ctx, value, &offset, &size, &item);
        if (JS_IsException(buffer)) {
                JS_FreeValue(ctx, JS_GetException(ctx));
                return *ret_text = JS_ToCStringLen(ctx, length, value);
        }
        bytes = JS_GetArrayBuffer(ctx, length, buffer);
        JS_FreeValue(ctx, buffer);
        *length = size;
        return bytes ? (const char *)bytes + offset : "";
}

/* save(path, data, append) */
static JSValue js_save(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        const char *path = JS_ToCString(ctx, argv[0]), *text, *bytes;
        int flags = JS_ToBool(ctx, argv[2]) ? O_APPEND : O_TRUNC, fd;
        JSValue result = JS_UNDEFINED;
        size_t length;

        bytes = path ? bytes_of(ctx, argv[1], &length, &text) : NULL;
        if (!bytes)
                return JS_EXCEPTION;
        fd = open(path, O_WRONLY | O_CREAT | flags, 0666);
        if (fd < 0)
                result = throw_errno(ctx, "open", path);
        else if (!write_all(fd, bytes, length))
                result = throw_errno(ctx, "write", path);
        if (fd >= 0)
                close(fd);
        if (text)
                JS_FreeCString(ctx, text);
        JS_FreeCString(ctx, path);
        return result;
}

/* stat(path, follow): [mode, size, mtime in ms], or undefined */
static JSValue js_stat(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        const char *path = JS_ToCString(ctx, argv[0]);
        struct stat st;
        JSValue result;
        int r;

        if (!path)
                return JS_EXCEPTION;
        r = JS_ToBool(ctx, argv[1]) ? stat(path, &st) : lstat(path, &st);
        JS_FreeCString(ctx, path);
        if (r < 0)
                return JS_UNDEFINED;
        result = JS_NewArray(ctx);
        JS_SetPropertyUint32(ctx, result, 0, JS_NewInt32(ctx, (int)st.st_mode));
        JS_SetPropertyUint32(ctx, result, 1, JS_NewInt64(ctx, st.st_size));
        JS_SetPropertyUint32(ctx, result, 2,
                             JS_NewFloat64(ctx, (double)st.st_mtim.tv_sec * 1e3 +
                                                        (double)st.st_mtim.tv_nsec / 1e6));
        return result;
}

static JSValue js_list(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        const char *path = JS_ToCString(ctx, argv[0]);
        DIR *directory = path ? opendir(path) : NULL;
        struct dirent *entry;
        JSValue result;
        uint32_t count = 0;

        if (!path)
                return JS_EXCEPTION;
        result = directory ? JS_NewArray(ctx) : throw_errno(ctx, "scandir", path);
        while (directory && (entry = readdir(directory)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        JS_SetPropertyUint32(ctx, result, count++,
                                             JS_NewString(ctx, entry->d_name));
        if (directory)
                closedir(directory);
        JS_FreeCString(ctx, path);
        return result;
}

enum { DO_MKDIR, DO_RMDIR, DO_UNLINK, DO_RENAME };

static JSValue js_change(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int what)
{
        static const char *const names[] = { "mkdir", "rmdir", "unlink", "rename" };
        const char *path = JS_ToCString(ctx, argv[0]);
        const char *to = path && what == DO_RENAME ? JS_ToCString(ctx, argv[1]) : NULL;
        JSValue result = JS_UNDEFINED;
        int r;

        if (!path || (what == DO_RENAME && !to))
                return JS_EXCEPTION;
        r = what == DO_MKDIR    ? mkdir(path, 0777)
            : what == DO_RMDIR  ? rmdir(path)
            : what == DO_UNLINK ? unlink(path)
                                : rename(path, to);
        if (r < 0)
                result = throw_errno(ctx, names[what], path);
        if (to)
                JS_FreeCString(ctx, to);
        JS_FreeCString(ctx, path);
        return result;
}

static JSValue js_exit(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        int code = 0;

        if (JS_ToInt32(ctx, &code, argv[0]) < 0)
                return JS_EXCEPTION;
        __wasi_proc_exit((uint32_t)code);
}

static JSValue js_now(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return JS_NewFloat64(ctx, (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6);
}

static JSValue js_sleep(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        struct timespec time;
        double ms = 0;

        if (JS_ToFloat64(ctx, &ms, argv[0]) < 0)
                return JS_EXCEPTION;
        time.tv_sec = (time_t)(ms / 1e3);
        time.tv_nsec = (long)((ms - (double)time.tv_sec * 1e3) * 1e6);
        if (ms > 0)
                nanosleep(&time, NULL);
        return JS_UNDEFINED;
}

static JSValue js_random(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        uint8_t bytes[256];
        int count = 0;

        if (JS_ToInt32(ctx, &count, argv[0]) < 0 || count < 0 || count > (int)sizeof(bytes))
                return JS_ThrowRangeError(ctx, "too many bytes");
        __wasi_random_get(bytes, (size_t)count);
        return JS_NewArrayBufferCopy(ctx, bytes, (size_t)count);
}

/* utf8(data): the text of the bytes, broken sequences replaced */
static JSValue js_decode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        const char *text, *bytes;
        size_t length;
        JSValue result;

        bytes = bytes_of(ctx, argv[0], &length, &text);
        if (!bytes)
                return JS_EXCEPTION;
        result = JS_NewStringLen(ctx, bytes, length);
        if (text)
                JS_FreeCString(ctx, text);
        return result;
}

/* encode(text): its bytes as an ArrayBuffer */
static JSValue js_encode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        size_t length;
        const char *text = JS_ToCStringLen(ctx, &length, argv[0]);
        JSValue result;

        if (!text)
                return JS_EXCEPTION;
        result = JS_NewArrayBufferCopy(ctx, (const uint8_t *)text, length);
        JS_FreeCString(ctx, text);
        return result;
}

/* script(text, name): runs a text as a script; what it gives */
static JSValue js_script(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
        size_t length;
        const char *text = JS_ToCStringLen(ctx, &length, argv[0]);
        const char *name = text ? JS_ToCString(ctx, argv[1]) : NULL;
        JSValue result;

        if (!name)
                return JS_EXCEPTION;
        result = JS_Eval(ctx, text, length, name, JS_EVAL_TYPE_GLOBAL);
        JS_FreeCString(ctx, name);
        JS_FreeCString(ctx, text);
        return result;
}

static const JSCFunctionListEntry functions[] = {
        JS_CFUNC_DEF("write", 2, js_write),
        JS_CFUNC_DEF("read", 1, js_read),
        JS_CFUNC_DEF("save", 3, js_save),
        JS_CFUNC_DEF("stat", 2, js_stat),
        JS_CFUNC_DEF("list", 1, js_list),
        JS_CFUNC_MAGIC_DEF("mkdir", 1, js_change, DO_MKDIR),
        JS_CFUNC_MAGIC_DEF("rmdir", 1, js_change, DO_RMDIR),
        JS_CFUNC_MAGIC_DEF("unlink", 1, js_change, DO_UNLINK),
        JS_CFUNC_MAGIC_DEF("rename", 2, js_change, DO_RENAME),
        JS_CFUNC_DEF("exit", 1, js_exit),
        JS_CFUNC_DEF("now", 0, js_now),
        JS_CFUNC_DEF("sleep", 1, js_sleep),
        JS_CFUNC_DEF("random", 1, js_random),
        JS_CFUNC_DEF("decode", 1, js_decode),
        JS_CFUNC_DEF("encode", 1, js_encode),
        JS_CFUNC_DEF("script", 2, js_script),
};

/* ---- modules ---- */

/* Asks prelude.js, which knows files and the modules that are part of the guest. */
static JSValue ask(JSContext *ctx, const char *function, const char *first, const char *second)
{
        JSValue global = JS_GetGlobalObject(ctx), host = JS_GetPropertyStr(ctx, global, "__host");
        JSValue called = JS_GetPropertyStr(ctx, host, function);
        JSValue arguments[] = { JS_NewString(ctx, first), JS_NewString(ctx, second) };
        JSValue result = JS_Call(ctx, called, host, 2, arguments);

        JS_FreeValue(ctx, arguments[0]);
        JS_FreeValue(ctx, arguments[1]);
        JS_FreeValue(ctx, called);
        JS_FreeValue(ctx, host);
        JS_FreeValue(ctx, global);
        return result;
}

static char *normalize(JSContext *ctx, const char *base, const char *name, void *opaque)
{
        JSValue path = ask(ctx, "resolve", base, name);
        const char *text;
        char *copy;

        if (JS_IsException(path))
                return NULL;
        text = JS_ToCString(ctx, path);
        JS_FreeValue(ctx, path);
        copy = text ? js_strdup(ctx, text) : NULL;
        JS_FreeCString(ctx, text);
        return copy;
}

static void set_meta(JSContext *ctx, JSValueConst function, const char *name)
{
        JSModuleDef *module = JS_VALUE_GET_PTR(function);
        JSValue meta = JS_GetImportMeta(ctx, module);
        char url[4200];

        snprintf(url, sizeof(url), "file://%s", name);
        JS_SetPropertyStr(ctx, meta, "url", JS_NewString(ctx, url));
        JS_FreeValue(ctx, meta);
}

static JSModuleDef *load(JSContext *ctx, const char *name, void *opaque)
{
        JSValue source = ask(ctx, "source", name, ""), function;
        const char *text;
        JSModuleDef *module;
        size_t length;

        if (JS_IsException(source))
                return NULL;
        text = JS_ToCStringLen(ctx, &length, source);
        JS_FreeValue(ctx, source);
        if (!text)
                return NULL;
        function =
                JS_Eval(ctx, text, length, name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
        JS_FreeCString(ctx, text);
        if (JS_IsException(function))
                return NULL;
        set_meta(ctx, function, name);
        module = JS_VALUE_GET_PTR(function);
        JS_FreeValue(ctx, function);
        return module;
}

/* ---- the end of a program ---- */

static bool is_memory_error(JSContext *ctx, JSValueConst error)
{
        JSValue message = JS_GetPropertyStr(ctx, error, "message");
        const char *text = JS_ToCString(ctx, message);
        bool is = text && strcmp(text, "out of memory") == 0;

        JS_FreeCString(ctx, text);
        JS_FreeValue(ctx, message);
        return is;
}

/* Prints what nobody caught, as prelude.js shows it; the exit code. */
static int report(JSContext *ctx)
{
        JSValue error = JS_GetException(ctx), shown;
        JSValue global = JS_GetGlobalObject(ctx), host = JS_GetPropertyStr(ctx, global, "__host");
        JSValue show = JS_GetPropertyStr(ctx, host, "uncaught");
        int code = is_memory_error(ctx, error) ? CODE_MEMORY : 1;

        shown = JS_Call(ctx, show, host, 1, &error);
        if (JS_IsException(shown))
                fputs("Uncaught exception\n", stderr);
        JS_FreeValue(ctx, shown);
        JS_FreeValue(ctx, show);
        JS_FreeValue(ctx, host);
        JS_FreeValue(ctx, global);
        JS_FreeValue(ctx, error);
        return code;
}

/* Promises that were rejected and that nobody handles: the first is told, at the end. */
static JSValue unhandled = { 0 };
static bool has_unhandled;

static void track(JSContext *ctx, JSValueConst promise, JSValueConst reason, JS_BOOL handled,
                  void *opaque)
{
        if (handled && has_unhandled) {
                JS_FreeValue(ctx, unhandled);
                has_unhandled = false;
        } else if (!handled && !has_unhandled) {
                unhandled = JS_DupValue(ctx, reason);
                has_unhandled = true;
        }
}

/* Jobs, then the next timer, until there is neither. */
static int work(JSContext *ctx)
{
        for (;;) {
                JSContext *of;
                JSValue more;
                int r;

                while ((r = JS_ExecutePendingJob(runtime, &of)) > 0)
                        ;
                if (r < 0)
                        return report(of);
                if (has_unhandled) {
                        JS_Throw(ctx, unhandled);
                        has_unhandled = false;
                        return report(ctx);
                }
                more = ask(ctx, "tick", "", "");
                if (JS_IsException(more))
                        return report(ctx);
                r = JS_ToBool(ctx, more);
                JS_FreeValue(ctx, more);
                if (!r)
                        return 0;
        }
}

__attribute__((export_name("prepare"))) int prepare(void)
{
        JSValue global, host, result;

        runtime = JS_NewRuntime();
        context = runtime ? JS_NewContext(runtime) : NULL;
        if (!context)
                return 1;
        JS_SetMaxStackSize(runtime, STACK_BYTES);
        JS_SetModuleLoaderFunc(runtime, normalize, load, NULL);
        JS_SetHostPromiseRejectionTracker(runtime, track, NULL);
        global = JS_GetGlobalObject(context);
        host = JS_NewObject(context);
        JS_SetPropertyFunctionList(context, host, functions,
                                   sizeof(functions) / sizeof(functions[0]));
        JS_DefinePropertyValueStr(context, global, "__host", host, JS_PROP_CONFIGURABLE);
        JS_FreeValue(context, global);
        result = JS_Eval(context, (const char *)prelude, sizeof(prelude) - 1, "<prelude>",
                         JS_EVAL_TYPE_GLOBAL);
        if (JS_IsException(result))
                return report(context);
        JS_FreeValue(context, result);
        return 0;
}

static JSValue array_of(JSContext *ctx, struct words words)
{
        JSValue array = JS_NewArray(ctx);

        for (size_t i = 0; i < words.count; i++)
                JS_SetPropertyUint32(ctx, array, (uint32_t)i, JS_NewString(ctx, words.items[i]));
        return array;
}

__attribute__((export_name("run"))) int run(void)
{
        JSValue global, host, start, result, arguments[2];
        int code = 0, last;

        if (front_open_directories("/workspace") < 0) {
                perror("/workspace");
                return 1;
        }
        global = JS_GetGlobalObject(context);
        host = JS_GetPropertyStr(context, global, "__host");
        start = JS_GetPropertyStr(context, host, "start");
        arguments[0] = array_of(context, front_arguments());
        arguments[1] = array_of(context, front_environment());
        result = JS_Call(context, start, host, 2, arguments);
        if (JS_IsException(result))
                code = report(context);
        if (code == 0)
                code = work(context);
        result = ask(context, "end", "", "");
        if (code == 0 && JS_ToInt32(context, &last, result) == 0)
                code = last & 255;
        return code;
}
