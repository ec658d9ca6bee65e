#include "kernel/allow_only.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

enum { ROW_LINES = 6 };

/* The two architectures that the project is for. */
#ifdef __x86_64__
#define NATIVE_ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define NATIVE_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Both architectures have the lower half of an argument first. */
static unsigned short add_row(struct sock_filter *code, unsigned short n,
                              const struct allow_argument *row)
{
        const struct sock_filter lines[] = {
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, row->call, 0, 5),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                         (uint32_t)(offsetof(struct seccomp_data, args) + 8 * row->argument)),
                BPF_STMT(BPF_ALU | BPF_AND | BPF_K, row->mask),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, row->value, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        };

        memcpy(code + n, lines, sizeof(lines));
        return (unsigned short)(n + ROW_LINES);
}

int allow_only_with(const unsigned *calls, size_t count, const struct allow_argument *rows,
                    size_t row_count)
{
        struct sock_filter code[2 * ALLOW_ONLY_MAX + ROW_LINES * ALLOW_ARGUMENTS_MAX + 5];
        struct sock_fprog program = { .filter = code };
        unsigned short n = 0;

        if (count > ALLOW_ONLY_MAX || row_count > ALLOW_ARGUMENTS_MAX) {
                errno = E2BIG;
                return -1;
        }
        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                 offsetof(struct seccomp_data, arch));
        code[n++] =
                (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 1, 0);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                 offsetof(struct seccomp_data, nr));
        for (size_t i = 0; i < count; i++) {
                code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
                code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        }
        for (size_t i = 0; i < row_count; i++)
                n = add_row(code, n, &rows[i]);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
        program.len = n;
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int allow_only(const unsigned *calls, size_t count)
{
        return allow_only_with(calls, count, NULL, 0);
}
