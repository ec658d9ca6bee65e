/*
 * What the fronts of the guests share: how a program that is part of a snapshot learns about its
 * run. Arguments, environment and directories come at each run; nothing of them is in the snapshot.
 */
#ifndef GUESTS_FRONT_H
#define GUESTS_FRONT_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/api.h>
#include <wasi/libc.h>

enum { CODE_MEMORY = 1 << 16, FIRST_DIRECTORY = 4, DIRECTORIES_MAX = 1024 };

struct words {
        char **items; /* NULL-terminated; NULL when out of memory */
        size_t count;
};

static struct words take_words(__wasi_errno_t (*sizes)(__wasi_size_t *, __wasi_size_t *),
                               __wasi_errno_t (*get)(uint8_t **, uint8_t *))
{
        struct words words = { NULL, 0 };
        __wasi_size_t count, bytes;
        char *text;

        if (sizes(&count, &bytes) != 0)
                return words;
        words.items = calloc(count + 1, sizeof(*words.items));
        text = malloc(bytes + 1);
        if (!words.items || !text || get((uint8_t **)words.items, (uint8_t *)text) != 0)
                words.items = NULL;
        words.count = words.items ? count : 0;
        return words;
}

static struct words front_arguments(void)
{
        return take_words(__wasi_args_sizes_get, __wasi_args_get);
}

static struct words front_environment(void)
{
        return take_words(__wasi_environ_sizes_get, __wasi_environ_get);
}

/* The C library looked for directories when the snapshot was made; those of the run come after. */
static int front_open_directories(const char *start)
{
        for (int fd = FIRST_DIRECTORY; fd < DIRECTORIES_MAX; fd++) {
                __wasi_prestat_t about;
                char name[4096];

                if (__wasi_fd_prestat_get(fd, &about) != 0)
                        break;
                if (about.u.dir.pr_name_len >= sizeof(name) ||
                    __wasi_fd_prestat_dir_name(fd, (uint8_t *)name, about.u.dir.pr_name_len) != 0)
                        return -1;
                name[about.u.dir.pr_name_len] = '\0';
                if (__wasilibc_register_preopened_fd(fd, name) != 0)
                        return -1;
        }
        return chdir(start);
}

#endif
