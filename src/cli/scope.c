/*
 * Delegation. The shell of an ordinary user usually lives in a session's control group, in which
 * only root may make groups. The user's own service manager hands out scopes with that right; so
 * where there is one, the program starts itself again inside such a scope, and limits are then held
 * by control groups instead of the monitor. SANDBOX_SCOPE=off leaves it; the program sets it to
 * "inside" for itself.
 */
#include "cli/cli.h"
#include "base/fd.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { CGROUP2_MAGIC = 0x63677270 };

static const char *const scope_command[] = {
        "systemd-run", "--user", "--scope", "--quiet", "--collect", "--property=Delegate=yes", "--",
};

static bool has_user_manager(void)
{
        const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
        char path[4096];

        if (!runtime || runtime[0] != '/' ||
            (size_t)snprintf(path, sizeof(path), "%s/systemd/private", runtime) >= sizeof(path))
                return false;
        return access(path, F_OK) == 0;
}

/* Below the manager's own service everything is delegated already. */
static bool is_below_manager(void)
{
        char text[4096];

        return fd_read_file_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) <= 0 ||
               strstr(text, "/user@");
}

static bool is_wanted(void)
{
        struct statfs fs;

        return geteuid() != 0 && !getenv("SANDBOX_SCOPE") && statfs("/sys/fs/cgroup", &fs) == 0 &&
               fs.f_type == CGROUP2_MAGIC && has_user_manager() && !is_below_manager();
}

void scope_enter(const char *command, int argc, char **argv)
{
        static const char *const places[] = { "/usr/bin/systemd-run", "/bin/systemd-run" };
        size_t fixed = ARRAY_SIZE(scope_command);
        AUTO_FREE char **words = NULL;
        char self[4096];
        ssize_t n;

        if (!is_wanted())
                return;
        n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        words = mem_alloc((fixed + (size_t)argc + 3) * sizeof(*words));
        if (n <= 0 || !words)
                return;
        self[n] = '\0';
        memcpy(words, scope_command, sizeof(scope_command));
        words[fixed] = self;
        words[fixed + 1] = (char *)(uintptr_t)command; /* exec does not change it */
        for (int i = 0; i < argc; i++)
                words[fixed + 2 + (size_t)i] = argv[i];
        (void)setenv("SANDBOX_SCOPE", "inside", 1);
        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                (void)execv(places[i], words);
        (void)unsetenv("SANDBOX_SCOPE"); /* there is none: the monitor holds the limits */
}
