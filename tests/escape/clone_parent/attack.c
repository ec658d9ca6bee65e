#include "attack.h"

int main(void)
{
        long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

        if (pid == 0)
                _exit(0);
        REFUSED_IF("sibling", pid < 0);
        return 0;
}
