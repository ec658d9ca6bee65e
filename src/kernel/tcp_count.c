#include "kernel/tcp_count.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* <netinet/tcp.h> names them, but not beside <linux/tcp.h>. */
enum { TCP_CLOSE_WAIT = 8, TCP_LAST_ACK = 9, TCP_CLOSING = 11 };

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif

int tcp_count_open(void)
{
        return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
}

static void take_name(const struct sockaddr_storage *name, uint16_t *ret_port, uint32_t ret[4])
{
        if (name->ss_family == AF_INET) {
                const struct sockaddr_in *v4 = (const struct sockaddr_in *)name;

                *ret_port = v4->sin_port;
                memcpy(ret, &v4->sin_addr, sizeof(v4->sin_addr));
        } else {
                const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)name;

                *ret_port = v6->sin6_port;
                memcpy(ret, &v6->sin6_addr, sizeof(v6->sin6_addr));
        }
}

bool tcp_identify(int fd, const struct sockaddr_storage *to, struct tcp_id *ret_id)
{
        struct tcp_id id = { .family = to->ss_family };
        struct sockaddr_storage from = { 0 };
        socklen_t length = sizeof(from), size = sizeof(id.cookie);

        if (getsockname(fd, (struct sockaddr *)&from, &length) < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_COOKIE, id.cookie, &size) < 0)
                return false;
        take_name(&from, &id.source_port, id.source);
        take_name(to, &id.port, id.destination);
        *ret_id = id;
        return true;
}

struct question {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
};

static bool send_question(int asks, const struct tcp_id *id)
{
        struct question question = {
                .header = { .nlmsg_len = sizeof(question),
                            .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                            .nlmsg_flags = NLM_F_REQUEST },
                .body = { .sdiag_family = (uint8_t)id->family,
                          .sdiag_protocol = IPPROTO_TCP,
                          .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                          .idiag_states = ~0u,
                          .id = { .idiag_sport = id->source_port, .idiag_dport = id->port } },
        };

        memcpy(question.body.id.idiag_src, id->source, sizeof(id->source));
        memcpy(question.body.id.idiag_dst, id->destination, sizeof(id->destination));
        /* The cookie comes as one number, and is asked for as two halves. */
        question.body.id.idiag_cookie[0] = id->cookie[0];
        question.body.id.idiag_cookie[1] = id->cookie[1];
        return send(asks, &question, sizeof(question), MSG_NOSIGNAL) == (ssize_t)sizeof(question);
}

/* The kernel counts the end of what the other side sends as one more byte. The state that shows it
 * is read before the counters are, so one that has just come is known by what it did not bring: a
 * segment with data. */
static bool counts_end(const struct tcp_info *info, const struct tcp_counts *before)
{
        switch (info->tcpi_state) {
        case TCP_CLOSE_WAIT:
        case TCP_LAST_ACK:
        case TCP_CLOSING:
                return true;
        default:
                return info->tcpi_bytes_received == before->received + 1 &&
                       info->tcpi_data_segs_in == before->segments;
        }
}

static bool take_info(const struct rtattr *attribute, struct tcp_counts *counts)
{
        struct tcp_info info = { 0 };
        size_t length = RTA_PAYLOAD(attribute);

        if (length < offsetof(struct tcp_info, tcpi_bytes_retrans) + sizeof(uint64_t))
                return false; /* before Linux 4.19 */
        memcpy(&info, RTA_DATA(attribute), length < sizeof(info) ? length : sizeof(info));
        *counts = (struct tcp_counts){
                .received = info.tcpi_bytes_received - (counts_end(&info, counts) ? 1 : 0),
                .sent = info.tcpi_bytes_sent - info.tcpi_bytes_retrans,
                .segments = info.tcpi_data_segs_in,
        };
        return true;
}

bool tcp_count(int asks, const struct tcp_id *id, struct tcp_counts *counts)
{
        union {
                struct nlmsghdr header;
                char bytes[4096];
        } answer;
        const struct rtattr *attribute;
        ssize_t n;
        int left;

        /* The kernel answers within the send. */
        if (!send_question(asks, id))
                return false;
        n = recv(asks, &answer, sizeof(answer), MSG_DONTWAIT);
        if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) ||
            answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
                return false;
        attribute =
                (const struct rtattr *)(answer.bytes + NLMSG_LENGTH(sizeof(struct inet_diag_msg)));
        left = (int)n - (int)NLMSG_LENGTH(sizeof(struct inet_diag_msg));
        for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
                if (attribute->rta_type == INET_DIAG_INFO)
                        return take_info(attribute, counts);
        return false;
}
