#include "attack.h"
#include <sys/mount.h>

int main(void)
{
        static const char *const places[] = { "/", "/proc", "/usr", "/code", "/dev", "/tmp", "/workspace" };
        char what[64];

        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
                snprintf(what, sizeof(what), "umount:%s", places[i]);
                TRY(what, umount2(places[i], MNT_DETACH));
        }
        return 0;
}
