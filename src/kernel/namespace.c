#include "kernel/namespace.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

const struct namespace_info namespaces[NAMESPACE_COUNT] = {
        [NAMESPACE_USER] = { "user", CLONE_NEWUSER, PROTECTION_USER_NAMESPACE },
        [NAMESPACE_MOUNT] = { "mnt", CLONE_NEWNS, PROTECTION_MOUNT_NAMESPACE },
        [NAMESPACE_PID] = { "pid", CLONE_NEWPID, PROTECTION_PID_NAMESPACE },
        [NAMESPACE_NETWORK] = { "net", CLONE_NEWNET, PROTECTION_NETWORK },
        [NAMESPACE_IPC] = { "ipc", CLONE_NEWIPC, PROTECTION_IPC_NAMESPACE },
        [NAMESPACE_UTS] = { "uts", CLONE_NEWUTS, PROTECTION_UTS_NAMESPACE },
        [NAMESPACE_CGROUP] = { "cgroup", CLONE_NEWCGROUP, PROTECTION_CGROUP_NAMESPACE },
};

int namespace_inodes(int proc_fd, uint64_t ret_inodes[NAMESPACE_COUNT])
{
        AUTO_CLOSE int dir = openat(proc_fd, "thread-self/ns", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int failure = errno;
        char text[64];

        /* Read, "net:[4026531840]", not followed: that would make an inode for each. */
        for (int i = 0; i < NAMESPACE_COUNT; i++) {
                ssize_t n = readlinkat(dir, namespaces[i].name, text, sizeof(text) - 1);
                const char *number;

                text[n > 0 ? n : 0] = '\0';
                number = strchr(text, '[');
                ret_inodes[i] = number ? strtoull(number + 1, NULL, 10) : 0;
        }
        errno = failure;
        return dir < 0 ? -1 : 0;
}

uint64_t namespace_changed(const uint64_t outer[NAMESPACE_COUNT],
                           const uint64_t now[NAMESPACE_COUNT])
{
        uint64_t changed = 0;

        for (int i = 0; i < NAMESPACE_COUNT; i++)
                if (outer[i] && now[i] && outer[i] != now[i])
                        changed |= UINT64_C(1) << namespaces[i].protection;
        return changed;
}

int namespace_map_self(int proc_fd, uint32_t inner_uid, uint32_t outer_uid, uint32_t inner_gid,
                       uint32_t outer_gid)
{
        static const char deny[] = "deny";
        char line[64];
        size_t written = sizeof(deny) - 1;

        /* The files belong to root while the process is not dumpable. */
        if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
                return -1;
        /* The kernel wants setgroups() given up before an unprivileged gid map. */
        if (fd_write_file_at(proc_fd, "self/setgroups", deny) < 0)
                return -1;
        (void)snprintf(line, sizeof(line), "%u %u 1\n", inner_gid, outer_gid);
        if (fd_write_file_at(proc_fd, "self/gid_map", line) < 0)
                return -1;
        written += strlen(line);
        (void)snprintf(line, sizeof(line), "%u %u 1\n", inner_uid, outer_uid);
        if (fd_write_file_at(proc_fd, "self/uid_map", line) < 0 ||
            prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                return -1;
        return (int)(written + strlen(line));
}

int namespace_loopback_up(void)
{
        AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct ifreq request = { .ifr_name = "lo" };

        if (fd < 0)
                return -1;
        request.ifr_flags = IFF_UP | IFF_RUNNING;
        return ioctl(fd, SIOCSIFFLAGS, &request);
}

/* Adds "local default dev lo" for the family. */
static int add_local_route(int fd, unsigned char family)
{
        struct {
                struct nlmsghdr header;
                struct rtmsg route;
                struct rtattr attribute;
                uint32_t interface;
        } request = {
                .header = { .nlmsg_len = sizeof(request),
                            .nlmsg_type = RTM_NEWROUTE,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK },
                .route = { .rtm_family = family,
                           .rtm_table = RT_TABLE_LOCAL,
                           .rtm_protocol = RTPROT_BOOT,
                           .rtm_scope = RT_SCOPE_HOST,
                           .rtm_type = RTN_LOCAL },
                .attribute = { .rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = RTA_OIF },
                .interface = 1, /* a namespace's first is its loopback */
        };
        struct {
                struct nlmsghdr header;
                struct nlmsgerr error;
                char asked[256];
        } answer;

        if (send(fd, &request, sizeof(request), 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0)
                return -1;
        if (answer.header.nlmsg_type != NLMSG_ERROR || answer.error.error == 0)
                return 0;
        errno = -answer.error.error;
        return -1;
}

int namespace_all_local(void)
{
        AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

        if (fd < 0 || add_local_route(fd, AF_INET) < 0)
                return -1;
        (void)add_local_route(fd, AF_INET6);
        return 0;
}
