#include "docker/inside/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t microseconds(struct timeval time)
{
        return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

/* The line of a process; a name in it may hold anything, and ends with the last bracket. */
static bool read_line(int proc, const char *name, char *text, size_t size, const char **ret_rest)
{
        char path[300];
        ssize_t n;
        int fd;

        (void)snprintf(path, sizeof(path), "%s/stat", name);
        fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
        n = fd >= 0 ? read(fd, text, size - 1) : -1;
        if (fd >= 0)
                (void)close(fd);
        text[n > 0 ? n : 0] = '\0';
        *ret_rest = strrchr(text, ')');
        return *ret_rest;
}

static void add(struct processes *all, const char *rest)
{
        unsigned long long user, system, waited_user, waited_system, threads, pages;
        uint64_t tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);

        if (sscanf(rest + 1,
                   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %llu "
                   "%*d %*u %*u %llu",
                   &user, &system, &waited_user, &waited_system, &threads, &pages) != 6)
                return;
        all->cpu_us += (user + system + waited_user + waited_system) * tick_us;
        all->memory += pages * (uint64_t)sysconf(_SC_PAGESIZE);
        all->count += threads;
}

struct processes processes_look(void)
{
        DIR *dir = opendir("/proc");
        struct processes all = { 0 };
        struct dirent *entry;
        struct rusage ended;

        if (getrusage(RUSAGE_CHILDREN, &ended) == 0)
                all.cpu_us = microseconds(ended.ru_utime) + microseconds(ended.ru_stime);
        while (dir && (entry = readdir(dir))) {
                char text[1024];
                const char *rest;

                if (strtol(entry->d_name, NULL, 10) > 1 &&
                    read_line(dirfd(dir), entry->d_name, text, sizeof(text), &rest))
                        add(&all, rest);
        }
        if (dir)
                (void)closedir(dir);
        return all;
}
