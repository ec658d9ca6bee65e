#include "attack.h"

int main(void)
{
        long result;

        dprintf(1, "TRYING int80\n");
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
        dprintf(1, "ESCAPED int80: getpid says %ld\n", result);
        return 0;
}
