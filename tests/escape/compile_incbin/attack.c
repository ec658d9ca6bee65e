#include <stdio.h>

__asm__(".global stolen\nstolen: .incbin \"@CANARY_TMP@\"\n.byte 0\n");
extern const char stolen[];

int main(void)
{
        puts(stolen);
        return 0;
}
