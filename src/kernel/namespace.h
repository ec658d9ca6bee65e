/* Namespaces: which there are, and the proof that a process is in other ones than its caller. */
#ifndef KERNEL_NAMESPACE_H
#define KERNEL_NAMESPACE_H

#include "base/protection.h"

#include <stdint.h>

enum namespace_id {
        NAMESPACE_USER,
        NAMESPACE_MOUNT,
        NAMESPACE_PID,
        NAMESPACE_NETWORK,
        NAMESPACE_IPC,
        NAMESPACE_UTS,
        NAMESPACE_CGROUP,
        NAMESPACE_COUNT
};

struct namespace_info {
        const char *name; /* below /proc/PID/ns */
        uint64_t flag;    /* CLONE_NEW* */
        enum protection protection;
};

extern const struct namespace_info namespaces[NAMESPACE_COUNT];

/* The inode numbers of the calling thread's namespaces, read below `proc_fd` (an open /proc); 0
 * for one that cannot be read. -1 with errno where that is none of them. */
int namespace_inodes(int proc_fd, uint64_t ret_inodes[NAMESPACE_COUNT]);
/* Bit per protection whose namespace differs from `outer`. */
uint64_t namespace_changed(const uint64_t outer[NAMESPACE_COUNT],
                           const uint64_t now[NAMESPACE_COUNT]);

/* Writes the maps of the calling process's user namespace: one id, `inner` for `outer`. The process
 * must own `outer` itself. The bytes written, or -1 with errno. `proc_fd` as above. */
int namespace_map_self(int proc_fd, uint32_t inner_uid, uint32_t outer_uid, uint32_t inner_gid,
                       uint32_t outer_gid);
/* Brings the loopback device of the current network namespace up. 0 or -1 with errno. */
int namespace_loopback_up(void);
/* Makes every address one of the loopback's, so that sockets can have any. 0 or -1 with errno;
 * where there is no IPv6, for IPv4 alone. */
int namespace_all_local(void);

#endif
