#include "base/first_memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Sizes are 32, 48, 64, 96, 128 ... 64 KiB: at most a third is wasted. */
enum { AREA = 1 << 20, ALIGNMENT = 16, SMALLEST = 32, SIZES = 23 };

/* Before each piece. Whoever has it may write over all that follows. */
struct head {
        int size; /* its number among the sizes */
        enum { TAKEN = 0x7a6b5c4d, GIVEN_BACK = 0x1e2d3c4b } state;
        struct head *next; /* while nobody has it */
};

static char area[AREA] __attribute__((aligned(ALIGNMENT)));
static size_t used; /* beyond it nothing was ever touched, and is zero */
static struct head *given_back[SIZES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all the above */

static size_t bytes_of(int size)
{
        size_t bytes = (size_t)SMALLEST << size / 2;

        return size % 2 ? bytes + bytes / 2 : bytes;
}

/* The smallest that is large enough; SIZES: none is. */
static int size_for(size_t bytes)
{
        int size = 0;

        while (size < SIZES && bytes_of(size) < bytes)
                size++;
        return size;
}

static struct head *head_of(const void *memory)
{
        return (struct head *)(uintptr_t)memory - 1;
}

static struct head *take_new(int size)
{
        size_t whole = sizeof(struct head) + bytes_of(size);
        struct head *head = (struct head *)(void *)(area + used);

        if (whole > AREA - used)
                return NULL;
        used += whole;
        head->size = size;
        return head;
}

/* What was written over, or given back twice, goes no further. */
static void check(const struct head *head, int state)
{
        if ((int)head->state != state || head->size < 0 || head->size >= SIZES)
                abort();
}

void *first_memory_take(size_t bytes)
{
        int size = size_for(bytes);
        struct head *again, *head;

        if (size == SIZES)
                return NULL;
        (void)pthread_mutex_lock(&lock);
        again = given_back[size];
        if (again) {
                check(again, GIVEN_BACK);
                given_back[size] = again->next;
        }
        head = again ? again : take_new(size);
        if (head)
                head->state = TAKEN;
        (void)pthread_mutex_unlock(&lock);
        if (again)
                memset(again + 1, 0, bytes);
        return head ? head + 1 : NULL;
}

bool first_memory_owns(const void *memory)
{
        uintptr_t address = (uintptr_t)memory, start = (uintptr_t)area;

        return address >= start && address < start + AREA;
}

void first_memory_give(void *memory)
{
        struct head *head = head_of(memory);

        (void)pthread_mutex_lock(&lock);
        check(head, TAKEN);
        head->state = GIVEN_BACK;
        head->next = given_back[head->size];
        given_back[head->size] = head;
        (void)pthread_mutex_unlock(&lock);
}

size_t first_memory_size(const void *memory)
{
        return bytes_of(head_of(memory)->size);
}
