#include "analysis/arena.h"
#include "analysis/pool.h"

#include <stdio.h>
#include <string.h>

enum { CHUNK_SIZE = 64 << 10 };

struct arena_chunk {
        struct arena_chunk *next;
        size_t used, size;
        max_align_t data[];
};

_Noreturn void arena_give_up(struct arena *arena, const char *reason)
{
        arena->reason = reason;
        longjmp(arena->giving_up, 1);
}

void *arena_alloc(struct arena *arena, size_t size)
{
        size_t wanted = (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
        struct arena_chunk *chunk = arena->chunks;
        void *given;

        if (wanted < size)
                arena_give_up(arena, "out of memory");
        if (!chunk || chunk->size - chunk->used < wanted) {
                size_t room = wanted > CHUNK_SIZE ? wanted : CHUNK_SIZE;

                chunk = pool_alloc(sizeof(*chunk) + room);
                if (!chunk)
                        arena_give_up(arena, "out of memory");
                chunk->size = room;
                chunk->next = arena->chunks;
                arena->chunks = chunk;
        }
        given = (char *)chunk->data + chunk->used;
        chunk->used += wanted;
        return given;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
        char *copy = arena_alloc(arena, length + 1);

        memcpy(copy, text, length);
        return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
        char first[256];
        va_list arguments;
        char *text;
        int length;

        va_start(arguments, format);
        length = vsnprintf(first, sizeof(first), format, arguments);
        va_end(arguments);
        if (length < 0)
                arena_give_up(arena, "out of memory");
        if ((size_t)length < sizeof(first))
                return arena_strndup(arena, first, (size_t)length);
        text = arena_alloc(arena, (size_t)length + 1);
        va_start(arguments, format);
        (void)vsnprintf(text, (size_t)length + 1, format, arguments);
        va_end(arguments);
        return text;
}

void arena_grow(struct arena *arena, void **array, size_t count, size_t *capacity, size_t item)
{
        size_t wanted = *capacity ? *capacity * 2 : 16;
        void *larger;

        if (count < *capacity)
                return;
        larger = arena_alloc(arena, wanted * item);
        if (count)
                memcpy(larger, *array, count * item);
        *array = larger;
        *capacity = wanted;
}

void arena_done(struct arena *arena)
{
        while (arena->chunks) {
                struct arena_chunk *next = arena->chunks->next;

                pool_free(arena->chunks);
                arena->chunks = next;
        }
}
