#include "attack.h"

int main(void)
{
        TRY("swapon", syscall(SYS_swapon, "/workspace/swap", 0));
        TRY("swapoff", syscall(SYS_swapoff, "/workspace/swap"));
        return 0;
}
