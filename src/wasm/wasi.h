/*
 * WASI (wasi_snapshot_preview1) for the worker: what a module may ask of the world. Files are only
 * reached below directories that were given, each resolved by the kernel so that it cannot leave
 * them (openat2 with RESOLVE_BENEATH). There are no sockets, no processes, no threads.
 */
#ifndef WASM_WASI_H
#define WASM_WASI_H

#include "wasm/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The numbers that a module sees; the table from ours is in wasi_numbers.c. */
enum wasi_errno {
        WASI_OK = 0,
        WASI_EBADF = 8,
        WASI_EFAULT = 21,
        WASI_EINVAL = 28,
        WASI_EISDIR = 31,
        WASI_EMFILE = 33,
        WASI_ENAMETOOLONG = 37,
        WASI_ENOENT = 44,
        WASI_ENOSYS = 52,
        WASI_ENOTDIR = 54,
        WASI_ENOTSUP = 58,
        WASI_EOVERFLOW = 61,
        WASI_EPERM = 63,
        WASI_EROFS = 69,
        WASI_ESPIPE = 70,
        WASI_ENOTCAPABLE = 76,
};

/* What a file is, as a module sees it. */
enum {
        WASI_TYPE_UNKNOWN = 0,
        WASI_TYPE_DIRECTORY = 3,
        WASI_TYPE_REGULAR = 4,
        WASI_TYPE_LINK = 7,
};

enum wasi_file_kind {
        WASI_FREE,
        WASI_STREAM,  /* one of the three that a program has */
        WASI_DIR,     /* of the host */
        WASI_FILE,    /* of the host */
        WASI_SHELF,   /* the directory that holds the library alone */
        WASI_LIBRARY, /* the library: a file that is memory of ours */
};

struct wasi_file {
        enum wasi_file_kind kind;
        int fd;
        bool writable;    /* a directory: what is below it; a file: the file */
        bool readable;    /* a file */
        char *preopen;    /* the name under which it was given, or NULL */
        uint64_t offset;  /* in the library */
        uint16_t fdflags; /* as opened */
};

enum { WASI_FILES_MAX = 1024, WASI_PATH_MAX = 4096, WASI_IO_MAX = 1024 };

struct wasi {
        struct wasm_engine *engine;
        struct wasi_file files[WASI_FILES_MAX];
        char **arguments;
        size_t argument_count;
        char **environment;
        size_t environment_count;
        const uint8_t *library; /* borrowed; NULL where the guest has none */
        size_t library_size;
        bool has_exited; /* it asked for its end */
        int exit_code;
        volatile bool *stop; /* set by a signal: end what blocks */
        /* During a call: */
        uint8_t *memory;
        size_t memory_size;
        bool is_over; /* the call shall end the program */
};

/* One function: what it takes, what it does. */
struct wasi_function {
        const char *name;
        const char *signature;
        uint32_t (*call)(struct wasi *wasi, const union wasm_raw *in);
};

/* The file under which the library is found, below the first directory that was given. */
#define WASI_LIBRARY_NAME "library.zip"

void wasi_init(struct wasi *wasi, struct wasm_engine *engine, volatile bool *stop);
/* Gives the module its functions. 0, or -1 with the engine's `why`. */
int wasi_define(struct wasi *wasi);
/* Gives a directory under a name. 0, or -1 with errno. */
int wasi_give(struct wasi *wasi, const char *inside, const char *outside, bool writable);
/* Gives the directory "/lib" that holds the library alone. */
int wasi_give_library(struct wasi *wasi, const void *data, size_t size);

/* The tables of the functions, each ended by an empty line. */
extern const struct wasi_function wasi_base_functions[]; /* wasi.c */
extern const struct wasi_function wasi_fd_functions[];   /* wasi_fd.c */
extern const struct wasi_function wasi_path_functions[]; /* wasi_path.c */

/* Helpers of these files. */
/* The module's memory at `at`, or NULL where `size` bytes are not all in it. */
void *wasi_at(const struct wasi *wasi, uint32_t at, uint64_t size);
bool wasi_put32(const struct wasi *wasi, uint32_t at, uint32_t value);
bool wasi_put64(const struct wasi *wasi, uint32_t at, uint64_t value);
static inline uint32_t wasi_u32(union wasm_raw value)
{
        return (uint32_t)value.i32;
}
/* The open file of that number, or NULL. */
struct wasi_file *wasi_file(struct wasi *wasi, uint32_t number);
/* A free number for it, or -1. */
int wasi_add(struct wasi *wasi, const struct wasi_file *file);
void wasi_drop(struct wasi_file *file);
uint32_t wasi_errno(int host_errno);
/* wasi_fd.c: 64 bytes about a file; its times. */
uint32_t wasi_set_times(int fd, uint64_t access, uint64_t change, uint32_t which);
struct stat;
bool wasi_put_stat(const struct wasi *wasi, uint32_t at, const struct stat *st);
bool wasi_put_library_stat(const struct wasi *wasi, uint32_t at, bool is_directory);
/* wasi_poll.c, wasi_list.c */
uint32_t wasi_fd_readdir(struct wasi *wasi, const union wasm_raw *in);
uint32_t wasi_poll_oneoff(struct wasi *wasi, const union wasm_raw *in);

#endif
