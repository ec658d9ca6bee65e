#include "attack.h"
#include <sys/uio.h>

int main(void)
{
        char page[4096] = { 0 };
        struct iovec part = { page, sizeof(page) };
        int ends[2];

        pipe(ends);
        TRY("vmsplice", vmsplice(ends[1], &part, 1, 0));
        return 0;
}
