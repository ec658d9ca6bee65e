/* What the container's own control group has counted, by the files that the engine shows inside;
 * 0 where there is no such file. Versions 1 and 2 of control groups. */
#ifndef DOCKER_INSIDE_GROUP_H
#define DOCKER_INSIDE_GROUP_H

#include <stdint.h>

uint64_t group_cpu_us(void);
uint64_t group_memory_peak(void);
uint64_t group_memory_kills(void);
uint64_t group_processes_now(void);
uint64_t group_fork_refusals(void);

#endif
