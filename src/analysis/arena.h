/*
 * Memory of one analysis: given out piece by piece, freed as a whole. When there is none left, or
 * the analysis has taken more steps than it may, it ends by a jump to where it began; so nothing
 * below owns anything that the arena does not.
 */
#ifndef ANALYSIS_ARENA_H
#define ANALYSIS_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct arena {
        struct arena_chunk *chunks; /* owned */
        jmp_buf giving_up;          /* set by who began */
        const char *reason;         /* static: why it was given up */
        uint64_t steps;             /* left */
};

void arena_done(struct arena *arena);
/* Zeroed; never NULL. */
void *arena_alloc(struct arena *arena, size_t size);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_format(struct arena *arena, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Ends the analysis. `reason` is a static text. */
_Noreturn void arena_give_up(struct arena *arena, const char *reason);

/* Counts work, so that hostile source costs a bounded amount of it. */
static inline void arena_step(struct arena *arena)
{
        if (arena->steps-- == 0)
                arena_give_up(arena, "too complex");
}

/* A list that grows in the arena; what it outgrows stays there until the end. */
#define ARENA_GROW(arena, array, count, capacity)                                                  \
        arena_grow((arena), (void **)&(array), (count), &(capacity), sizeof(*(array)))
void arena_grow(struct arena *arena, void **array, size_t count, size_t *capacity, size_t item);

#endif
