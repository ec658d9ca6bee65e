/* What a launcher is told about the run, as a file in memory. */
#include "park/park.h"
#include "base/mem.h"
#include "plan/plan.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

static size_t measure(const char *const *words, uint32_t count)
{
        size_t size = 0;

        for (uint32_t i = 0; i < count; i++)
                size += strlen(words[i]) + 1;
        return size;
}

static char *put(char *at, const char *const *words, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                at = stpcpy(at, words[i]) + 1;
        return at;
}

/* For a launcher that asks: how many arguments the program has, a random number, they, and its
 * environment, each with a NUL at its end. Not by writing, which would count as the program's. */
int describe_run(const struct plan *plan)
{
        int fd = memfd_create("run", MFD_CLOEXEC);
        unsigned seed = 0;
        char count[16], random[16];
        const char *first[] = { count, random };
        char *text;
        size_t size;

        if (fd < 0)
                return -1;
        if (getrandom(&seed, sizeof(seed), 0) < 0)
                _exit(1); /* a seed that others have would be worse */
        (void)snprintf(count, sizeof(count), "%u", plan->argument_count);
        (void)snprintf(random, sizeof(random), "%u", seed >> 1);
        size = measure(first, ARRAY_SIZE(first)) + measure(plan->arguments, plan->argument_count) +
               measure(plan->environment, plan->environment_count);
        if (ftruncate(fd, (off_t)size) < 0)
                _exit(1); /* a program that was told nothing would be another one */
        text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (text == MAP_FAILED)
                _exit(1);
        put(put(put(text, first, ARRAY_SIZE(first)), plan->arguments, plan->argument_count),
            plan->environment, plan->environment_count);
        (void)munmap(text, size);
        return fd;
}
