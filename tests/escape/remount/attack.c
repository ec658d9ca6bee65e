#include "attack.h"
#include <sys/mount.h>

int main(void)
{
        static const char *const places[] = { "/", "/usr", "/code", "/proc", "/dev", "/workspace" };
        char what[64];

        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
                snprintf(what, sizeof(what), "remount-rw:%s", places[i]);
                TRY(what, mount(NULL, places[i], NULL, MS_REMOUNT | MS_BIND, NULL));
                snprintf(what, sizeof(what), "remount-super:%s", places[i]);
                TRY(what, mount(NULL, places[i], NULL, MS_REMOUNT, "size=1G"));
        }
        return 0;
}
