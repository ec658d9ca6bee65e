/*
 * The memory of a parked interpreter in large pages. Each copy takes over, and gives back when it
 * ends, every page that the interpreter has: with modules such as pandas loaded these are some ten
 * thousand, which is a good part of what the copy costs. A large page is taken over in one piece.
 * What a copy writes to is copied in small pages all the same.
 *
 * A large page is aligned, and Python asks for its memory in pieces of half of that or less, which
 * would lie scattered between the libraries that modules load. So where there are such modules,
 * pieces of that kind come from one area, one after the other, until the interpreter is parked.
 *
 * Where the kernel has no large pages, nothing changes. Nor where its operator wants none, which is
 * for the supervisor to see: there is no /sys here.
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
        MAPS_MAX = 1 << 20,
        PIECE_LEAST = 256 << 10, /* Python 3.9; 1 MiB since */
        PIECE_MOST = 1 << 20,
        AREA = 256 << 20, /* what does not fit lies where it will */
};

/* Where pieces come from: what is left of it. */
static struct {
        bool is_wanted;
        uintptr_t next, end; /* 0: there is none yet */
} area;

static bool make_area(void)
{
        void *made = mmap(NULL, AREA + LARGE, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (made == MAP_FAILED)
                return false;
        area.next = ((uintptr_t)made + LARGE - 1) & ~(uintptr_t)(LARGE - 1);
        area.end = (uintptr_t)made + AREA + LARGE;
        if (area.next > (uintptr_t)made)
                (void)munmap(made, area.next - (uintptr_t)made);
        return true;
}

/* By the constructor, when there is one thread. */
void pages_begin(void)
{
        area.is_wanted = make_area();
}

void *pages_place(size_t length)
{
        uintptr_t place;

        if (!area.is_wanted || length == 0 || length % PIECE_LEAST != 0 || length > PIECE_MOST)
                return NULL;
        /* A module may have threads while it is loaded; none gets what another has. */
        place = __atomic_load_n(&area.next, __ATOMIC_RELAXED);
        do {
                if (length > area.end - place)
                        return NULL;
        } while (!__atomic_compare_exchange_n(&area.next, &place, place + length, true,
                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED));
        return (void *)place;
}

/* No copy has any of it. */
static void end_area(void)
{
        area.is_wanted = false;
        if (area.end > area.next)
                (void)munmap((void *)area.next, area.end - area.next);
}

/* Whether nearly all of it is there already. */
static bool is_full(char *place)
{
        unsigned char present[PAGES] = { 0 }; /* fewer are asked about where pages are not small */
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

/* Whether it is memory that copies would have together: all but what is private, and files with a
 * name that can only be read, also by who asks for more. */
static bool is_shared(void *place, const char *permissions, const char *end)
{
        static const char removed[] = " (deleted)";
        size_t length = sizeof(removed) - 1;
        const char *name = memchr(permissions, '/', (size_t)(end - permissions));

        if (permissions[3] != 's')
                return false;
        return permissions[1] == 'w' || !name || strncmp(end - length, removed, length) == 0 ||
               mprotect(place, 1, PROT_READ | PROT_WRITE) == 0; /* then it is not parked */
}

static bool has_shared(const char *maps)
{
        for (const char *line = maps, *end; (end = strchr(line, '\n')); line = end + 1) {
                const char *permissions = memchr(line, ' ', (size_t)(end - line));

                if (!permissions || end - permissions < 22 ||
                    is_shared((void *)strtoul(line, NULL, 16), permissions + 1, end))
                        return true;
        }
        return false;
}

/* The text of all mappings, with a NUL at its end; or NULL. */
static char *read_maps(void)
{
        AUTO_CLOSE int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
        size_t length = 0;
        ssize_t n = -1;
        char *maps = mmap(NULL, MAPS_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                          0); /* zeroed */

        if (maps == MAP_FAILED)
                return NULL;
        while (fd >= 0 && length < MAPS_MAX - 1 &&
               (n = read(fd, maps + length, MAPS_MAX - 1 - length)) > 0)
                length += (size_t)n;
        if (n == 0)
                return maps;
        (void)munmap(maps, MAPS_MAX);
        return NULL;
}

bool pages_gather(void)
{
        bool is_large = area.is_wanted, is_good;
        char *maps;

        if (is_large)
                end_area();
        maps = read_maps();
        if (!maps)
                return false;
        is_good = !has_shared(maps);
        if (is_good && is_large && gather_all(maps, false) >= WORTH_WHILE)
                (void)gather_all(maps, true);
        (void)munmap(maps, MAPS_MAX);
        return is_good;
}
