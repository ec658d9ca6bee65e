#include "attack.h"
#include <sys/shm.h>

int main(void)
{
        dprintf(1, "TRYING\n");
        for (int i = 0; i < 64; i++) {
                int id = shmget(IPC_PRIVATE, 16 << 20, IPC_CREAT | 0600);
                char *block = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

                if (block == (void *)-1) {
                        dprintf(1, "REFUSED shm %s\n", strerrorname_np(errno));
                        return 1;
                }
                memset(block, 1, 16 << 20);
                shmdt(block);
        }
        dprintf(1, "ESCAPED 1 GiB of segments\n");
        return 0;
}
