/*
 * Runs that are going on. Each has a page in a memory file that its supervisor holds open and
 * writes when it takes a sample. Whoever wants to know looks through the descriptors of the
 * processes of the same user in /proc. So there is nothing to clean up: the page is gone with the
 * supervisor, also when that is killed, and it needs no disk.
 *
 * The supervisor reads back whether somebody asks it to end the run: that works for a server with
 * many runs as for the command line, and needs no signal. A run that ends before its first sample
 * never has a page.
 *
 * Who reads believes little: a guest of an ordinary user has the user's id and can make such a
 * file as well. Pages count only from processes in the reader's own pid namespace, where no
 * contained guest is, whose number they carry; their texts are shown as foreign ones.
 */
#ifndef HISTORY_RUNNING_H
#define HISTORY_RUNNING_H

#include "base/clock.h"
#include "base/error.h"
#include "history/history.h"

#include <stdbool.h>
#include <stdint.h>

enum { RUNNING_TEXT_MAX = 40, RUNNING_NAME_MAX = 132 };

/* What is used now; UINT64_MAX where it is not known. */
struct running_usage {
        uint64_t memory, memory_peak, cpu_us, cpu_milli, disk, io_read, io_write, network_in,
                network_out;
        uint64_t processes;
};

struct running_page {
        uint32_t magic;
        uint32_t cancel;     /* written by a reader: end the run */
        uint64_t watched_ns; /* written by a reader: when it looked, monotonic */
        uint64_t version;    /* counts up; the same at both ends of a page that was read whole */
        int64_t pid;
        uint64_t place_device, place_inode; /* the state directory: each has its own runs */
        uint64_t started_ns;                /* monotonic */
        uint64_t sampled_ns;
        char id[CLOCK_ULID_MAX + 5];
        char started_at[CLOCK_STAMP_MAX];
        char language[RUNNING_TEXT_MAX];
        char backend[RUNNING_TEXT_MAX];
        char phase[RUNNING_TEXT_MAX]; /* "compile", "run" */
        char name[RUNNING_NAME_MAX + 4];
        uint64_t memory_limit, timeout_ms, cpu_limit_ms, processes_limit, disk_limit;
        struct running_usage usage;
        uint64_t version_again;
};

struct running {
        int fd; /* owned: the memory file; -1: there is none */
        bool tried;
        struct running_page page;
};

void running_init(struct running *running);
/* Writes the page; makes the file at the first call. Whether the run is asked to end. */
bool running_update(const struct history *history, struct running *running);
/* Whether somebody has looked within the last seconds. */
bool running_is_watched(const struct running *running);
void running_close(struct running *running);

/* For readers, who are noted as such: all pages of this state directory, oldest first. Caller
 * frees. */
int running_list(const struct history *history, struct running_page **ret_pages, size_t *ret_count,
                 struct error *err);
/* Asks the supervisor to end the run, which it does within one sample. */
int running_cancel(const struct history *history, const char *id, struct error *err);

#endif
