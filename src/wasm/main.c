/*
 * sandbox-wasm, the worker of the wasm backend: it holds the engine, one module and its host, runs
 * it once and ends. It is started as the guest of a sandbox, so that there is a second wall around
 * the engine; or it is parked (src/park) with everything loaded, and each run is a copy of it.
 *
 *   sandbox-wasm PROGRAM ARGUMENTS...    a run; its orders are in the environment
 *   sandbox-wasm -c "GUEST ID PARTS"     loads the guest, parks, then runs
 *   sandbox-wasm --compile, --snapshot   for the build of the guests
 */
#include "wasm/worker.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RUN_BYTES_MAX = 16 << 20 };

/* Cuts "count NUL seed NUL word NUL word NUL ..." into words; the number of arguments, or -1. */
static long take_words(char *text, size_t length, struct strlist *arguments,
                       struct strlist *environment)
{
        char *end = text + length, *word = text + strlen(text) + 1;
        long count = atol(text);

        if (word < end) /* the guest asks for chance itself */
                word += strlen(word) + 1;
        for (long i = 0; word < end; i++, word += strlen(word) + 1)
                if (strlist_add(i < count ? arguments : environment, word) < 0)
                        return -1;
        return (long)arguments->count == count ? count : -1;
}

/* Loads everything that runs share, stops at the opening of the file, goes on in each copy. */
static int run_parked(struct worker *worker, const char *text)
{
        struct strlist arguments = { 0 }, environment = { 0 };
        char guest[32], identity[64];
        char *words = NULL;
        size_t length;
        struct error err;
        int fd, at = 0;

        if (sscanf(text, "%31s %63s %n", guest, identity, &at) != 2 ||
            worker_load(worker, text + at, guest) < 0 ||
            (worker->engine.module && wasm_engine_settle(&worker->engine) < 0)) {
                (void)fprintf(stderr, "sandbox-wasm: cannot park '%s': %s\n", text,
                              worker->engine.why);
                return 125;
        }
        fd = open("/sandbox/park", O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fd_read_all(fd, RUN_BYTES_MAX, "the run", &words, &length, &err) < 0 ||
            take_words(words, length, &arguments, &environment) < 2 || environment.count == 0)
                return 125;
        fd_close(fd);
        worker->is_ready = true;
        return worker_run(worker, arguments.items + 1, arguments.count - 1, environment.items);
}

extern char **environ;

int main(int argc, char **argv)
{
        static struct worker worker;

        if (argc == 3 && str_equal(argv[1], "-c"))
                _exit(run_parked(&worker, argv[2]));
        if (argc > 1 && str_has_prefix(argv[1], "--"))
                return worker_build(argc, argv);
        /* Nothing of ours is worth being taken apart at the end. */
        _exit(worker_run(&worker, argv + 1, argc > 1 ? (size_t)argc - 1 : 0, environ));
}
