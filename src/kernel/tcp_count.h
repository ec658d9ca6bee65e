/*
 * Bytes that went over a TCP connection of this network namespace, asked of the kernel by the
 * connection's name (netlink, sock_diag): nobody needs to hold it open for that.
 */
#ifndef KERNEL_TCP_COUNT_H
#define KERNEL_TCP_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Without gaps, so that it can be compared as bytes. */
struct tcp_id {
        uint32_t source[4], destination[4];
        uint32_t cookie[2];
        uint16_t source_port, port; /* as on the wire */
        uint16_t family, unused;
};

/* What went over a connection so far; nothing at first. */
struct tcp_counts {
        uint64_t received, sent; /* bytes */
        uint32_t segments;       /* that brought data */
};

/* The descriptor to ask with, or -1 with errno. */
int tcp_count_open(void);
/* The name of a connection that was begun to this address. False where it has none. */
bool tcp_identify(int fd, const struct sockaddr_storage *to, struct tcp_id *ret_id);
/* Brings the counts of the last look up to date. False where the connection is gone, or cannot be
 * asked about: they stay then. */
bool tcp_count(int asks, const struct tcp_id *id, struct tcp_counts *counts);

#endif
