#include "attack.h"

int main(void)
{
        uint64_t attributes[16] = { 1 | (uint64_t)sizeof(attributes) << 32 };

        TRY("perf_event_open", syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0));
        TRY("perf_event_open-cpu", syscall(SYS_perf_event_open, attributes, -1, 0, -1, 0));
        return 0;
}
