/* What the worker is told about its run: see WASM_VARIABLE in wasm/report.h. */
#ifndef WASM_ORDERS_H
#define WASM_ORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WASM_DIRECTORIES_MAX = 160 };

struct wasm_directory {
        char *inside, *outside; /* owned */
        bool writable;
};

struct wasm_orders {
        char *guest; /* owned */
        char *parts; /* owned: the directory with engine and images */
        uint64_t memory_bytes, fuel;
        struct wasm_directory directories[WASM_DIRECTORIES_MAX];
        size_t directory_count;
};

/* 0, or -1 where the words make no sense. */
int wasm_orders_read(const char *text, struct wasm_orders *ret_orders);
void wasm_orders_done(struct wasm_orders *orders);

#endif
