#include "attack.h"
#include <sys/ioctl.h>

int main(void)
{
        static const struct {
                const char *name;
                unsigned long request;
        } calls[] = { { "TIOCSTI", 0x5412 }, { "TIOCLINUX", 0x541c }, { "TIOCSETD", 0x5423 } };
        char byte = 'x', what[64];
        int fds[] = { 0, 1, open("/dev/ptmx", O_RDWR | O_NOCTTY) };

        for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
                for (size_t j = 0; j < sizeof(fds) / sizeof(*fds); j++) {
                        snprintf(what, sizeof(what), "%s-%zu", calls[i].name, j);
                        TRY(what, syscall(SYS_ioctl, fds[j], calls[i].request, &byte));
                        snprintf(what, sizeof(what), "%s-high-%zu", calls[i].name, j);
                        TRY(what, syscall(SYS_ioctl, fds[j], 0x100000000UL | calls[i].request, &byte));
                }
        TRY("dev-tty", open("/dev/tty", O_RDWR), ENOENT, ENXIO);
        return 0;
}
