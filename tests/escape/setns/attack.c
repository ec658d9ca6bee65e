#include "attack.h"

int main(void)
{
        static const char *const names[] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup" };
        char path[64], what[64];
        int fd;

        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
                snprintf(what, sizeof(what), "setns-%s", names[i]);
                fd = open(path, O_RDONLY);
                TRY(what, setns(fd, 0));
        }
        fd = (int)syscall(SYS_pidfd_open, 1, 0);
        TRY("setns-pidfd", setns(fd, CLONE_NEWNS | CLONE_NEWNET));
        return 0;
}
