/*
 * The first memory of a program. A run asks for some eighty kilobytes in small pieces, and musl's
 * allocator maps, faults and unmaps pages of their own for each size of them: a tenth of a
 * millisecond of a run of the command line, twice that of each run in a process that lives on. So
 * the first megabyte of the program's pieces comes out of one area of its own, in few sizes; a
 * piece that is given back is the next one of its size. What does not fit goes to the allocator.
 * The library never does this: it has no area.
 */
#ifndef BASE_FIRST_MEMORY_H
#define BASE_FIRST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed, or NULL: it does not fit. */
void *first_memory_take(size_t size);
bool first_memory_owns(const void *memory);
void first_memory_give(void *memory);
/* How large a piece is, which may be more than was asked for. */
size_t first_memory_size(const void *memory);

#endif
