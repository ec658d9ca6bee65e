/*
 * One run in a container of an engine's.
 *
 * Theory of operation. sandbox-docker stands where sandbox-init stands on the other backends: the
 * supervisor starts it with a socket, an order and the program's pipes, hears the same reports
 * from it and ends it by the same signals, so that limits of time and output are the monitor's
 * here too. It has the caller's rights and talks to the daemon alone. In the container,
 * sandbox-inside waits for the program's words and watches over it. When the supervisor is gone,
 * the connection ends and the container is removed; when this process is killed, the end of the
 * attached connection ends the container, which the engine then removes; what both missed, the
 * next run sweeps.
 */
#ifndef DOCKER_RUN_H
#define DOCKER_RUN_H

#include "docker/container.h"
#include "docker/streams.h"
#include "plan/plan.h"
#include "plan/report.h"

struct docker_run {
        struct plan plan;
        struct docker_order order;
        struct daemon daemon;
        struct container container;
        struct streams streams;
        struct report report;
        int file_fds[ORDER_FDS_MAX];
        int file_count;
        int signal_fd;
        int profile_fd; /* the filter, for Podman */
        bool is_told;   /* to end, by a signal or the supervisor's death */
        bool is_orphan;
        char scratch[4200]; /* a folder of ours, for what comes back; "" while there is none */
        char secret[INSIDE_SECRET];
};

/* All of it; what goes wrong is reported. */
void docker_run(struct docker_run *run);

#endif
