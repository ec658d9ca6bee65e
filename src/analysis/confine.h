/* Before the first byte of source is read: the program gives up everything but computing. */
#ifndef ANALYSIS_CONFINE_H
#define ANALYSIS_CONFINE_H

/* 0, or -1 with errno: then nothing may be read. */
int confine_self(void);

#endif
