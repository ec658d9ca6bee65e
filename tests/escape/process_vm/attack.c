#include "attack.h"
#include <sys/uio.h>

int main(void)
{
        char secret[16] = "secret";
        struct iovec local = { secret, sizeof(secret) }, remote = { secret, sizeof(secret) };
        pid_t child = fork();

        if (child == 0)
                for (;;)
                        pause();
        TRY("process_vm_readv", process_vm_readv(child, &local, 1, &remote, 1, 0));
        TRY("process_vm_writev", process_vm_writev(child, &local, 1, &remote, 1, 0));
        TRY("process_vm_readv-init", process_vm_readv(1, &local, 1, &remote, 1, 0));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        return 0;
}
