/*
 * What is left after confine_self(): memory of one's own up to a limit, some seconds of CPU time,
 * and writing to descriptors that are open. No file, no process, no socket, no signal: whatever
 * else a parser could be made to do ends the process, which the engine sees and says.
 */
#include "analysis/confine.h"
#include "analysis/order.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The two architectures that the project is for. */
#ifdef __x86_64__
#define NATIVE_ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define NATIVE_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ARGUMENT(n)                                                                                \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (n))
#define ALLOW(call)                                                                                \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1),                                         \
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define END BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static const struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 1, 0),
        END,
        LOAD(nr),
        ALLOW(SYS_write),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_brk),
        ALLOW(SYS_madvise),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        /* Memory that is no file's, and never executable. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
        ARGUMENT(3),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 3),
        ARGUMENT(2),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        END,
};

static const struct {
        int resource;
        rlim_t most;
} limits[] = {
        { RLIMIT_CPU, ANALYZE_CPU_SECONDS + 1 },
        { RLIMIT_AS, ANALYZE_MEMORY_MAX },
        { RLIMIT_CORE, 0 },
        { RLIMIT_FSIZE, 0 },
        { RLIMIT_NPROC, 0 },
        { RLIMIT_NOFILE, 0 },
};

int confine_self(void)
{
        const struct sock_fprog program = {
                .len = sizeof(filter) / sizeof(filter[0]),
                .filter = (struct sock_filter *)filter,
        };

        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
                struct rlimit limit;

                if (getrlimit(limits[i].resource, &limit) < 0)
                        return -1;
                if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > limits[i].most)
                        limit.rlim_max = limits[i].most;
                limit.rlim_cur = limit.rlim_max;
                /* The signal of the soft limit says why it ended. */
                if (limits[i].resource == RLIMIT_CPU && limit.rlim_cur > 1)
                        limit.rlim_cur--;
                if (setrlimit(limits[i].resource, &limit) < 0)
                        return -1;
        }
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
