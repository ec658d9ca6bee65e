/* sandbox-docker: runs a plan in a container of an engine's; see run.h. */
#include "docker/images.h"
#include "docker/run.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"
#include "kernel/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

bool docker_run_take(struct docker_run *run, const int *fds, size_t count, uint64_t plan_length)
{
        size_t size = plan_arena_size(plan_length);
        AUTO_FREE void *arena = NULL;
        void *bytes;

        if (count < ORDER_FIXED_FDS || plan_length == 0 || plan_length > PLAN_BYTES_MAX)
                return false;
        /* The bytes stay for as long as this process, the arena until the next: the plan borrows
         * from both. */
        bytes = mmap(NULL, plan_length, PROT_READ, MAP_PRIVATE, fds[0], 0);
        arena = mem_alloc(size);
        if (bytes == MAP_FAILED || !arena ||
            plan_decode(bytes, plan_length, arena, size, &run->plan))
                return false;
        mem_free(run->arena);
        run->arena = arena;
        arena = NULL;
        fd_close(fds[0]);
        streams_take(&run->streams, fds + 1);
        run->file_count = 0;
        for (size_t i = ORDER_FIXED_FDS; i < count; i++)
                run->file_fds[run->file_count++] = fds[i];
        return docker_order_read(run->plan.docker, &run->order, NULL) == 0;
}

static void receive_order(struct docker_run *run)
{
        int fds[ORDER_FDS_MAX];
        struct order order;
        size_t count = 0;

        streams_init(&run->streams);
        if (message_receive(HELPER_SOCKET, 0, &order, sizeof(order), fds, ORDER_FDS_MAX, &count) <=
                    0 ||
            order.magic != ORDER_MAGIC || count != order.fd_count ||
            !docker_run_take(run, fds, count, order.plan_length))
                _exit(1);
}

static void settle_signals(struct docker_run *run)
{
        sigset_t heard;

        for (int number = 1; number < NSIG; number++)
                (void)signal(number, SIG_DFL); /* what the caller ignores, we hear */
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
        sigemptyset(&heard);
        (void)sigprocmask(SIG_SETMASK, &heard, NULL);
        sigaddset(&heard, SIGTERM);
        sigaddset(&heard, SIGINT);
        (void)sigprocmask(SIG_BLOCK, &heard, NULL);
        run->signal_fd = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
        if (run->signal_fd < 0)
                _exit(1);
}

int main(int argc, char **argv)
{
        static struct docker_run run;

        /* The supervisor starts it without a word, but for one that is for sandbox-init. */
        if (argc > 1 && (strcmp(argv[1], "images") == 0 || strcmp(argv[1], "doctor") == 0))
                return images_main(argc, argv);
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        (void)fcntl(HELPER_SOCKET, F_SETFD, FD_CLOEXEC);
        (void)sys_close_range(HELPER_SOCKET + 1, ~0u);
        (void)setsid();
        settle_signals(&run);
        receive_order(&run);
        if (curl_global_init(*run.order.cert_path ? CURL_GLOBAL_DEFAULT : CURL_GLOBAL_NOTHING) != 0)
                return 1;
        docker_run(&run);
        docker_order_done(&run.order);
        curl_global_cleanup();
        return 0;
}
