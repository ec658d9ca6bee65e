/*
 * The memory of a parked interpreter in large pages. Each copy takes over, and gives back when it
 * ends, every page that the interpreter has: with modules such as pandas loaded these are some ten
 * thousand, which is a good part of what the copy costs. A large page is taken over in one piece.
 * What a copy writes to is copied in small pages all the same.
 *
 * Where the kernel has none, or they are switched off, nothing changes.
 */
#include "park/park.h"
#include "base/fd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

enum {
        LARGE = 2 << 20,
        SMALL = 4096,
        PAGES = LARGE / SMALL,
        PRESENT_LEAST = PAGES / 8 * 7, /* with fewer, the rest would be memory for nothing */
        WORTH_WHILE = 8,               /* large pages; a small interpreter is copied as it is */
        MAPS_MAX = 256 << 10,
};

/* Whether nearly all of it is there already. */
static bool is_full(char *place)
{
        unsigned char present[PAGES];
        int count = 0;

        if (mincore(place, LARGE, present) < 0)
                return false;
        for (int i = 0; i < PAGES; i++)
                count += present[i] & 1;
        return count >= PRESENT_LEAST;
}

/* Goes through a mapping; how many large pages fit, which are made where that is wanted. */
static int gather(uintptr_t from, uintptr_t to, bool make)
{
        int count = 0;

        for (from = (from + LARGE - 1) & ~(uintptr_t)(LARGE - 1); from + LARGE <= to;
             from += LARGE) {
                char *place = (char *)from;

                if (!is_full(place))
                        continue;
                /* One that cannot be made stays as it is. */
                if (make && madvise(place, LARGE, MADV_COLLAPSE) < 0)
                        continue;
                count++;
        }
        return count;
}

/* Through all mappings of memory that nobody else has: "from-to rw-p 0 00:00 0", and no name but
 * that of the heap. */
static int gather_all(const char *maps, bool make)
{
        int count = 0;

        for (const char *line = maps; *line; line = strchr(line, '\n') + 1) {
                char *rest;
                uintptr_t from = strtoul(line, &rest, 16);
                uintptr_t to = *rest == '-' ? strtoul(rest + 1, &rest, 16) : 0;
                const char *end = strchr(line, '\n');

                if (!end)
                        break;
                if (to > from && strncmp(rest, " rw-p 00000000 00:00 0", 22) == 0 &&
                    (end[-1] == ' ' || end[-1] == '0' || strncmp(end - 6, "[heap]", 6) == 0))
                        count += gather(from, to, make);
        }
        return count;
}

void pages_gather(void)
{
        AUTO_CLOSE int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
        char *maps = mmap(NULL, MAPS_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                          0); /* zeroed: the text ends with a NUL */
        size_t length = 0;
        ssize_t n = 0;

        if (maps == MAP_FAILED)
                return;
        while (fd >= 0 && length < MAPS_MAX - 1 &&
               (n = read(fd, maps + length, MAPS_MAX - 1 - length)) > 0)
                length += (size_t)n;
        if (n == 0 && gather_all(maps, false) >= WORTH_WHILE)
                (void)gather_all(maps, true);
        (void)munmap(maps, MAPS_MAX);
}
