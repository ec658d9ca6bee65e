/* Whether the container has a way to others: what an engine was told to leave out is looked at. */
#ifndef DOCKER_INSIDE_ROUTES_H
#define DOCKER_INSIDE_ROUTES_H

#include <stdbool.h>

/* A route by any interface but the loopback, of either version; or those of version 4 cannot be
 * read. */
bool routes_lead_out(void);

#endif
