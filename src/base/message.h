/* Messages with descriptors over a SOCK_SEQPACKET socket. Nothing here allocates. */
#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
        MESSAGE_FDS_MAX = 32,
        /* The whole message of four bytes by which a keeper hands its proxy a listening socket. */
        MESSAGE_LISTENER = 0x6c786273,
};

/* Sends the bytes and copies of the descriptors; 0, or -1 with errno. Retries EINTR, and for up to
 * ten seconds ETOOMANYREFS; raises no SIGPIPE. */
int message_send(int socket, const void *data, size_t length, const int *fds, size_t fd_count);
/* Once, and whether it is worth another try after that: waits a moment, so often all in all. */
int message_try_send(int socket, const void *data, size_t length, const int *fds, size_t fd_count);
bool message_wait_for_room(int *waits);
/* Receives one message of exactly `length` bytes, with at most `fd_max` descriptors, which are then
 * the caller's and close-on-exec. 1; 0 when the other end is closed; -1 with errno, EPROTO where
 * the message is of another form (its descriptors are closed). `flags` as of recvmsg(). */
int message_receive(int socket, int flags, void *data, size_t length, int *ret_fds, size_t fd_max,
                    size_t *ret_fd_count);

#endif
