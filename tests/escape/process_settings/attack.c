#include "attack.h"
#include <sys/prctl.h>

int main(void)
{
        TRY("set-mm", prctl(PR_SET_MM, PR_SET_MM_BRK, sbrk(0), 0, 0));
        TRY("set-exe", prctl(PR_SET_MM, PR_SET_MM_EXE_FILE, open("/proc/self/exe", O_RDONLY), 0, 0));
        TRY("process_madvise", syscall(440, syscall(SYS_pidfd_open, 1, 0), NULL, 0, 4, 0));
        return 0;
}
