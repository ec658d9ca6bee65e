/* What the processes of the container use, summed one by one: for a container without a control
 * group of its own, where the files of group.h tell of somebody else's. */
#ifndef DOCKER_INSIDE_PROCESSES_H
#define DOCKER_INSIDE_PROCESSES_H

#include <stdint.h>

struct processes {
        uint64_t cpu_us; /* so far, of those that ended too */
        uint64_t memory; /* bytes now */
        uint64_t count;  /* with their threads */
};

/* All but this one, which is the first. */
struct processes processes_look(void);

#endif
