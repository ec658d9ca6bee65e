/*
 * gen-seccomp - writes the system call filter as a C header.
 *
 * Runs once, when the project is built, on the architecture it is built for: libseccomp turns the
 * rules below into BPF, which is embedded, so that a run neither links libseccomp nor spends time
 * on it. Several filters come out: filter_main, which every guest gets, or filter_noted, the same
 * with a listener for what a guest without a way out tries to reach; filter_pinned, added where the
 * CPU share is held by affinity, which must then not be changed; filter_forks, added where no
 * control group counts processes, which asks the monitor about each new one; filter_shared, added
 * where the guest writes into a directory of the host's; filter_network, filter_network_forks and
 * filter_network_threads, one of which is added where the supervisor makes the guest's connections,
 * the latter where it is asked about processes or threads too (a process can have one such
 * listener); filter_attempts_forks and filter_attempts_threads, which note attempts besides;
 * filter_sockets, which goes with filter_network; and filter_measured, added where the monitor
 * measures what the guest uses.
 *
 * The main filter is written a second time, as the JSON that container engines take
 * (seccomp_profile.h), from the very same calls.
 *
 * The form: what is allowed is listed; the rest is ENOSYS; known dangers are EPERM; a foreign
 * architecture (32-bit or x32 calls from 64-bit code) ends the process, and is checked first.
 * Comparisons that allow are exact over 64 bits: a value with stray high bits is refused.
 */
#include "compact-bpf.h"
#include "seccomp-sockets.h"
#include "seccomp-profile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

static const char *const allowed[] = {
#define X(name) #name,
#include "seccomp-allowed.def"
#undef X
};

static const char *const refused[] = {
#define X(name) #name,
#include "seccomp-refused.def"
#undef X
};

/* Requests a program has for its own descriptors, pipes, sockets and pseudo terminals. TIOCSTI
 * (0x5412), TIOCSETD (0x5423) and TIOCLINUX (0x541c) are not among them. */
static const uint64_t allowed_ioctls[] = {
        0x5401,     0x5402,     0x5403, 0x5404, 0x5405, 0x5409,
        0x540a,     0x540b,                                     /* TCGETS .. TCFLSH */
        0x540e,     0x540f,     0x5410, 0x5411, 0x5413, 0x5414, /* TIOCSCTTY, groups, window size */
        0x541b,     0x5420,     0x5421, 0x5422, 0x5429, /* FIONREAD, TIOCPKT, FIONBIO, sessions */
        0x802c542a, 0x402c542b,                         /* TCGETS2, TCSETS2 */
        0x80045430, 0x40045431, 0x5441,                 /* pseudo terminals */
        0x5450,     0x5451,     0x5452,                 /* close-on-exec, async */
        0x40049409, 0x80086601,                         /* clone a file's extents, its flags */
        0x8905,     0x8910,     0x8912, 0x8913, 0x8915, 0x891b,
        0x8933, /* a socket's own interfaces */
};

static const uint64_t refused_ioctls[] = { 0x5412, 0x541c, 0x5423 };

static const uint64_t namespace_flags[] = {
        CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,    CLONE_NEWUSER,
        CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP,
};

/* Type and protocol of the inet sockets there are: TCP and UDP. */
static const struct {
        int type, protocol;
} inet_sockets[] = {
        { SOCK_STREAM, 0 },
        { SOCK_STREAM, 6 },
        { SOCK_DGRAM, 0 },
        { SOCK_DGRAM, 17 },
};

/* PER_LINUX, PER_LINUX32, UNAME26 variants and the question. */
static const uint64_t allowed_personalities[] = { 0, 8, 0x20000, 0x20008, 0xffffffff };

static const uint64_t allowed_node_types[] = { 0, S_IFREG, S_IFIFO, S_IFSOCK };

/* clone3 is not there at all. */
static const char *const fork_calls[] = { "clone", "fork", "vfork" };

/* Calls by which a socket gets an address. On sendto only where there is one; that of messages is
 * behind a pointer, so all of them are asked about, but for those of the helper that hands over the
 * very descriptor by which is asked. A guest can mark its own so: then nobody is told, and it
 * reaches nobody all the same. */
static const char *const address_calls[] = { "connect", "bind", "listen" };

/* What a guest could do with a socket that the supervisor connected for it: reach others (TCP fast
 * open, routes through others, another device, protocols on top), have the host join groups or keep
 * flow labels, or leave the pace that it was given. */
static const struct {
        int level, option, answer; /* the numbers are the same everywhere */
} refused_options[] = {
#define X(level, option, answer) { level, option, answer },
#include "seccomp-options.def"
#undef X
};

/* Questions about interfaces: a socket of the supervisor's namespace would tell of the host's. */
static const uint64_t interface_ioctls[] = { 0x8910, 0x8912, 0x8913, 0x8915, 0x891b, 0x8933 };

/* The argument with the flags of each way to send. */
static const struct {
        const char *name;
        unsigned flags;
} send_calls[] = { { "sendto", 3 }, { "sendmsg", 2 }, { "sendmmsg", 3 } };

#ifndef MSG_FASTOPEN
#define MSG_FASTOPEN 0x20000000
#endif

static void must(int r, const char *what)
{
        if (r < 0) {
                (void)fprintf(stderr, "gen-seccomp: %s: error %d\n", what, r);
                exit(1);
        }
}

static void add(scmp_filter_ctx ctx, uint32_t action, const char *name, unsigned count,
                const struct scmp_arg_cmp *args)
{
        int nr = seccomp_syscall_resolve_name(name);

        if (nr < 0)
                return; /* this architecture does not have it */
        profile_add(action, name, count, args);
        must(seccomp_rule_add_array(ctx, action, nr, count, args), name);
}

static void add_one(scmp_filter_ctx ctx, uint32_t action, const char *name, struct scmp_arg_cmp arg)
{
        add(ctx, action, name, 1, &arg);
}

static void add_sockets(scmp_filter_ctx ctx)
{
        static const int families[] = { AF_INET, AF_INET6 };

        add_one(ctx, SCMP_ACT_ALLOW, "socket", SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
        add_one(ctx, SCMP_ACT_ALLOW, "socketpair", SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
        for (size_t f = 0; f < 2; f++)
                for (size_t i = 0; i < sizeof(inet_sockets) / sizeof(inet_sockets[0]); i++) {
                        struct scmp_arg_cmp args[] = {
                                SCMP_A0(SCMP_CMP_EQ, (uint64_t)families[f]),
                                SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, (uint64_t)inet_sockets[i].type),
                                SCMP_A2(SCMP_CMP_EQ, (uint64_t)inet_sockets[i].protocol),
                        };

                        add(ctx, SCMP_ACT_ALLOW, "socket", 3, args);
                }
        /* The other families do not exist here; raw and other inet types are refused. */
        for (uint64_t family = 0; family <= AF_INET6; family++)
                if (family != AF_UNIX && family != AF_INET && family != AF_INET6) {
                        add_one(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket",
                                SCMP_A0(SCMP_CMP_EQ, family));
                }
        add_one(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket", SCMP_A0(SCMP_CMP_GT, AF_INET6));
        for (size_t f = 0; f < 2; f++)
                for (uint64_t type = SOCK_RAW; type <= 10; type++) {
                        struct scmp_arg_cmp args[] = {
                                SCMP_A0(SCMP_CMP_EQ, (uint64_t)families[f]),
                                SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, type),
                        };

                        add(ctx, SCMP_ACT_ERRNO(EPERM), "socket", 2, args);
                }
}

/* A file with a set-user-id or set-group-id bit, left where the host sees it, would be a program
 * that runs as its owner there. The arguments that carry a mode; where a call makes files only with
 * certain flags, else the mode may hold anything. */
static const struct {
        const char *name;
        unsigned mode;
        int flags; /* -1: the mode always counts */
} mode_calls[] = {
        { "chmod", 1, -1 }, { "fchmod", 1, -1 },  { "fchmodat", 2, -1 }, { "creat", 1, -1 },
        { "mknod", 1, -1 }, { "mknodat", 2, -1 }, { "open", 2, 1 },      { "openat", 3, 2 },
};

static void refuse_set_id_bits(scmp_filter_ctx ctx)
{
        static const uint64_t bits[] = { S_ISUID, S_ISGID },
                              makers[] = { O_CREAT, O_TMPFILE & ~O_DIRECTORY };

        for (size_t i = 0; i < sizeof(mode_calls) / sizeof(mode_calls[0]); i++)
                for (size_t rule = 0; rule < 4; rule++) {
                        uint64_t bit = bits[rule / 2], maker = makers[rule % 2];
                        unsigned flags =
                                mode_calls[i].flags < 0 ? 0 : (unsigned)mode_calls[i].flags;
                        struct scmp_arg_cmp args[] = {
                                SCMP_CMP(mode_calls[i].mode, SCMP_CMP_MASKED_EQ, bit, bit),
                                SCMP_CMP(flags, SCMP_CMP_MASKED_EQ, maker, maker),
                        };

                        if (mode_calls[i].flags >= 0 || rule % 2 == 0)
                                add(ctx, SCMP_ACT_ERRNO(EPERM), mode_calls[i].name,
                                    mode_calls[i].flags < 0 ? 1 : 2, args);
                }
        /* Its mode is behind a pointer that a filter cannot follow. */
        add(ctx, SCMP_ACT_ERRNO(ENOSYS), "openat2", 0, NULL);
}

static void ask_about_addresses(scmp_filter_ctx ctx)
{
        for (size_t i = 0; i < sizeof(address_calls) / sizeof(address_calls[0]); i++)
                add(ctx, SCMP_ACT_NOTIFY, address_calls[i], 0, NULL);
        add_one(ctx, SCMP_ACT_NOTIFY, "sendto", SCMP_A4(SCMP_CMP_NE, 0));
        add_one(ctx, SCMP_ACT_NOTIFY, "sendmsg", SCMP_A2(SCMP_CMP_MASKED_EQ, MSG_PROXY, 0));
        add(ctx, SCMP_ACT_NOTIFY, "sendmmsg", 0, NULL);
}

/* What leads out by an address; sends of several parts are refused without a word. */
static void note_attempts(scmp_filter_ctx ctx)
{
        add(ctx, SCMP_ACT_NOTIFY, "connect", 0, NULL);
        add_one(ctx, SCMP_ACT_NOTIFY, "sendto", SCMP_A4(SCMP_CMP_NE, 0));
}

/* In the main filter the others of these calls must be allowed. */
static bool is_noted(const char *name)
{
        return strcmp(name, "connect") == 0 || strcmp(name, "sendto") == 0;
}

static void ask_about_forks(scmp_filter_ctx ctx)
{
        for (size_t i = 0; i < sizeof(fork_calls) / sizeof(fork_calls[0]); i++)
                add(ctx, SCMP_ACT_NOTIFY, fork_calls[i], 0, NULL);
}

static void ask_about_threads(scmp_filter_ctx ctx)
{
        add_one(ctx, SCMP_ACT_NOTIFY, "clone",
                SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
}

static void guard_sockets(scmp_filter_ctx ctx)
{
        for (size_t i = 0; i < sizeof(send_calls) / sizeof(send_calls[0]); i++)
                add_one(ctx, SCMP_ACT_ERRNO(EOPNOTSUPP), send_calls[i].name,
                        SCMP_CMP(send_calls[i].flags, SCMP_CMP_MASKED_EQ, MSG_FASTOPEN,
                                 MSG_FASTOPEN));
        for (size_t i = 0; i < sizeof(refused_options) / sizeof(refused_options[0]); i++) {
                struct scmp_arg_cmp args[] = {
                        SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, (uint64_t)refused_options[i].level),
                        SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffff,
                                (uint64_t)refused_options[i].option),
                };

                add(ctx, SCMP_ACT_ERRNO((unsigned)refused_options[i].answer), "setsockopt", 2,
                    args);
        }
        for (size_t i = 0; i < sizeof(interface_ioctls) / sizeof(interface_ioctls[0]); i++)
                add_one(ctx, SCMP_ACT_ERRNO(EPERM), "ioctl",
                        SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, interface_ioctls[i]));
        /* The supervisor counts on it that a process without threads alone has its descriptors. */
        add_one(ctx, SCMP_ACT_ERRNO(EPERM), "clone",
                SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_FILES | CLONE_THREAD, CLONE_FILES));
}

/* Who measures a guest from outside looks up what its processes hold: none may close itself to
 * that, nor may a thread have descriptors that its process does not show. */
static void keep_open_to_view(scmp_filter_ctx ctx)
{
        const struct scmp_arg_cmp dumpable[] = {
                SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, PR_SET_DUMPABLE),
                SCMP_A1(SCMP_CMP_EQ, 0),
        };

        add(ctx, SCMP_ACT_ERRNO(EPERM), "prctl", 2, dumpable);
        add_one(ctx, SCMP_ACT_ERRNO(EPERM), "clone",
                SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_FILES | CLONE_THREAD, CLONE_THREAD));
}

static void decide_options(scmp_filter_ctx ctx, uint32_t action, const struct options *options,
                           size_t count)
{
        for (size_t i = 0; i < count; i++) {
                const struct scmp_arg_cmp args[] = {
                        SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, options[i].level),
                        SCMP_A2(SCMP_CMP_MASKED_EQ, options[i].mask, options[i].value),
                };

                add(ctx, action, "setsockopt", 2, args);
        }
}
#define DECIDE(ctx, action, list)                                                                  \
        decide_options(ctx, action, list, sizeof(list) / sizeof((list)[0]))

static void refuse_groups(scmp_filter_ctx ctx)
{
        DECIDE(ctx, SCMP_ACT_ERRNO(EPERM), groups);
}

/* Options of sockets but for one, and for groups where those are refused: labels of flows are kept
 * for a minute after their socket, are counted for all of the host, and can be read by whoever is
 * in the network namespace then. The kernel looks at the lower half of each argument alone, so the
 * upper one must not decide. */
static void add_socket_options(scmp_filter_ctx ctx, bool refuses_groups)
{
        /* Sockets, TCP, UDP, UDP-Lite, TLS, MPTCP: what can be had here beside it. */
        static const uint64_t levels[] = { 1, 6, 17, 136, 282, 284 };

        for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
                add_one(ctx, SCMP_ACT_ALLOW, "setsockopt",
                        SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, levels[i]));
        if (refuses_groups) {
                DECIDE(ctx, SCMP_ACT_ALLOW, beside_groups);
                refuse_groups(ctx);
        } else {
                add_one(ctx, SCMP_ACT_ALLOW, "setsockopt",
                        SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, IPV4));
                DECIDE(ctx, SCMP_ACT_ALLOW, beside_labels);
        }
        DECIDE(ctx, SCMP_ACT_ERRNO(EPERM), labels);
}

static void add_conditional(scmp_filter_ctx ctx, bool refuses_groups)
{
        uint64_t all = 0;

        for (size_t i = 0; i < sizeof(namespace_flags) / sizeof(namespace_flags[0]); i++) {
                all |= namespace_flags[i];
                add_one(ctx, SCMP_ACT_ERRNO(EPERM), "clone",
                        SCMP_A0(SCMP_CMP_MASKED_EQ, namespace_flags[i], namespace_flags[i]));
        }
        /* A sibling instead of a child: the guest's parent is ours, and reaps what it knows. */
        all |= CLONE_PARENT;
        add_one(ctx, SCMP_ACT_ERRNO(EPERM), "clone",
                SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_PARENT, CLONE_PARENT));
        add_one(ctx, SCMP_ACT_ALLOW, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, all, 0));
        /* clone3 stays ENOSYS by default: its flags are behind a pointer that a filter cannot
         * follow, and C libraries fall back to clone. */

        for (size_t i = 0; i < sizeof(allowed_ioctls) / sizeof(allowed_ioctls[0]); i++)
                add_one(ctx, SCMP_ACT_ALLOW, "ioctl", SCMP_A1(SCMP_CMP_EQ, allowed_ioctls[i]));
        for (size_t i = 0; i < sizeof(refused_ioctls) / sizeof(refused_ioctls[0]); i++)
                add_one(ctx, SCMP_ACT_ERRNO(EPERM), "ioctl",
                        SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, refused_ioctls[i]));
        for (size_t i = 0; i < sizeof(allowed_personalities) / sizeof(allowed_personalities[0]);
             i++)
                add_one(ctx, SCMP_ACT_ALLOW, "personality",
                        SCMP_A0(SCMP_CMP_EQ, allowed_personalities[i]));
        for (size_t i = 0; i < sizeof(allowed_node_types) / sizeof(allowed_node_types[0]); i++) {
                add_one(ctx, SCMP_ACT_ALLOW, "mknod",
                        SCMP_A1(SCMP_CMP_MASKED_EQ, S_IFMT, allowed_node_types[i]));
                add_one(ctx, SCMP_ACT_ALLOW, "mknodat",
                        SCMP_A2(SCMP_CMP_MASKED_EQ, S_IFMT, allowed_node_types[i]));
        }
        add_one(ctx, SCMP_ACT_ERRNO(EPERM), "mknod", SCMP_A1(SCMP_CMP_MASKED_EQ, S_IFMT, S_IFCHR));
        add_one(ctx, SCMP_ACT_ERRNO(EPERM), "mknod", SCMP_A1(SCMP_CMP_MASKED_EQ, S_IFMT, S_IFBLK));
        add_one(ctx, SCMP_ACT_ERRNO(EPERM), "mknodat",
                SCMP_A2(SCMP_CMP_MASKED_EQ, S_IFMT, S_IFCHR));
        add_one(ctx, SCMP_ACT_ERRNO(EPERM), "mknodat",
                SCMP_A2(SCMP_CMP_MASKED_EQ, S_IFMT, S_IFBLK));
        /* One's own limits only: those of another process of the same user are not the guest's. */
        add_one(ctx, SCMP_ACT_ALLOW, "prlimit64", SCMP_A0(SCMP_CMP_EQ, 0));
        add_one(ctx, SCMP_ACT_ERRNO(EPERM), "prlimit64", SCMP_A0(SCMP_CMP_GT, 0));
        add_sockets(ctx);
        add_socket_options(ctx, refuses_groups);
}

static scmp_filter_ctx new_filter(uint32_t default_action)
{
        scmp_filter_ctx ctx = seccomp_init(default_action);

        if (!ctx)
                must(-ENOMEM, "seccomp_init");
        must(seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
             "bad architecture");
        /* A binary tree instead of a chain: a call costs about nine comparisons, not three hundred.
         */
        (void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
        return ctx;
}

/* The architecture as the kernel tells a filter. */
static uint32_t native_architecture(void)
{
        switch (seccomp_arch_native()) {
        case SCMP_ARCH_X86_64:
                return AUDIT_ARCH_X86_64;
        case SCMP_ARCH_AARCH64:
                return AUDIT_ARCH_AARCH64;
        default:
                must(-ENOTSUP, "this architecture");
                return 0;
        }
}

static void print_filter(scmp_filter_ctx ctx, const char *name, FILE *out)
{
        static struct bpf program;
        FILE *exported = tmpfile();

        if (!exported)
                must(-errno, "temporary file");
        must(seccomp_export_bpf(ctx, fileno(exported)), "export");
        rewind(exported);
        program.length = fread(program.code, sizeof(program.code[0]), BPF_MAX, exported);
        (void)fclose(exported);
        seccomp_release(ctx);
        must(compact_bpf(&program, native_architecture()), "compact");
        (void)fprintf(out, "static const struct sock_filter %s[] = {\n", name);
        for (size_t i = 0; i < program.length; i++)
                (void)fprintf(out, "        { 0x%04x, %u, %u, 0x%08x },\n", program.code[i].code,
                              program.code[i].jt, program.code[i].jf, program.code[i].k);
        (void)fprintf(out, "};\n");
}

static void keep_affinity(scmp_filter_ctx ctx)
{
        add(ctx, SCMP_ACT_ERRNO(EPERM), "sched_setaffinity", 0, NULL);
}

enum { ADDED_PARTS = 3 };

/* What is added to the main filter where it is needed; all else is allowed by these. */
static const struct {
        const char *name;
        void (*parts[ADDED_PARTS])(scmp_filter_ctx ctx);
} additions[] = {
        { "filter_pinned", { keep_affinity } },
        { "filter_forks", { ask_about_forks } },
        { "filter_threads", { ask_about_threads } },
        { "filter_attempts_forks", { note_attempts, refuse_groups, ask_about_forks } },
        { "filter_attempts_threads", { note_attempts, refuse_groups, ask_about_threads } },
        { "filter_network", { ask_about_addresses } },
        { "filter_network_forks", { ask_about_addresses, ask_about_forks } },
        { "filter_network_threads", { ask_about_addresses, ask_about_threads } },
        { "filter_sockets", { guard_sockets } },
        { "filter_shared", { refuse_set_id_bits } },
        { "filter_measured", { keep_open_to_view } },
};

static scmp_filter_ctx new_main_filter(bool notes_attempts)
{
        scmp_filter_ctx ctx = new_filter(SCMP_ACT_ERRNO(ENOSYS));

        for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
                if (!notes_attempts || !is_noted(allowed[i]))
                        add(ctx, SCMP_ACT_ALLOW, allowed[i], 0, NULL);
        if (notes_attempts) {
                note_attempts(ctx);
                add_one(ctx, SCMP_ACT_ALLOW, "sendto", SCMP_A4(SCMP_CMP_EQ, 0));
        }
        for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
                add(ctx, SCMP_ACT_ERRNO(EPERM), refused[i], 0, NULL);
        /* Reading the clock's state is a zero in memory a filter cannot see; both are refused. */
        add(ctx, SCMP_ACT_ERRNO(EPERM), "adjtimex", 0, NULL);
        add(ctx, SCMP_ACT_ERRNO(EPERM), "clock_adjtime", 0, NULL);
        add_conditional(ctx, notes_attempts); /* who has no network needs no groups */
        return ctx;
}

int main(int argc, char **argv)
{
        scmp_filter_ctx ctx;
        FILE *out = argc == 3 ? fopen(argv[1], "w") : NULL;

        if (!out)
                must(-EINVAL, "usage: gen-seccomp OUTPUT PROFILE");
        profile_begin(native_architecture() == AUDIT_ARCH_X86_64 ? "SCMP_ARCH_X86_64"
                                                                 : "SCMP_ARCH_AARCH64");
        (void)fprintf(out, "/* Written by gen-seccomp; see tools/gen-seccomp.c. */\n");
        ctx = new_main_filter(false);
        must(profile_end(argv[2]), argv[2]);
        print_filter(ctx, "filter_main", out);
        print_filter(new_main_filter(true), "filter_noted", out);

        for (size_t i = 0; i < sizeof(additions) / sizeof(additions[0]); i++) {
                ctx = new_filter(SCMP_ACT_ALLOW);
                for (size_t part = 0; part < ADDED_PARTS && additions[i].parts[part]; part++)
                        additions[i].parts[part](ctx);
                print_filter(ctx, additions[i].name, out);
        }
        return fclose(out) == 0 ? 0 : 1;
}
