#include "base/spawn.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/wait.h>

enum { HIGH_DESCRIPTOR = 10, STANDARD_DESCRIPTORS = 3 };

int spawn_move_up(int fd)
{
        int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);

        fd_close(fd);
        return moved;
}

static int set_up_files(posix_spawn_file_actions_t *files, const struct spawn_fd *fds, size_t count)
{
        bool given[STANDARD_DESCRIPTORS] = { false };
        int r = 0;

        for (size_t i = 0; i < count && r == 0; i++) {
                r = posix_spawn_file_actions_adddup2(files, fds[i].fd, fds[i].target);
                if (fds[i].target < STANDARD_DESCRIPTORS)
                        given[fds[i].target] = true;
        }
        for (int i = 0; i < STANDARD_DESCRIPTORS && r == 0; i++)
                if (!given[i])
                        r = posix_spawn_file_actions_addopen(files, i, "/dev/null",
                                                             i == 0 ? O_RDONLY : O_WRONLY, 0);
        return r;
}

static void set_up_attributes(posix_spawnattr_t *attributes)
{
        sigset_t none, all;

        /* None of these can fail. */
        (void)sigemptyset(&none);
        (void)sigfillset(&all);
        (void)posix_spawnattr_setpgroup(attributes, 0);
        (void)posix_spawnattr_setsigmask(attributes, &none);
        (void)posix_spawnattr_setsigdefault(attributes, &all);
        (void)posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                           POSIX_SPAWN_SETSIGDEF);
}

static int spawn(const char *program, char *const *arguments, char *const *environment,
                 const char *folder, const struct spawn_fd *fds, size_t count, pid_t *ret_pid)
{
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attributes;
        int r = posix_spawn_file_actions_init(&files);

        if (r != 0)
                return r;
        r = posix_spawnattr_init(&attributes);
        if (r == 0) {
                r = set_up_files(&files, fds, count);
                if (r == 0 && folder)
                        r = posix_spawn_file_actions_addchdir_np(&files, folder);
                set_up_attributes(&attributes);
                if (r == 0)
                        r = posix_spawn(ret_pid, program, &files, &attributes, arguments,
                                        environment);
                (void)posix_spawnattr_destroy(&attributes);
        }
        (void)posix_spawn_file_actions_destroy(&files);
        return r;
}

int spawn_helper(const char *program, char *const *arguments, const struct spawn_fd *fds,
                 size_t count, pid_t *ret_pid)
{
        char *const environment[] = { NULL };

        return spawn(program, arguments, environment, NULL, fds, count, ret_pid);
}

int spawn_tool(char *const *arguments, char *const *environment, const struct spawn_fd *fds,
               size_t count, pid_t *ret_pid)
{
        return spawn(arguments[0], arguments, environment, "/", fds, count, ret_pid);
}

void spawn_end(pid_t pid)
{
        (void)kill(pid, SIGKILL); /* our child, not yet waited for */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}
