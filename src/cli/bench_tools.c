#include "cli/bench.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HELLO_MAX = 32 << 20, TREE_DEPTH = 16 };

/* Where the static program is, from the directory this program is in: in a build, beside an
 * installed helper. */
static const char *const hello_places[] = {
        "../../bench/bench-hello",
        "../libexec/sandbox-run/sandbox-bench-hello",
        "../libexec/sandbox-bench-hello",
        "sandbox-bench-hello",
};

static int find_hello(struct bench *bench, struct error *err)
{
        const char *slash = strrchr(bench->self, '/');
        AUTO_STRBUF struct strbuf place = { 0 };
        int r;

#ifdef SBX_LIBEXECDIR
        if (realpath(SBX_LIBEXECDIR "/sandbox-bench-hello", bench->hello))
                return 0;
#endif
        for (size_t i = 0; slash && i < ARRAY_SIZE(hello_places); i++) {
                place.length = 0;
                strbuf_add(&place, bench->self, (size_t)(slash + 1 - bench->self));
                strbuf_adds(&place, hello_places[i]);
                if (place.failed)
                        return error_set_nomem(err);
                if (realpath(place.data, bench->hello))
                        return 0;
        }
        r = error_set(err, SBX_ESYSTEM,
                      "the program to measure, 'sandbox-bench-hello', is not installed");
        error_hint(err, "run bench from the build directory or install it with the rest");
        return r;
}

static int read_hello(struct bench *bench, struct error *err)
{
        AUTO_CLOSE int fd = open(bench->hello, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return error_set_errno(err, "open '%s'", bench->hello);
        bench->hello_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        return fd_read_all(fd, HELLO_MAX, "the program to measure", &bench->hello_code,
                           &bench->hello_length, err);
}

/* What is measured gets our environment, but for the keeper: no other than the bench's own is
 * asked. */
static int make_environments(struct bench *bench, struct error *err)
{
        AUTO_STRBUF struct strbuf ours = { 0 };
        const char *keepers[BENCH_SURROUNDINGS] = { "SANDBOX_KEEPER=off" };

        strbuf_addf(&ours, "SANDBOX_KEEPER=%s", bench->socket);
        keepers[BENCH_WITH_KEEPER] = ours.data;
        if (ours.failed)
                return error_set_nomem(err);
        for (int i = 0; i < BENCH_SURROUNDINGS; i++) {
                struct strlist *list = &bench->environments[i];

                for (char **variable = environ; *variable; variable++)
                        if (!str_has_prefix(*variable, "SANDBOX_KEEPER=") &&
                            strlist_add(list, *variable) < 0)
                                return error_set_nomem(err);
                if (strlist_add(list, keepers[i]) < 0)
                        return error_set_nomem(err);
        }
        return 0;
}

/* Runs that are measured are recorded like all others, because that is part of what they cost; but
 * not among the records of the user. The engine is made once its place is known. */
static int record_aside(struct bench *bench, struct error *err)
{
        char state[sizeof(bench->directory) + 16];

        (void)snprintf(state, sizeof(state), "%s/state", bench->directory);
        if (setenv("SANDBOX_STATE_DIR", state, 1) < 0 || unsetenv("SANDBOX_WARM_WAIT") < 0 ||
            setenv("DOCKER_IMAGE", BENCH_IMAGE, 1) < 0)
                return error_set_errno(err, "set SANDBOX_STATE_DIR and DOCKER_IMAGE");
        if (make_environments(bench, err) < 0)
                return SBX_ENOMEM;
        if (setup_engine(NULL, SETUP_NO_RUN, &bench->engine, err) < 0)
                return SBX_ESYSTEM;
        (void)bench_find_interpreter(bench, "python", bench->python);
        return 0;
}

int bench_open(struct bench *bench, struct error *err)
{
        const char *tmp = getenv("TMPDIR");
        char directory[PATH_MAX];
        ssize_t length;
        int r;

        length = readlink("/proc/self/exe", bench->self, sizeof(bench->self) - 1);
        if (length < 0)
                return error_set_errno(err, "find this program");
        bench->self[length] = '\0';
        r = find_hello(bench, err);
        if (r == 0)
                r = read_hello(bench, err);
        if (r < 0)
                return r;
        length = snprintf(directory, sizeof(directory), "%s/sandbox-bench-XXXXXX",
                          tmp && *tmp == '/' ? tmp : "/tmp");
        if (length >= (ssize_t)sizeof(directory))
                return error_set(err, SBX_EINVAL, "TMPDIR is too long");
        /* mktemp's name goes into the struct only once it exists, so that nothing else is removed.
         */
        if (!mkdtemp(directory))
                return error_set_errno(err, "make temporary directory '%s'", directory);
        (void)memcpy(bench->directory, directory, sizeof(directory));
        if (snprintf(bench->socket, sizeof(bench->socket), "%s/keeper/keeper.sock", directory) >=
            (int)sizeof(bench->socket))
                return error_set(err, SBX_EINVAL, "TMPDIR is too long");
        return record_aside(bench, err);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        (void)remove(path); /* what cannot go stays; the rest is still tried */
        return 0;
}

void bench_close(struct bench *bench)
{
        bench_end_keeper(bench);
        bench_finish_judge(bench, "");
        sbx_engine_free(bench->warm_engine);
        sbx_policy_free(bench->policy);
        if (*bench->directory)
                (void)nftw(bench->directory, remove_entry, TREE_DEPTH,
                           FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
        sbx_engine_free(bench->engine);
        mem_free(bench->hello_code);
        fd_close(bench->hello_fd);
        for (int i = 0; i < BENCH_SURROUNDINGS; i++)
                strlist_done(&bench->environments[i]);
}

static bool is_program(const char *path)
{
        struct stat st;

        return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool bench_find_tool(const char *name, char path[PATH_MAX])
{
        static const char usual[] = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
        const char *lists[] = { getenv("PATH"), usual };

        for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
                for (const char *p = lists[i]; p && *p; p += strspn(p, ":")) {
                        size_t length = strcspn(p, ":");

                        if (*p == '/' &&
                            snprintf(path, PATH_MAX, "%.*s/%s", (int)length, p, name) < PATH_MAX &&
                            is_program(path))
                                return true;
                        p += length;
                }
        }
        *path = '\0';
        return false;
}

bool bench_find_interpreter(struct bench *bench, const char *language, char path[PATH_MAX])
{
        char *text = sbx_languages_json(bench->engine, NULL);
        json_t *languages = text ? json_loads(text, 0, NULL) : NULL;
        size_t index;
        json_t *item;

        *path = '\0';
        json_array_foreach(languages, index, item)
        {
                const char *found = json_string_value(json_object_get(item, "path"));

                if (found && str_equal(json_string_value(json_object_get(item, "name")), language))
                        (void)snprintf(path, PATH_MAX, "%s", found);
        }
        json_decref(languages);
        sbx_string_free(text);
        return *path != '\0';
}

int bench_write(struct bench *bench, const char *path, mode_t mode, const void *data, size_t length,
                struct error *err)
{
        AUTO_CLOSE int directory = open(bench->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        AUTO_CLOSE int fd = -1;

        if (directory < 0)
                return error_set_errno(err, "open '%s'", bench->directory);
        fd = openat(directory, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 && errno == EEXIST)
                return 0; /* our own, of another row */
        if (fd < 0 || fd_write_all(fd, data, length) < 0)
                return error_set_errno(err, "write '%s'", path);
        return 0;
}
