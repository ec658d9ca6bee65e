/* What can be told of a program file by its first bytes. */
#ifndef ENGINE_ELF_H
#define ENGINE_ELF_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it is a 64-bit ELF program that names no loader, and so needs no library. False where
 * that cannot be told from these bytes. */
bool elf_is_static(const void *data, size_t length);

#endif
