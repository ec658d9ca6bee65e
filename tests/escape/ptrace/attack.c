#include "attack.h"
#include <sys/ptrace.h>

int main(void)
{
        pid_t child = fork();

        if (child == 0) {
                TRY("ptrace-traceme", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
                for (;;)
                        pause();
        }
        TRY("ptrace-child", ptrace(PTRACE_SEIZE, child, NULL, NULL));
        TRY("ptrace-attach", ptrace(PTRACE_ATTACH, child, NULL, NULL));
        TRY("ptrace-init", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
        usleep(100000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        return 0;
}
