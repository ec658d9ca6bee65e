#include <stdio.h>

int main(void)
{
        puts("COMPILED");
        return 0;
}
