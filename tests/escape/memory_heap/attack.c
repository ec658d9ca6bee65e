#include "attack.h"

int main(void)
{
        dprintf(1, "TRYING\n");
        for (size_t i = 0; i < 4096; i++) {
                char *block = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (block == MAP_FAILED) {
                        dprintf(1, "REFUSED mmap %s\n", strerrorname_np(errno));
                        return 1;
                }
                memset(block, 1, 1 << 20);
        }
        dprintf(1, "ESCAPED 4 GiB of heap\n");
        return 0;
}
