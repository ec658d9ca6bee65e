#include "base/message.h"
#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

/* An ordinary user may have no more descriptors under way, in all sockets of all processes, than
 * one process may have open: many runs at once do. They arrive in a moment. */
enum { CROWDED_WAIT_MS = 2, CROWDED_WAITS = 5000 };

union control {
        char bytes[CMSG_SPACE(sizeof(int) * MESSAGE_FDS_MAX)];
        struct cmsghdr align;
};

int message_try_send(int socket, const void *data, size_t length, const int *fds, size_t fd_count)
{
        struct iovec part = { .iov_base = (void *)(uintptr_t)data, .iov_len = length };
        size_t size = sizeof(int) * fd_count;
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
        union control control = { 0 };
        ssize_t n;

        if (fd_count > MESSAGE_FDS_MAX) {
                errno = EINVAL;
                return -1;
        }
        if (fd_count > 0) {
                struct cmsghdr *header;

                message.msg_control = control.bytes;
                message.msg_controllen = CMSG_SPACE(size);
                header = CMSG_FIRSTHDR(&message);
                header->cmsg_level = SOL_SOCKET;
                header->cmsg_type = SCM_RIGHTS;
                header->cmsg_len = CMSG_LEN(size);
                memcpy(CMSG_DATA(header), fds, size);
        }
        do
                /* The kernel ignores MSG_PROXY; by it a guest's filter knows a message of ours,
                 * which must not wait for the one who is to get it. */
                n = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_PROXY);
        while (n < 0 && errno == EINTR);
        return n < 0 ? -1 : 0;
}

bool message_wait_for_room(int *waits)
{
        if (errno != ETOOMANYREFS || (*waits)++ == CROWDED_WAITS)
                return false;
        (void)poll(NULL, 0, CROWDED_WAIT_MS);
        return true;
}

int message_send(int socket, const void *data, size_t length, const int *fds, size_t fd_count)
{
        int waits = 0, r;

        do
                r = message_try_send(socket, data, length, fds, fd_count);
        while (r < 0 && message_wait_for_room(&waits));
        return r;
}

/* The descriptors of a message; the count. */
static size_t take_descriptors(struct msghdr *message, int fds[MESSAGE_FDS_MAX])
{
        const struct cmsghdr *header = CMSG_FIRSTHDR(message);
        size_t count;

        if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
                return 0;
        count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(header),
               count * sizeof(int)); /* no more than the buffer had room for */
        return count;
}

int message_receive(int socket, int flags, void *data, size_t length, int *ret_fds, size_t fd_max,
                    size_t *ret_fd_count)
{
        struct iovec part = { .iov_base = data, .iov_len = length };
        union control control;
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = control.bytes,
                                  .msg_controllen = sizeof(control.bytes) };
        int fds[MESSAGE_FDS_MAX];
        ssize_t n = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
        size_t count;

        /* Who ends without having read all that it was told resets the connection. That is said
         * once, before what it said itself. */
        if (n < 0 && errno == ECONNRESET)
                n = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
        *ret_fd_count = 0;
        if (n <= 0)
                return n < 0 && errno != ECONNRESET ? -1 : 0;
        count = take_descriptors(&message, fds);
        if ((size_t)n != length || count > fd_max ||
            (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC))) {
                for (size_t i = 0; i < count; i++)
                        fd_close(fds[i]);
                errno = EPROTO;
                return -1;
        }
        if (count > 0)
                memcpy(ret_fds, fds, count * sizeof(int));
        *ret_fd_count = count;
        return 1;
}
