/*
 * The system call filter. Its rules are in tools/gen-seccomp.c, compiled with libseccomp when the
 * project is built and embedded as BPF: a run applies a constant.
 */
#ifndef KERNEL_SECCOMP_H
#define KERNEL_SECCOMP_H

#include <stdbool.h>

/* Installs the filter for the calling process; needs no_new_privs. With `pin_cpus` the affinity
 * cannot be changed either; with `shares_files` no file can get a set-user-id or set-group-id bit.
 * 0 or -1 with errno. */
int seccomp_apply(bool pin_cpus, bool shares_files);
/* Whether a filter is in force for the calling process. */
bool seccomp_is_active(void);
/* Whether this kernel takes filters at all; installs nothing. */
bool seccomp_is_supported(void);
/* Number of instructions of the filter, for the result's detail. */
unsigned seccomp_length(void);

#endif
