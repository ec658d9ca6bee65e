#include "base/mem.h"
#ifdef SBX_FIRST_MEMORY
#include "base/first_memory.h"
#endif

#include <string.h>

/* The only mutable global: a counter for tests, off unless a test switches it on. */
static uint64_t fail_countdown = UINT64_MAX;

static int should_fail(void)
{
        if (fail_countdown == UINT64_MAX)
                return 0;
        if (fail_countdown == 0) {
                fail_countdown = UINT64_MAX;
                return 1;
        }
        fail_countdown--;
        return 0;
}

void mem_fail_after(uint64_t count)
{
        fail_countdown = count;
}

#ifdef SBX_FIRST_MEMORY
static void *take(size_t size)
{
        void *first = first_memory_take(size);

        return first ? first : calloc(1, size);
}

static void *move_out(void *first, size_t size)
{
        size_t old_size = first_memory_size(first);
        void *moved = take(size);

        if (moved) {
                memcpy(moved, first, old_size < size ? old_size : size);
                first_memory_give(first);
        }
        return moved;
}

static void *resize(void *old, size_t size)
{
        if (!old)
                return take(size);
        if (!first_memory_owns(old))
                return realloc(old, size);
        return size <= first_memory_size(old) ? old : move_out(old, size);
}

static void give(void *memory)
{
        if (first_memory_owns(memory))
                first_memory_give(memory);
        else
                free(memory);
}
#else
static void *take(size_t size)
{
        return calloc(1, size);
}

static void *resize(void *old, size_t size)
{
        return realloc(old, size);
}

static void give(void *memory)
{
        free(memory);
}
#endif

void *mem_alloc(size_t size)
{
        return should_fail() ? NULL : take(size ? size : 1);
}

void *mem_resize(void *old, size_t count, size_t item)
{
        size_t size;

        if (__builtin_mul_overflow(count, item, &size) || should_fail())
                return NULL;
        return resize(old, size ? size : 1);
}

void *mem_dup(const void *data, size_t length)
{
        char *copy;

        if (length == SIZE_MAX)
                return NULL;
        copy = mem_alloc(length + 1);
        if (copy && length)
                memcpy(copy, data, length);
        return copy;
}

char *mem_strndup(const char *text, size_t length)
{
        return text ? mem_dup(text, strnlen(text, length)) : NULL;
}

char *mem_strdup(const char *text)
{
        return text ? mem_dup(text, strlen(text)) : NULL;
}

void mem_free(void *memory)
{
        give(memory);
}

int mem_grow(void **array, size_t count, size_t *capacity, size_t item)
{
        size_t wanted = *capacity ? *capacity * 2 : 8;
        void *grown;

        if (count < *capacity)
                return 0;
        grown = mem_resize(*array, wanted, item);
        if (!grown)
                return -1;
        *array = grown;
        *capacity = wanted;
        return 0;
}

int strlist_addn(struct strlist *list, const char *text, size_t length)
{
        char *copy;

        if (MEM_GROW(list->items, list->count + 1, list->capacity) < 0)
                return -1;
        copy = mem_strndup(text, length);
        if (!copy)
                return -1;
        list->items[list->count++] = copy;
        list->items[list->count] = NULL;
        return 0;
}

int strlist_add(struct strlist *list, const char *text)
{
        return strlist_addn(list, text, strlen(text));
}

int strlist_copy(struct strlist *to, const struct strlist *from)
{
        for (size_t i = 0; i < from->count; i++)
                if (strlist_add(to, from->items[i]) < 0)
                        return -1;
        return 0;
}

void strlist_done(struct strlist *list)
{
        for (size_t i = 0; i < list->count; i++)
                mem_free(list->items[i]);
        mem_free(list->items);
        *list = (struct strlist){ 0 };
}
