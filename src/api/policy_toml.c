/*
 * Theory of operation. A TOML text is read by a program of ours, sandbox-toml, started for it as
 * the caller, outside of any sandbox: it gets the text in a sealed memory file as its input, an
 * empty environment and a pipe for its answer, and bounds its own time and memory. The caller's
 * thread waits for exactly this child. The answer ends with an event that says so; one that was cut
 * off is refused by its reader, so neither the exit code nor a lost child matters.
 */
#include "api/api.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/spawn.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A key of one letter and its value of one become two events of some twenty bytes each. */
enum { RECORD_MAX = 32 << 20 };

static int open_streams(const char *text, size_t length, int streams[3], struct error *err)
{
        int ends[2];

        streams[0] = spawn_move_up(fd_memfile("policy", text, length));
        if (streams[0] < 0 || lseek(streams[0], 0, SEEK_SET) < 0)
                return error_set_errno(err, "make a memory file for the policy");
        if (pipe2(ends, O_CLOEXEC) < 0)
                return error_set_errno(err, "make a pipe");
        streams[1] = spawn_move_up(ends[1]);
        streams[2] = spawn_move_up(ends[0]);
        return streams[1] < 0 || streams[2] < 0 ? error_set_errno(err, "copy a descriptor") : 0;
}

static int fail_start(const char *path, int number, struct error *err)
{
        int r = error_set(err, SBX_ESYSTEM, "start '%s', which reads TOML: %s", path,
                          strerror(number));

        error_hint(err, "install it beside the program, or write the policy as YAML");
        return r;
}

static int ask(const char *path, int streams[3], char **ret_record, size_t *ret_length,
               struct error *err)
{
        char *arguments[] = { (char *)path, NULL };
        const struct spawn_fd fds[] = { { streams[0], 0 }, { streams[1], 1 } };
        pid_t pid = -1;
        int r = spawn_helper(path, arguments, fds, ARRAY_SIZE(fds), &pid);

        if (r != 0)
                return fail_start(path, r, err);
        fd_close(fd_take(&streams[1]));
        r = fd_read_all(streams[2], RECORD_MAX, "answer of sandbox-toml", ret_record, ret_length,
                        err);
        fd_close(fd_take(&streams[2])); /* where it writes on, it ends */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        return r;
}

int api_toml_record(const char *text, size_t length, char **ret_record, size_t *ret_length,
                    struct error *err)
{
        AUTO_FREE char *path = engine_find_helper("sandbox-toml", "SANDBOX_TOML");
        int streams[3] = { -1, -1, -1 };
        int r;

        if (!path)
                return error_set_nomem(err);
        r = open_streams(text, length, streams, err);
        if (r == 0)
                r = ask(path, streams, ret_record, ret_length, err);
        for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
                fd_close(streams[i]);
        return r;
}
