/*
 * System calls of a guest that wait for an answer (seccomp user notification), and what can be
 * learned about the one who waits.
 *
 * Everything read from a guest may be stale: the process may have died and its number may be
 * another's. Read first, then ask notify_is_valid(), then believe. Memory is copied once and never
 * looked at again, because its owner can change it at any time.
 *
 * What is asked of /proc is asked by names without it: it is the caller's working directory.
 */
#ifndef KERNEL_NOTIFY_H
#define KERNEL_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct notify_call {
        uint64_t id;
        pid_t thread; /* as this process sees it */
        int number;   /* SYS_* */
        uint64_t arguments[6];
};

/* Whoever waits and whoever answers wake one another on the same processor, since one of the two
 * always sleeps (Linux 6.6; before, nothing happens). */
void notify_wake_beside(int listener);
/* Receives one call. 1; 0 where none waits (any more); -1 where nobody is left who could make one.
 * Does not block. */
int notify_receive(int listener, struct notify_call *ret_call);
/* Whether the call still waits. */
bool notify_is_valid(int listener, uint64_t id);
/* Ends the call: it returns 0, or fails with this errno. False where it does not wait any more. */
bool notify_answer(int listener, uint64_t id, int sys_errno);
/* Lets the kernel make the call as it is now. What the caller was asked about may have changed. */
bool notify_go_on(int listener, uint64_t id);
/* Puts a copy of `fd` in place of the caller's descriptor `place`. The call still waits. */
bool notify_inject(int listener, uint64_t id, int fd, int place, bool close_on_exec);

struct guest_process {
        pid_t pid;
        unsigned threads;
};

/* The process of a thread; 0 or -1 with errno. */
int guest_process(pid_t thread, struct guest_process *ret_process);
/* Copies memory of the guest's; all of it, or -1 with EFAULT. */
int guest_read(pid_t thread, uint64_t address, void *buffer, size_t length);
/* A copy of a descriptor of the guest's, close-on-exec; or -1 with errno. */
int guest_descriptor(pid_t pid, int fd);
/* Whether the guest's descriptor is closed by its exec. */
bool guest_closes_on_exec(pid_t thread, int fd);

#endif
