/*
 * The filter in the words of container engines: JSON, written as a header of C. Rules without
 * conditions that follow one another and say the same share one entry, for every process on an
 * engine's way to a container reads the whole text anew.
 */
#ifndef TOOLS_SECCOMP_PROFILE_H
#define TOOLS_SECCOMP_PROFILE_H

#include <seccomp.h>
#include <stdint.h>

/* Begins with what becomes of a call that no rule names: ENOSYS. */
void profile_begin(const char *architecture);
void profile_add(uint32_t action, const char *name, unsigned count,
                 const struct scmp_arg_cmp *args);
/* Writes the header; 0 or a negative errno. */
int profile_end(const char *path);

#endif
