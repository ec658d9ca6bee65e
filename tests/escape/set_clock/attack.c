#include "attack.h"
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>

int main(void)
{
        struct timex adjustment = { .modes = ADJ_TICK, .tick = 10000 };
        struct timespec now;
        struct timeval time;

        clock_gettime(CLOCK_REALTIME, &now);
        gettimeofday(&time, NULL);
        TRY("clock_settime", syscall(SYS_clock_settime, CLOCK_REALTIME, &now));
        TRY("settimeofday", syscall(SYS_settimeofday, &time, NULL));
        TRY("adjtimex", syscall(SYS_adjtimex, &adjustment));
        TRY("clock_adjtime", syscall(SYS_clock_adjtime, CLOCK_REALTIME, &adjustment));
        return 0;
}
