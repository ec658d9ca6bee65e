#include "attack.h"

int main(void)
{
        uint32_t attributes[32] = { 2, 4, 4, 1 };

        TRY("bpf-map", syscall(SYS_bpf, 0, attributes, sizeof(attributes)));
        TRY("bpf-load", syscall(SYS_bpf, 5, attributes, sizeof(attributes)));
        return 0;
}
