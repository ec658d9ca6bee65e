#include "base/clock.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

uint64_t clock_now_ns(void)
{
        struct timespec now = { 0 };

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_us(struct timeval time)
{
        return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

const char *clock_stamp(char buffer[CLOCK_STAMP_MAX])
{
        return clock_stamp_before(0, buffer);
}

const char *clock_stamp_before(uint64_t ns, char buffer[CLOCK_STAMP_MAX])
{
        const long second = 1000000000;
        struct timespec now = { 0 };
        struct tm parts = { 0 };
        size_t used;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        now.tv_sec -= (time_t)(ns / (uint64_t)second);
        now.tv_nsec -= (long)(ns % (uint64_t)second);
        if (now.tv_nsec < 0) {
                now.tv_nsec += second;
                now.tv_sec--;
        }
        (void)gmtime_r(&now.tv_sec, &parts);
        used = strftime(buffer, CLOCK_STAMP_MAX, "%Y-%m-%dT%H:%M:%S", &parts);
        (void)snprintf(buffer + used, CLOCK_STAMP_MAX - used, ".%03dZ",
                       (int)(now.tv_nsec / 1000000 % 1000));
        return buffer;
}

int clock_ulid(char buffer[CLOCK_ULID_MAX])
{
        static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        struct timespec now = { 0 };
        unsigned char random[16];
        uint64_t ms;

        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
                return -1;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
        for (int i = 9; i >= 0; i--, ms >>= 5)
                buffer[i] = digits[ms & 31];
        for (int i = 10; i < 26; i++)
                buffer[i] = digits[random[i - 10] & 31];
        buffer[26] = '\0';
        return 0;
}
