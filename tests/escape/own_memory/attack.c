#include "attack.h"

int main(void)
{
        unsigned char before, after, owned = 0x90;
        int file = open("/proc/self/exe", O_RDONLY), memory = open("/proc/self/mem", O_RDWR);
        unsigned char *private_map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
        unsigned char *shared_map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);

        pread(file, &before, 1, 4);
        (void)!pwrite(memory, &owned, 1, (off_t)(uintptr_t)(private_map + 4));
        TRY("shared-mapping", pwrite(memory, &owned, 1, (off_t)(uintptr_t)(shared_map + 4)), EIO, EFAULT, EBADF);
        TRY("shared-protect", mprotect(shared_map, 4096, PROT_READ | PROT_WRITE));
        pread(file, &after, 1, 4);
        REFUSED_IF("file-unchanged", before == after);
        return 0;
}
