/* The state of one run's network, shared by the files of this room. */
#ifndef NETWORK_INTERNAL_H
#define NETWORK_INTERNAL_H

#include "network/dns_message.h"
#include "network/server.h"
#include "network/rules.h"

#include "kernel/tcp_count.h"

#include <stddef.h>
#include <sys/socket.h>

enum {
        SERVERS_MAX = 3,
        QUERIES_MAX = 64,
        ASKERS_MAX = 256, /* of all of them; equal questions are asked once */
        STREAMS_MAX = 16,
        GIVEN_MAX = 2048,
        PENDING_MAX = 64,            /* each holds two descriptors of ours */
        COUNTED_MAX = 2 * 4096 + 64, /* twice as many as a policy can have open, and some */
        FLOWS_MAX = 32,
        MADE_SECONDS = 60,
};

/* Something in our poll set; the first member of what it watches. */
struct watched {
        void (*ready)(struct network *network, struct watched *self);
};

/* An address that our resolver gave. */
struct given {
        struct address address;
        char *name;          /* owned; the one that was asked for */
        uint64_t expires_ns; /* connections may be begun until then */
};

struct server {
        struct sockaddr_storage name;
        socklen_t length;
};

/* A connection whose bytes are counted. */
struct counted {
        uint64_t number;
        pid_t process; /* who made it, and its descriptor then */
        int place;
        struct tcp_id id;
        struct tcp_counts counts;
        bool is_open; /* in the guest; as it was when they were counted last */
};

struct query;
struct stream;
struct pending;
struct door;
struct flow;

struct network {
        struct network_guest guest;
        struct rules allow, deny;
        bool resolve_all, connects;
        uint64_t connections_max, bytes_max;
        uint64_t rate_max;
        uint64_t rate_bytes; /* seen when it was looked at last */
        int64_t rate_left;   /* what may still go; below nothing: what went too early */
        uint64_t rate_ns;
        bool is_slowed;                 /* all connections are */
        uint64_t window_ns, window_end; /* until when no more than how many bytes may go */
        uint64_t header_bytes; /* of datagrams: limits count them, so that empty ones are some */
        bool has_exceeded;
        struct network_usage usage, told;
        int poll_fd;
        int timer_fd;
        uint64_t due_ns; /* when it goes off; 0: it does not */
        struct watched timer, listener, datagrams, streams_listener;
        /* resolver */
        struct server servers[SERVERS_MAX];
        size_t server_count;
        char *hosts;                        /* owned; the text of /etc/hosts; or NULL */
        struct query *queries[QUERIES_MAX]; /* owned; NULL: free */
        size_t asker_count;                 /* who waits for them */
        struct stream *streams[STREAMS_MAX];
        bool streams_wait;   /* there was no room for one more */
        struct given *given; /* owned */
        size_t given_count, given_capacity;
        /* connections */
        struct pending **pending; /* owned; being made */
        size_t pending_count, pending_capacity;
        int alive_fd; /* see alive.c */
        struct watched alive;
        int count_fd;            /* asks about bytes; or -1 */
        struct counted *counted; /* owned */
        size_t counted_count, counted_capacity;
        uint64_t ending_count; /* closed by the guest, not yet by the kernel; when last counted */
        uint64_t alive_count;  /* at most */
        uint32_t made[MADE_SECONDS]; /* connections, by the second */
        uint64_t made_s;             /* the last of these seconds */
        /* UDP */
        struct door *doors[NETWORK_RELAYS]; /* owned */
        size_t door_count;
        struct flow *flows[FLOWS_MAX]; /* owned; NULL: free */
        char *datagram;      /* owned; where one is on its way; NULL without rules for UDP */
        uint64_t own_cookie; /* of the network namespace that we are in; 0: not known */
        uint64_t own_inode;
};

/* server.c */
int network_watch(struct network *network, int fd, uint32_t events, struct watched *watched);
void network_unwatch(struct network *network, int fd);
/* Sets the timer so that something due then is not missed. */
void network_due(struct network *network, uint64_t ns);
void network_refuse(struct network *network, const char *why, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Tells where more bytes went over than may. */
void network_check_bytes(struct network *network);
/* A limit that ends the run was passed: says so, once. */
void network_exceed(struct network *network, const char *what);
/* Something was used: says so soon. */
void network_used(struct network *network);

/* calls.c */
void calls_ready(struct network *network, struct watched *self);
/* Notes which network namespace we are in. 0, or -1 with errno. */
int calls_know_ourselves(struct network *network);

/* sends.c: datagrams with an address. */
struct notify_call;
/* Whether one may go there. */
bool sends_may_go(const struct network *network, const struct address *address, uint16_t port);
void sends_handle(struct network *network, const struct notify_call *call);

/* connections.c: connections on their way. */
struct destination {
        int family; /* of the guest's socket */
        struct address address;
        uint16_t port;
};
/* Begins one on a socket of ours, in place of the guest's `copy`, which is taken. */
void connection_begin(struct network *network, const struct notify_call *call, pid_t process,
                      int copy, const struct destination *to);
/* Begins one on the guest's own descriptor: a socket of its namespace, or (`leads_out`) one that it
 * was given before. Takes `copy`. */
void connection_begin_own(struct network *network, const struct notify_call *call, pid_t process,
                          int copy, const struct sockaddr_storage *name, socklen_t length,
                          bool leads_out);
void connections_expire(struct network *network, uint64_t now);
void connections_done(struct network *network);

/* alive.c: connections that were made. */
/* Why there cannot be one more, and with which errno; or NULL. */
const char *alive_refuses(struct network *network, int *ret_errno);
/* The guest has it as `place` in `process`, or will have it. False where it cannot be kept in mind:
 * then it must not be given. */
bool alive_note(struct network *network, int fd, const struct sockaddr_storage *to, pid_t process,
                int place);
void alive_look(struct network *network);
void alive_end_ready(struct network *network, struct watched *self);
void alive_done(struct network *network);

/* decide.c: NULL where it may be reached; else why not. */
const char *decide_connect(struct network *network, const struct address *address, uint16_t port);
/* The same for datagrams to an address that a rule for UDP leads to. */
const char *decide_send(const struct network *network, const struct address *address,
                        uint16_t port);
/* Whether the name may be asked about; NULL or why not. */
const char *decide_name(const struct network *network, const char *name);
/* Takes out of an answer for an allowed name what must not be reached, and remembers the rest. An
 * answer that leads over a denied name is none. */
void decide_answer(struct network *network, const char *name, struct dns_answer *answer);
/* The name for which our resolver gave the address last; or NULL. */
const char *decide_name_of(const struct network *network, const struct address *address);
/* Whether a rule or our resolver ever named the address. */
bool decide_is_known(const struct network *network, const struct address *address);
void decide_done(struct network *network);

/* pace.c: bytes a second. */
bool pace_is_limited(const struct network *network);
/* Whether more went than may: what can wait must. */
bool pace_is_over(const struct network *network);
/* Brings the balance up to date. */
void pace_count(struct network *network);
/* Has a new connection go as fast as it may now. */
void pace_begin(const struct network *network, int fd);
/* Slows all down, lets them go, or ends the run, by what was counted. */
void pace_look(struct network *network);

/* relay.c: UDP. */
int relay_begin(struct network *network);
/* Whether datagrams to there are passed on. */
bool relay_has(const struct network *network, const struct address *address, uint16_t port);
/* The resolver gave this address for the name: a rule may allow UDP to it, until then. */
void relay_given(struct network *network, const char *name, const struct address *address,
                 uint64_t expires_ns);
void relay_expire(struct network *network, uint64_t now);
void relay_done(struct network *network);

/* resolver.c: the guest's side. */
void resolver_datagram_ready(struct network *network, struct watched *self);
void resolver_stream_ready(struct network *network, struct watched *self);
void resolver_expire(struct network *network, uint64_t now);
void resolver_done(struct network *network);
/* Where an answer goes. */
struct asker {
        struct dns_question question;
        struct stream *stream; /* or NULL: a datagram */
        struct sockaddr_storage name;
        socklen_t length;
};
void resolver_answer(struct network *network, const struct asker *asker, struct dns_answer *answer);

/* upstream.c: the servers' side. False where there is no room or no server. */
bool upstream_ask(struct network *network, const struct asker *asker);
/* Forgets what this stream asked. */
void upstream_forget(struct network *network, const struct stream *stream);
void upstream_expire(struct network *network, uint64_t now);
void upstream_done(struct network *network);

/* host_files.c */
size_t host_servers(const char *path, struct server *servers, size_t max);
/* A whole file of lines, or NULL. Caller frees. */
char *host_read(const char *path);
/* Addresses of a name in the text of a file like /etc/hosts; whether the name is in it. */
bool host_lookup(const char *hosts, const char *name, bool v4, struct dns_answer *answer);

#endif
