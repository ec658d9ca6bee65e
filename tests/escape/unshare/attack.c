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

        for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
                snprintf(what, sizeof(what), "unshare-%s", spaces[i].name);
                TRY(what, unshare(spaces[i].flag));
                snprintf(what, sizeof(what), "unshare-user+%s", spaces[i].name);
                TRY(what, unshare(CLONE_NEWUSER | spaces[i].flag));
        }
        /* The upper half of the register is not part of the flags; a filter must not be fooled. */
        TRY("unshare-high", syscall(SYS_unshare, 0x100000000UL | CLONE_NEWUSER));
        return 0;
}
