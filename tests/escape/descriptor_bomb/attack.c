#include "attack.h"

int main(void)
{
        int count = 0;

        while (open("/dev/null", O_RDONLY) >= 0)
                count++;
        dprintf(1, "%s descriptors %s\n", count <= 64 ? "REFUSED" : "ESCAPED", strerrorname_np(errno));
        return 0;
}
