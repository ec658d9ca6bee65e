/*
 * The system call filter. Its rules are in tools/gen-seccomp.c, compiled with libseccomp when the
 * project is built and embedded as BPF: a run applies a constant.
 */
#ifndef KERNEL_SECCOMP_H
#define KERNEL_SECCOMP_H

#include <stdbool.h>

/* Installs the filter for the calling process; needs no_new_privs. With `pin_cpus` the affinity
 * cannot be changed either; with `shares_files` no file can get a set-user-id or set-group-id bit;
 * with `is_measured` no process can close itself to who looks up what it holds. Where
 * `ret_listener` is not NULL it gets a descriptor as below, for connect and sends to an address by
 * a guest whose namespace refuses them: whoever hears of it lets them go on. It gets -1 where there
 * can be none, as under another supervisor that has one. 0 or -1 with errno. */
int seccomp_apply(bool pin_cpus, bool shares_files, bool is_measured, int *ret_listener);
/* Has every start of a process or thread, or of threads alone, wait for the holder of the
 * descriptor this returns, or -1 with errno. A signal whose handler does not restart calls makes
 * what waits fail with EINTR, which fork() never does by itself, and shells that reap children give
 * up then: forks are only asked about where nothing else counts them. To be applied before the
 * filter above, which does not let a process make such descriptors. */
int seccomp_ask_about_forks(bool threads_alone);
/* The same for connect, bind, listen and sends to an address, and, with `forks_too`, for new
 * processes as above: a process can have one such descriptor alone. What a socket could be made to
 * do beside them is refused. */
int seccomp_ask_about_network(bool forks_too, bool threads_alone);
/* The same for new processes, and for what seccomp_apply() notes. */
int seccomp_note_attempts(bool threads_alone);
/* Whether there is such a descriptor: the kernel refuses a second one. Where there is none, a
 * filter that does nothing is left behind. */
bool seccomp_has_listener(void);
/* Whether a filter is in force for the calling process. */
bool seccomp_is_active(void);
/* Whether this kernel takes filters at all; installs nothing. */
bool seccomp_is_supported(void);
/* Number of instructions of the filter, for the result's detail. */
unsigned seccomp_length(void);

#endif
