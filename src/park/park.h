/* What the functions that open files ask (hooks.c). */
#ifndef PARK_PARK_H
#define PARK_PARK_H

#include <stdbool.h>

/* Whether the interpreter is to be stopped at this path. */
bool park_stops_at(const char *path);
/* Stops it; returns in each guest, with a descriptor from which a launcher reads the arguments. */
int park_here(void);

#endif
