#include "attack.h"

int main(void)
{
        TRY("memfd_secret", syscall(447, 0));
        return 0;
}
