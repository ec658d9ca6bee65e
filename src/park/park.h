/* What the files of the library in a parked interpreter need of each other. */
#ifndef PARK_PARK_H
#define PARK_PARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What an interpreter that poses is told: the guest that each copy of it will be. */
enum { POSED_PID = 2, POSED_PARENT = 1, POSED_ID = 1000 };
#define POSED_HOST "sandbox"

/* park.c */
/* Whether the interpreter still has to be stopped. */
bool park_is_due(void);
/* Before the interpreter does anything. */
void park_begin(int socket);
/* Stops it. Returns in each guest, confined, and never in the interpreter. */
void park_serve(void);
/* Stops it until it is told its program: it is the guest, confined before. */
void park_wait(void);
/* Has the guest executed after all, as it would have been without us; does not return. */
void park_execute(void);
/* A guest's arguments and environment, as a file to read; or -1. */
int park_describe(void);

struct init;
/* All of the run but its command and environment. */
void park_forget(struct init *init);

/* run_plan.c */
struct plan;
/* Maps and decodes it into init->plan, in place of nothing: one at a time. */
void run_plan_read(struct init *init, int plan_fd, uint64_t length);
void run_plan_forget(void);
/* Its command and environment alone, in memory of their own. */
struct plan run_plan_keep(const struct plan *plan);

/* describe.c: arguments and environment of the run, as a file to read; or -1. */
int describe_run(const struct plan *plan);

/* once.c */
struct given;
/* For a guest that waits: what its keeper tells it, with room for ORDER_FDS_MAX descriptors. Ends
 * with the keeper. */
void given_receive(int socket, size_t stream_count, struct given *ret_given, int *ret_fds);
void once_wait(struct init *init, int socket);
void once_execute(const struct init *init);

/* pages.c: before there are copies. */
/* An interpreter that will be large: pieces of its memory are to lie together. */
void pages_begin(void);
/* Where a piece of this length is to be mapped; NULL: anywhere. */
void *pages_place(size_t length);
/* False where copies would share memory that one of them could write: then there may be none. */
bool pages_gather(void);

/* stops.c: what the hooks ask. */
/* Before a path is opened; true: the descriptor, or -1 with errno, is the answer. */
bool stops_open(const char *path, int *ret_fd);
/* Before the process forks; true: this is a guest, and what the caller takes for the child. */
bool stops_fork(void);
/* Whether the interpreter is to be told that it were the guest. */
bool stops_poses(void);
/* For a guest of an interpreter that posed: whether it is what that was told. */
bool stops_is_as_posed(void);

/* hooks.c: the C library's own. */
pid_t hooks_real_fork(void);

#endif
