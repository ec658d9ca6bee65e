#include "attack.h"

int main(void)
{
        TRY("add_key", syscall(SYS_add_key, "user", "attack", "x", 1, -3));
        TRY("request_key", syscall(SYS_request_key, "user", "attack", NULL, -3));
        TRY("keyctl-get", syscall(SYS_keyctl, 0, -3, 1));
        TRY("keyctl-join", syscall(SYS_keyctl, 1, "attack"));
        TRY("keyctl-session", syscall(SYS_keyctl, 0, -5, 0));
        return 0;
}
