#include "attack.h"

static const struct {
        const char *name;
        unsigned long flag;
} spaces[] = {
        { "user", CLONE_NEWUSER }, { "mount", CLONE_NEWNS },   { "pid", CLONE_NEWPID },
        { "net", CLONE_NEWNET },   { "ipc", CLONE_NEWIPC },    { "uts", CLONE_NEWUTS },
        { "cgroup", CLONE_NEWCGROUP }, { "time", 0x80 },
};

int main(void)
{
        char what[64];

        for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces) - 1; i++) {
                long pid;

                snprintf(what, sizeof(what), "clone-%s", spaces[i].name);
                errno = 0;
                pid = syscall(SYS_clone, spaces[i].flag | SIGCHLD, NULL, NULL, NULL, NULL);
                if (pid == 0)
                        _exit(0);
                REPORT(what, pid, EPERM, ENOSYS);
                errno = 0;
                pid = syscall(SYS_clone, 0x100000000UL | spaces[i].flag | SIGCHLD, NULL, NULL, NULL, NULL);
                if (pid == 0)
                        _exit(0);
                snprintf(what, sizeof(what), "clone-high-%s", spaces[i].name);
                REPORT(what, pid, EPERM, ENOSYS);
        }
        return 0;
}
