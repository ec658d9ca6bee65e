/* Which options of sockets a guest may set: numbers that are the same everywhere, for gen-seccomp.
 * A filter can only say what is allowed, so what lies beside the refused ones is put together. */
#ifndef TOOLS_SECCOMP_SOCKETS_H
#define TOOLS_SECCOMP_SOCKETS_H

#include <stdint.h>

/* Numbers of options that are decided on together: as many as a power of two, from a multiple of it
 * on. */
struct options {
        uint64_t level, mask, value;
};
enum { IPV4 = 0, IPV6 = 41 };
#define FROM(count, first) 0xffffffff & ~(uint64_t)((count)-1), first

/* To be one of a group that others send to: the kernel tells them of it, and goes on to do so when
 * the socket is gone, in a network namespace that the next run has. */
static const struct options groups[] = {
        { IPV4, FROM(1, 35) }, { IPV4, FROM(4, 36) }, { IPV4, FROM(8, 40) }, { IPV4, FROM(1, 48) },
        { IPV6, FROM(2, 20) }, { IPV6, FROM(1, 27) }, { IPV6, FROM(2, 34) }, { IPV6, FROM(4, 36) },
        { IPV6, FROM(8, 40) }, { IPV6, FROM(1, 48) },
};
static const struct options beside_groups[] = {
        { IPV4, FROM(32, 0) },  { IPV4, FROM(2, 32) }, { IPV4, FROM(1, 34) }, { IPV4, FROM(1, 49) },
        { IPV4, FROM(2, 50) },  { IPV6, FROM(16, 0) }, { IPV6, FROM(4, 16) }, { IPV6, FROM(2, 22) },
        { IPV6, FROM(2, 24) },  { IPV6, FROM(1, 26) }, { IPV6, FROM(4, 28) }, { IPV6, FROM(1, 33) },
        { IPV6, FROM(1, 49) },  { IPV6, FROM(2, 50) }, { IPV6, FROM(4, 52) }, { IPV6, FROM(8, 56) },
        { IPV6, FROM(64, 64) },
};

/* Labels of flows. */
static const struct options labels[] = { { IPV6, FROM(1, 32) } };
/* No number without the sixth bit, or with one beside it, is 32. */
static const struct options beside_labels[] = {
        { IPV6, 0x20, 0 },    { IPV6, 0x21, 0x21 }, { IPV6, 0x22, 0x22 }, { IPV6, 0x24, 0x24 },
        { IPV6, 0x28, 0x28 }, { IPV6, 0x30, 0x30 }, { IPV6, 0x40, 0x40 },
};

#endif
