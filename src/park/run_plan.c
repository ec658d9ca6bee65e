/* The plan of a guest's run: read where it came, and what is left of it when the program starts. */
#include "park/park.h"
#include "init/init.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where the plan is, until the guest has what it needs of it. */
static struct {
        void *bytes, *arena;
        size_t length, arena_size;
} read_plan;

void run_plan_read(struct init *init, int plan_fd, uint64_t length)
{
        size_t arena_size = plan_arena_size(length);
        void *bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, plan_fd, 0);
        void *arena =
                mmap(NULL, arena_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (bytes == MAP_FAILED || arena == MAP_FAILED ||
            plan_decode(bytes, length, arena, arena_size, &init->plan) != NULL)
                report_failure(init, STAGE_ORDER, EPROTO);
        read_plan.bytes = bytes;
        read_plan.arena = arena;
        read_plan.length = length;
        read_plan.arena_size = arena_size;
}

void run_plan_forget(void)
{
        (void)munmap(read_plan.bytes, read_plan.length);
        (void)munmap(read_plan.arena, read_plan.arena_size);
}

static size_t size_of(const char **words, uint32_t count)
{
        size_t size = (count + 1) * sizeof(*words);

        for (uint32_t i = 0; i < count; i++)
                size += strlen(words[i]) + 1;
        return size;
}

/* Copies the list to `place`; the end of it. The strings come after the pointers. */
static char *copy_words(const char **words, uint32_t count, char *place)
{
        const char **copies = (const char **)(void *)place;
        char *next = place + (count + 1) * sizeof(*words);

        for (uint32_t i = 0; i < count; i++) {
                size_t length = strlen(words[i]) + 1;

                copies[i] = memcpy(next, words[i], length);
                next += length;
        }
        copies[count] = NULL;
        return next;
}

struct plan run_plan_keep(const struct plan *plan)
{
        struct plan kept = { .argument_count = plan->argument_count,
                             .environment_count = plan->environment_count };
        size_t arguments = (size_of(plan->arguments, plan->argument_count) + 15) & ~(size_t)15;
        size_t size = arguments + size_of(plan->environment, plan->environment_count);
        char *place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (place == MAP_FAILED)
                _exit(1);
        (void)copy_words(plan->arguments, plan->argument_count, place);
        (void)copy_words(plan->environment, plan->environment_count, place + arguments);
        kept.arguments = (const char **)(void *)place;
        kept.environment = (const char **)(void *)(place + arguments);
        kept.program = kept.arguments[0]; /* that is what is executed */
        return kept;
}
