#include "analysis/pool.h"
#include "base/mem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <tree_sitter/api.h>

enum {
        STEP = 16,       /* sizes of small pieces are multiples of it; all begin at one */
        SMALL_MAX = 512, /* above it sizes double */
        SMALL_CLASSES = SMALL_MAX / STEP + 1,
        CLASSES = SMALL_CLASSES + 48,
        CHUNK_BYTES = 2 << 20, /* and where it begins */
        MUCH_BYTES = 16 << 10
};

/* Before each piece. */
union header {
        _Alignas(STEP) size_t class;
        union header *next; /* while nobody has it */
};

static struct {
        union header *unused[CLASSES];
        char *chunk, *end;
        bool expects_much;
} pool;

static size_t class_of(size_t size)
{
        if (size <= SMALL_MAX)
                return (size + STEP - 1) / STEP;
        return SMALL_CLASSES + 63 - (size_t)__builtin_clzll((size - 1) / SMALL_MAX);
}

static size_t size_of(size_t class)
{
        return class < SMALL_CLASSES ? class * STEP
                                     : (size_t)SMALL_MAX << (class - SMALL_CLASSES + 1);
}

/*
 * Fresh memory, zero as the kernel gives it. Its beginning is where a huge page can lie: looking up
 * pages of 4 KiB took a tenth of the time of a source of a thousand lines. Where there is little to
 * parse, less is touched than a huge page would take to clear.
 */
static char *new_chunk(void)
{
        char *data = mmap(NULL, 2 * CHUNK_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        size_t before;

        if (data == MAP_FAILED)
                return NULL;
        before = -(uintptr_t)data & (CHUNK_BYTES - 1);
        (void)munmap(data, before); /* what stays mapped does no harm */
        (void)munmap(data + before + CHUNK_BYTES, CHUNK_BYTES - before);
        if (pool.expects_much)
                (void)madvise(data + before, CHUNK_BYTES, MADV_HUGEPAGE); /* small ones do too */
        return data + before;
}

/* A piece from the chunk, or one of its own where it is large. */
static union header *cut(size_t bytes)
{
        union header *piece;

        if (bytes > CHUNK_BYTES / 2)
                return mem_alloc(bytes);
        if ((size_t)(pool.end - pool.chunk) < bytes) {
                pool.chunk = new_chunk();
                pool.end = pool.chunk ? pool.chunk + CHUNK_BYTES : NULL;
                if (!pool.chunk)
                        return NULL;
        }
        piece = (union header *)(void *)pool.chunk;
        pool.chunk += bytes;
        return piece;
}

static void *take(size_t size)
{
        size_t class = class_of(size);
        union header *piece;

        if (size > SIZE_MAX / 4)
                return NULL;
        piece = pool.unused[class];
        if (piece)
                pool.unused[class] = piece->next;
        else
                piece = cut(sizeof(*piece) + size_of(class));
        if (!piece)
                return NULL;
        piece->class = class;
        return piece + 1;
}

static void give(void *data)
{
        union header *piece = data;
        size_t class;

        if (!piece)
                return;
        piece--;
        class = piece->class;
        piece->next = pool.unused[class];
        pool.unused[class] = piece;
}

static void *take_zeroed(size_t count, size_t size)
{
        size_t bytes;
        void *data = __builtin_mul_overflow(count, size, &bytes) ? NULL : take(bytes);

        return data ? memset(data, 0, bytes) : NULL;
}

static void *resize(void *data, size_t size)
{
        size_t room = data ? size_of(((union header *)data)[-1].class) : 0;
        void *other;

        if (data && size <= room)
                return data;
        other = take(size);
        if (other && data) {
                memcpy(other, data, room);
                give(data);
        }
        return other;
}

/* The parsing library does not ask whether there was memory. */
static void *certain(void *data)
{
        if (!data)
                __builtin_trap();
        return data;
}

static void *parser_take(size_t size)
{
        return certain(take(size));
}

static void *parser_take_zeroed(size_t count, size_t size)
{
        return certain(take_zeroed(count, size));
}

static void *parser_resize(void *data, size_t size)
{
        return certain(resize(data, size));
}

void *pool_alloc(size_t size)
{
        return take_zeroed(1, size);
}

void pool_free(void *data)
{
        give(data);
}

void pool_use(size_t source_length)
{
        pool.expects_much = source_length > MUCH_BYTES;
        ts_set_allocator(parser_take, parser_take_zeroed, parser_resize, give);
        json_set_alloc_funcs(take, give);
}
