/*
 * Memory: every allocation of the library goes through here, so that tests can make the n-th one
 * fail (mem_fail_after). Results are NULL when out of memory; nothing here ever exits.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* A local that owns something says so, and is freed when it leaves scope. */
#define AUTO_FREE __attribute__((cleanup(mem_free_p)))

void *mem_alloc(size_t size); /* zeroed */
void *mem_resize(void *old, size_t count,
                 size_t item);      /* overflow-checked; `old` kept on failure */
char *mem_strdup(const char *text); /* NULL gives NULL */
char *mem_strndup(const char *text, size_t length);
void *mem_dup(const void *data, size_t length);
void mem_free(void *memory);

/* Makes the allocation after `count` further ones fail, once; UINT64_MAX switches it off. For
 * tests. */
void mem_fail_after(uint64_t count);

static inline void mem_free_p(void *pointer)
{
        mem_free(*(void **)pointer);
}

/* Hands a pointer over: gives it and leaves NULL behind. */
#define TAKE(pointer)                                                                              \
        __extension__({                                                                            \
                __typeof__(pointer) taken_ = (pointer);                                            \
                (pointer) = NULL;                                                                  \
                taken_;                                                                            \
        })

/* Grows `array` so that it has room for one more than `count`. 0, or -1 when out of memory. */
#define MEM_GROW(array, count, capacity)                                                           \
        mem_grow((void **)&(array), (count), &(capacity), sizeof(*(array)))
int mem_grow(void **array, size_t count, size_t *capacity, size_t item);

/* A NULL-terminated list of owned strings: arguments, environments, names. */
struct strlist {
        char **items; /* owned, NULL-terminated once something was added */
        size_t count;
        size_t capacity;
};

int strlist_add(struct strlist *list, const char *text); /* copies */
int strlist_addn(struct strlist *list, const char *text, size_t length);
int strlist_copy(struct strlist *to, const struct strlist *from); /* `to` must be empty */
void strlist_done(struct strlist *list);

#endif
