#include "attack.h"

int main(void)
{
        TRY_ONLY("call-600", syscall(600, 0, 0, 0, 0), ENOSYS, EPERM);
        TRY_ONLY("call-999", syscall(999, 0, 0, 0, 0), ENOSYS, EPERM);
        TRY("listmount", syscall(458, NULL, NULL, 0, 0));
        TRY("statmount", syscall(457, NULL, NULL, 0, 0));
        TRY("lsm_set_self_attr", syscall(460, 0, NULL, 0, 0));
        return 0;
}
