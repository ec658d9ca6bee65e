#include "base/entries.h"

#include <dirent.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void entries_begin(struct entries *entries, int dir)
{
        entries->dir = dir;
        entries->at = entries->end = 0;
}

const char *entries_next(struct entries *entries)
{
        for (;;) {
                const struct dirent *entry;

                if (entries->at >= entries->end) {
                        entries->at = 0;
                        entries->end = syscall(SYS_getdents64, entries->dir, entries->buffer,
                                               sizeof(entries->buffer));
                        if (entries->end <= 0)
                                return NULL;
                }
                entry = (const struct dirent *)(entries->buffer + entries->at);
                entries->at += entry->d_reclen;
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        return entry->d_name;
        }
}
