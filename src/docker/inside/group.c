#include "docker/inside/group.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUPS "/sys/fs/cgroup/"

/* Where a figure stands: in a file of its own, or behind a word in one. */
struct figure {
        const char *path, *word;
        uint64_t divisor;
};

static uint64_t read_figure(const struct figure *figures, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                char text[4096];
                int fd = open(figures[i].path, O_RDONLY | O_CLOEXEC);
                ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
                const char *place = text;

                if (fd >= 0)
                        (void)close(fd);
                if (n <= 0)
                        continue;
                text[n] = '\0';
                if (figures[i].word) {
                        place = strstr(text, figures[i].word);
                        if (!place)
                                continue;
                        place += strlen(figures[i].word);
                }
                return strtoull(place, NULL, 10) / figures[i].divisor;
        }
        return 0;
}

#define READ(...)                                                                                  \
        do {                                                                                       \
                static const struct figure figures[] = { __VA_ARGS__ };                            \
                return read_figure(figures, sizeof(figures) / sizeof(figures[0]));                 \
        } while (0)

uint64_t group_cpu_us(void)
{
        READ({ GROUPS "cpu.stat", "usage_usec ", 1 },
             { GROUPS "cpuacct/cpuacct.usage", NULL, 1000 },
             { GROUPS "cpu,cpuacct/cpuacct.usage", NULL, 1000 });
}

uint64_t group_memory_peak(void)
{
        READ({ GROUPS "memory.peak", NULL, 1 },
             { GROUPS "memory/memory.max_usage_in_bytes", NULL, 1 },
             { GROUPS "memory.current", NULL, 1 });
}

uint64_t group_memory_kills(void)
{
        READ({ GROUPS "memory.events", "oom_kill ", 1 },
             { GROUPS "memory/memory.oom_control", "oom_kill ", 1 });
}

uint64_t group_processes_now(void)
{
        READ({ GROUPS "pids.current", NULL, 1 }, { GROUPS "pids/pids.current", NULL, 1 });
}

uint64_t group_fork_refusals(void)
{
        READ({ GROUPS "pids.events", "max ", 1 }, { GROUPS "pids/pids.events", "max ", 1 });
}
