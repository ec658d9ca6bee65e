/* What a launcher is told about the run, as a file in memory. */
#include "park/park.h"
#include "plan/plan.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WORDS_AT_ONCE = 64 };

/* Many at a time; a file in memory takes all of them. */
static void put_words(int fd, const char **words, uint32_t count)
{
        struct iovec parts[WORDS_AT_ONCE];

        for (uint32_t next = 0; next < count;) {
                int taken = 0;

                for (; next < count && taken < WORDS_AT_ONCE; next++)
                        parts[taken++] = (struct iovec){ (void *)(uintptr_t)words[next],
                                                         strlen(words[next]) + 1 };
                (void)writev(fd, parts, taken);
        }
}

/* For a launcher that asks: how many arguments the program has, a random number, they, and its
 * environment, each with a NUL at its end. */
int describe_run(const struct plan *plan)
{
        int fd = memfd_create("run", MFD_CLOEXEC);
        unsigned seed = 0;
        char count[16], random[16];

        if (fd < 0)
                return -1;
        if (getrandom(&seed, sizeof(seed), 0) < 0)
                _exit(1); /* a seed that others have would be worse */
        (void)snprintf(count, sizeof(count), "%u", plan->argument_count);
        (void)snprintf(random, sizeof(random), "%u", seed >> 1);
        put_words(fd, (const char *[]){ count, random }, 2);
        put_words(fd, plan->arguments, plan->argument_count);
        put_words(fd, plan->environment, plan->environment_count);
        (void)lseek(fd, 0, SEEK_SET);
        return fd;
}
