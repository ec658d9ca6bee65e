/*
 * Opening a path so that it cannot leave its directory: by the kernel (openat2), or, where a filter
 * does not let us, name by name through descriptors.
 */
#ifndef WASM_BENEATH_H
#define WASM_BENEATH_H

#include <stdint.h>
#include <sys/types.h>

/* As open(2) below `directory`; -1 with errno, EXDEV where it would lead out. */
int beneath_open(int directory, const char *path, uint64_t flags, mode_t mode);
/* The same without the kernel's help. */
int beneath_walk(int directory, const char *path, uint64_t flags, mode_t mode);

#endif
