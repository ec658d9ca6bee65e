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
 *
 * Told to build a nest, it makes and starts a container ahead of demand and waits with it. The
 * order to hatch a run brings that run's plan, files, pipes and a socket for its reports; it is
 * the only one that the container is used for.
 */
#ifndef DOCKER_RUN_H
#define DOCKER_RUN_H

#include "docker/container.h"
#include "docker/streams.h"
#include "plan/plan.h"
#include "plan/report.h"

struct docker_run {
        struct plan plan;
        void *arena; /* owned: what the plan is made of */
        struct docker_order order;
        struct daemon daemon;
        struct container container;
        struct streams streams;
        struct report report;
        int file_fds[ORDER_FDS_MAX];
        int file_count;
        int socket; /* for reports: the supervisor's, or that of a run that came later */
        int signal_fd;
        bool is_told; /* to end, by a signal or the supervisor's death */
        bool is_orphan;
        bool has_ended;     /* as a run should */
        pid_t sampler;      /* tells what the program uses, beside us; or 0 */
        uint64_t sample_ms; /* when it is started; 0: it is not */
        pid_t sweeper;      /* removes what others left, beside us; or 0 */
        char scratch[4200]; /* a folder of ours, for what comes back; "" while there is none */
        char secret[INSIDE_SECRET], seal[INSIDE_SECRET];
        uint64_t hesitation, hesitates_ms; /* see streams_hesitate(), and since when */
};

/* All of it; what goes wrong is reported. */
void docker_run(struct docker_run *run);
/* Reads what an order brought: a plan, the pipes, files. Takes the descriptors; false where they
 * are none of a run. */
bool docker_run_take(struct docker_run *run, const int *fds, size_t count, uint64_t plan_length);

/* pool.c: tells that the container waits, and waits for the run that it is for. */
int pool_wait(struct docker_run *run, struct error *err);

/* sampler.c: what the container uses, as the engine counts it, told to the supervisor by a process
 * beside this one, which asks again and again. It is begun when the program has run for one
 * interval, so that a short run costs nothing. */
void sampler_begin(struct docker_run *run);
void sampler_end(struct docker_run *run);

/* outcome.c */
void outcome_report(struct docker_run *run, enum report_kind kind, const int *fds, int count);
/* That this process is the one whose end is the run's. */
void outcome_started(struct docker_run *run);
/* The supervisor turns it into its error again. */
void outcome_error(struct docker_run *run, const struct error *err);
/* What the program made, into a folder that the supervisor looks at. */
int outcome_fetch(struct docker_run *run, const struct inside_end *end, struct error *err);
/* The program ended; the connection was lost; the program was not executed. */
void outcome_end(struct docker_run *run, const struct inside_end *end);
void outcome_lost(struct docker_run *run);
void outcome_unstarted(struct docker_run *run, const struct inside_end *end);
/* Waits until the supervisor lets go of that folder, by closing the connection; removes it. */
void outcome_settle(struct docker_run *run);

#endif
