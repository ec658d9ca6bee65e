/* A folder for each test, and in it a tool that tells its version. */
#ifndef TESTS_TOOL_BENCH_H
#define TESTS_TOOL_BENCH_H

#include "unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "languages/languages.h"
#include "languages/languages_find.h"

/* A folder for each test, and in it a language whose tool is a script. */
struct bench {
        char folder[64];
        char tool[128];
        char cache[128];
        const char *candidates[4];
        struct language language;
};

static const char *const version_arguments[] = { "--version", NULL };
static const char *const no_runtime[] = { NULL };

/* The script tells `words` and leaves a mark each time it is asked. */
static void write_tool(const struct bench *bench, const char *path, const char *words)
{
        char text[512];
        int n = snprintf(text, sizeof(text), "#!/bin/sh\necho asked >> %s/marks\n%s\n",
                         bench->folder, words);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, text, (size_t)n), 0);
        fd_close(fd);
}

static inline size_t times_asked(const struct bench *bench)
{
        char path[128], text[4096];
        ssize_t length;

        (void)snprintf(path, sizeof(path), "%s/marks", bench->folder);
        length = fd_read_file_at(AT_FDCWD, path, text, sizeof(text));
        return length < 0 ? 0 : (size_t)length / strlen("asked\n");
}

static int set_up(void **state)
{
        struct bench *bench = mem_alloc(sizeof(*bench));
        char template[] = "/tmp/test-languages-XXXXXX";

        /* A tool in a folder that everybody may write is not for root: hence 0755. */
        if (!bench || !mkdtemp(template) || chmod(template, 0755) < 0)
                return -1;
        (void)snprintf(bench->folder, sizeof(bench->folder), "%s", template);
        (void)snprintf(bench->tool, sizeof(bench->tool), "%s/tool", template);
        (void)snprintf(bench->cache, sizeof(bench->cache), "%s/cache", template);
        bench->candidates[0] = bench->tool;
        bench->language = (struct language){ .name = "toy",
                                             .candidates = bench->candidates,
                                             .runtime = no_runtime,
                                             .version_arguments = version_arguments,
                                             .install = "apt-get install toy" };
        write_tool(bench, bench->tool, "echo 'toy version 2.10.3-rc1 (2026)'");
        *state = bench;
        return 0;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
        return remove(path);
}

static int tear_down(void **state)
{
        struct bench *bench = *state;

        (void)nftw(bench->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        mem_free(bench);
        return 0;
}

static inline void assert_found(const struct bench *bench, const char *cache, const char *version)
{
        struct language_tool tool;
        struct error err = { 0 };

        if (language_find(&bench->language, cache, &tool, &err) < 0)
                fail_msg("%s", err.message);
        assert_string_equal(tool.version, version);
        assert_int_equal(tool.path[0], '/');
}

#endif
