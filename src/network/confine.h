/* What sandbox-network takes from itself before it hears of a guest. */
#ifndef NETWORK_CONFINE_H
#define NETWORK_CONFINE_H

/* 0, or -1 with errno. */
int confine(void);

#endif
