/*
 * The program that `sandbox bench` runs: static, so that what is measured is the sandbox and not
 * the dynamic linker.
 *
 *   hello                 says hello
 *   hello N               writes N bytes
 *   hello read PORT       reads all that a server on the loopback sends; prints bytes a second
 *   hello connect PORT    connects often; prints the median in seconds
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 1 << 18, CONNECTS = 200 };

static char chunk[CHUNK];

static int flood(unsigned long long left)
{
        memset(chunk, 'x', sizeof(chunk));
        while (left > 0) {
                ssize_t n = write(1, chunk, left < CHUNK ? (size_t)left : CHUNK);

                if (n < 0)
                        return 1;
                left -= (unsigned long long)n;
        }
        return 0;
}

static double now(void)
{
        struct timespec at;

        clock_gettime(CLOCK_MONOTONIC, &at);
        return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static int connected(uint16_t port)
{
        struct sockaddr_in name = { .sin_family = AF_INET,
                                    .sin_port = htons(port),
                                    .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        return fd >= 0 && connect(fd, (const struct sockaddr *)&name, sizeof(name)) == 0 ? fd : -1;
}

static int read_all(uint16_t port)
{
        int fd = connected(port);
        double start = now();
        uint64_t bytes = 0;
        ssize_t n;

        if (fd < 0)
                return 1;
        while ((n = read(fd, chunk, sizeof(chunk))) > 0)
                bytes += (uint64_t)n;
        printf("%.0f\n", (double)bytes / (now() - start));
        return n < 0;
}

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static int connect_often(uint16_t port)
{
        static double samples[CONNECTS];

        for (int i = 0; i < CONNECTS; i++) {
                double start = now();
                int fd = connected(port);

                samples[i] = now() - start;
                if (fd < 0)
                        return 1;
                close(fd);
        }
        qsort(samples, CONNECTS, sizeof(samples[0]), compare);
        printf("%.9f\n", samples[CONNECTS / 2]);
        return 0;
}

int main(int argc, char **argv)
{
        if (argc > 2)
                return (strcmp(argv[1], "read") == 0 ? read_all
                                                     : connect_often)((uint16_t)atoi(argv[2]));
        if (argc > 1)
                return flood(strtoull(argv[1], NULL, 10));
        return write(1, "hello\n", 6) == 6 ? 0 : 1;
}
