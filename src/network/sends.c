/*
 * The guest's sends that carry an address.
 *
 * What is looked at decides what is told and which errno is answered, never what is reached:
 * sockets for datagrams are in the guest's own namespace, where nobody is but itself and the places
 * that rules opened (relay.c), and on TCP the filter refuses the one flag by which the address
 * would count. So the kernel goes on with all that is not refused, whatever its memory says by
 * then.
 */
#include "network/internal.h"
#include "base/fd.h"
#include "kernel/notify.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

/* Of a batch the first ones are looked at; the kernel takes more. */
enum { MESSAGES_MAX = 16 };

/* What the two calls that send messages are given: an array of one kind, or a single one. */
struct message_head {
        uint64_t name;
        uint32_t length;
};

enum { MESSAGE_STRIDE = 64 /* struct mmsghdr, on every machine of 64 bits */ };

/* A place that may not be sent to. */
struct refused {
        struct address address;
        uint16_t port;
};

bool sends_may_go(const struct network *network, const struct address *address, uint16_t port)
{
        return address_is_loopback(address) || relay_has(network, address, port);
}

/* Whether there is an address at which datagrams must not go. What cannot be read is for the kernel
 * to refuse. */
static bool is_refused(const struct network *network, pid_t thread, const struct message_head *head,
                       struct refused *ret)
{
        struct sockaddr_storage name = { 0 };

        return head->name && head->length <= sizeof(name) &&
               guest_read(thread, head->name, &name, head->length) == 0 &&
               address_from_socket(&name, head->length, &ret->address, &ret->port) == 0 &&
               !sends_may_go(network, &ret->address, ret->port);
}

/* The first message of a call that is refused; -1: none. */
static int find_refused(const struct network *network, const struct notify_call *call,
                        struct refused *ret)
{
        uint64_t count = call->number == SYS_sendmmsg ? call->arguments[2] : 1;
        struct message_head head = { call->arguments[4], (uint32_t)call->arguments[5] };

        for (uint64_t i = 0; i < count && i < MESSAGES_MAX; i++) {
                if (call->number != SYS_sendto &&
                    guest_read(call->thread, call->arguments[1] + i * MESSAGE_STRIDE, &head,
                               sizeof(head)) < 0)
                        return -1;
                if (is_refused(network, call->thread, &head, ret))
                        return (int)i;
        }
        return -1;
}

/* A stream ignores the address, and no other kind of socket takes one of the internet. */
static bool takes_address(const struct notify_call *call)
{
        AUTO_CLOSE int copy = -1;
        struct guest_process process;
        int type = -1;
        socklen_t length = sizeof(type);

        if (guest_process(call->thread, &process) < 0)
                return false;
        copy = guest_descriptor(process.pid, (int)call->arguments[0]);
        return copy >= 0 && getsockopt(copy, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
               type != SOCK_STREAM;
}

void sends_handle(struct network *network, const struct notify_call *call)
{
        int listener = network->guest.listener;
        char text[ADDRESS_TEXT_MAX];
        struct refused refused;
        int first = find_refused(network, call, &refused);

        /* Whatever was read may be another process's, unless the asker still waits. */
        if (first < 0 || !takes_address(call) || !notify_is_valid(listener, call->id)) {
                (void)notify_go_on(listener, call->id);
                return;
        }
        network_refuse(network, "UDP is not allowed", "send udp %s",
                       address_text(&refused.address, refused.port, text));
        /* What comes before it in a batch is sent, and the rest is lost in the namespace. */
        if (first == 0)
                (void)notify_answer(listener, call->id, ENETUNREACH);
        else
                (void)notify_go_on(listener, call->id);
}
