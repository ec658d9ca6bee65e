/* Descriptors that go along with an order to the helper, and what they are made of. */
#ifndef BACKEND_PARCEL_H
#define BACKEND_PARCEL_H

#include "backend/run.h"
#include "plan/plan.h"

struct parcel {
        int fds[ORDER_FDS_MAX]; /* borrowed but for `owned` */
        int count;
        int owned[3 + 1 + 4]; /* the streams, the plan or a socket, ways into groups */
        int owned_count;
};

void parcel_add(struct parcel *parcel, int fd, bool owned);
void parcel_done(struct parcel *parcel);
/* The guest's end of each stream goes into the parcel, ours into the run. Without a run they are
 * /dev/null. */
int parcel_open_streams(struct parcel *parcel, struct run *run, bool empty_stdin,
                        struct error *err);
/* The same for a process that has nothing to read or to say: no input, and a pipe that nobody
 * reads.
 */
int parcel_open_idle_streams(struct parcel *parcel, struct run *run, struct error *err);
/* Encodes the plan into a sealed memory file, which becomes descriptor `place` of the parcel. */
int parcel_put_plan(struct parcel *parcel, int place, const struct plan *plan, uint64_t *ret_length,
                    struct error *err);
int parcel_send(int socket, const void *data, size_t length, const int *fds, int count,
                struct error *err);

#endif
