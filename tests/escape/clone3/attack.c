#include "attack.h"

int main(void)
{
        uint64_t arguments[11] = { CLONE_NEWUSER | CLONE_NEWNS, [4] = SIGCHLD };
        long pid = syscall(435, arguments, sizeof(arguments));

        if (pid == 0)
                _exit(0);
        REPORT("clone3", pid, ENOSYS);
        TRY_ONLY("clone3-empty", syscall(435, NULL, 0), ENOSYS);
        return 0;
}
