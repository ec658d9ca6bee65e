/* What sandbox-network takes from itself as soon as it knows its guest. */
#ifndef NETWORK_CONFINE_H
#define NETWORK_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

/* Becomes the user (0: stays who it is), with no right but those to look at the guest and, where it
 * passes datagrams on, to have ports. /proc is the working directory then. The signal at the
 * parent's death is gone, and must be asked for again. 0, or -1 with errno. */
int confine(uint32_t uid, bool has_udp);
/* From now on it makes only the calls that it needs. 0, or -1 with errno. */
int confine_calls(void);

#endif
