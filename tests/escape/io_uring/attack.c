#include "attack.h"

int main(void)
{
        char parameters[120] = { 0 };

        TRY("io_uring_setup", syscall(425, 4, parameters));
        TRY("io_uring_enter", syscall(426, 0, 0, 0, 0, NULL, 0));
        TRY("io_uring_register", syscall(427, -1, 0, NULL, 0));
        return 0;
}
