/*
 * The program that `sandbox bench` runs: static, so that what is measured is the sandbox and not
 * the dynamic linker. Without an argument it says hello; with a number it writes that many bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 18 };

static int flood(unsigned long long left)
{
        static char chunk[CHUNK];

        memset(chunk, 'x', sizeof(chunk));
        while (left > 0) {
                ssize_t n = write(1, chunk, left < CHUNK ? (size_t)left : CHUNK);

                if (n < 0)
                        return 1;
                left -= (unsigned long long)n;
        }
        return 0;
}

int main(int argc, char **argv)
{
        if (argc > 1)
                return flood(strtoull(argv[1], NULL, 10));
        return write(1, "hello\n", 6) == 6 ? 0 : 1;
}
