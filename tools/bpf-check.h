/*
 * Whether two filters say the same: both are run, over all that they can be asked that matters.
 */
#ifndef BPF_CHECK_H
#define BPF_CHECK_H

#include "compact-bpf.h"

#include <linux/seccomp.h>
#include <stdbool.h>

/* Runs a program as the kernel does; -1 where it has an instruction that the kernel would refuse,
 * or that neither libseccomp nor we write. */
int bpf_run(const struct bpf *program, const struct seccomp_data *data, uint32_t *ret_answer);
/* For every number up to 1023, those of x32 and others beyond, foreign architectures, and arguments
 * of which each word goes through every constant that either program compares it with, the values
 * beside it, its single bits, and some more: all combinations where they are not too many, else
 * many of them. Always the same ones. */
bool bpf_says_the_same(const struct bpf *one, const struct bpf *other, uint32_t arch);

#endif
