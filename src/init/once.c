/*
 * A guest that was there before its program: an interpreter that cannot be copied. It was confined
 * and executed like any other guest, ahead of the run, with a library (src/park) that has it wait
 * where its launcher asks for the program. The keeper, which still has its privileges then, lays
 * the program down in /code when it comes, closes that, and tells the guest, which proves once
 * more what holds and goes on. It is for this one run, as is everything around it.
 */
#include "init/init.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert((int)REPORT_NAMESPACES == (int)NAMESPACE_COUNT, "one inode for each namespace");

int once_make_pair(struct init *init)
{
        return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, init->waiting_pair);
}

/* The guest's only word: that it waits. Anything else, its end too, is the end of this. */
static void hear_guest(struct init *init, bool *is_waiting)
{
        struct parked word = { 0 };
        size_t count = 0;
        int r = message_receive(init->waiting_pair[0], 0, &word, sizeof(word), NULL, 0, &count);

        if (r <= 0 || word.magic != PARK_MAGIC || *is_waiting)
                report_failure(init, STAGE_FORK, EPIPE);
        *is_waiting = true;
        report_send(init, REPORT_WAITING, NULL, 0);
}

void hand_receive(struct init *init, size_t stream_count, struct hand *ret_hand, int *ret_fds)
{
        size_t count = 0;
        int r = message_receive(HELPER_SOCKET, 0, ret_hand, sizeof(*ret_hand), ret_fds,
                                ORDER_FDS_MAX, &count);

        if (r == 0)
                _exit(0); /* nobody wants it any more */
        if (r < 0 || ret_hand->magic != HAND_MAGIC || count != ret_hand->fd_count ||
            count < HAND_FIXED_FDS + stream_count)
                report_failure(init, STAGE_ORDER, EPROTO);
}

/* Waits for the program; the descriptors that come with it. */
static void hear_order(struct init *init, struct hand *ret_hand, int *ret_fds)
{
        struct pollfd watched[] = {
                { .fd = init->waiting_pair[0], .events = POLLIN },
                { .fd = HELPER_SOCKET, .events = POLLIN },
        };
        bool is_waiting = false;

        for (;;) {
                if (poll(watched, ARRAY_SIZE(watched), -1) < 0)
                        continue;
                if (watched[0].revents)
                        hear_guest(init, &is_waiting);
                else if (watched[1].revents)
                        break;
        }
        hand_receive(init, 0, ret_hand, ret_fds);
        if (!is_waiting)
                report_failure(init, STAGE_ORDER, EPROTO);
}

static const struct step steps[] = {
        { STAGE_FILES, nest_size_code, true },
        { STAGE_FILES, root_files, true },
        { STAGE_FILES, nest_close_code, true },
};

static void tell_guest(struct init *init, const struct hand *hand, int *fds)
{
        struct given given = { .magic = GIVEN_MAGIC,
                               .plan_length = hand->plan_length,
                               .empty_stdin = hand->empty_stdin,
                               .change_uid = init->change_uid,
                               .outer_root = { init->outer_root[0], init->outer_root[1] },
                               .report = init->report };
        int sent[ORDER_FDS_MAX + 1] = { HELPER_SOCKET };
        size_t count = hand->fd_count;

        memcpy(given.outer_namespaces, init->outer_namespaces, sizeof(given.outer_namespaces));
        memcpy(sent + 1, fds, count * sizeof(*fds));
        given.fd_count = (uint32_t)(count + 1);
        if (count + 1 > ORDER_FDS_MAX ||
            message_send(init->waiting_pair[0], &given, sizeof(given), sent, count + 1) < 0)
                report_failure(init, STAGE_FORK, errno);
}

void once_hand_over(struct init *init)
{
        int fds[ORDER_FDS_MAX];
        struct hand hand;

        fd_close(init->waiting_pair[1]); /* the guest's */
        hear_order(init, &hand, fds);
        init_decode_plan(init, fds[0], hand.plan_length);
        init->file_fds = fds + HAND_FIXED_FDS;
        init->file_fd_count = (int)hand.fd_count - HAND_FIXED_FDS;
        steps_run(init, steps, ARRAY_SIZE(steps));
        tell_guest(init, &hand, fds);
        for (uint32_t i = 0; i < hand.fd_count; i++)
                fd_close(fds[i]);
        init->file_fd_count = 0;
        fd_close(init->waiting_pair[0]);
}
