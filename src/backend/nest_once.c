/* Guests that wait in a nest for their program: see src/init/once.c. */
#include "backend/nest.h"
#include "backend/parcel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "kernel/notify.h"

#include <errno.h>
#include <poll.h>

enum { GUEST_START_MS = 60000 };

/* An interpreter that starts its threads: no code of a guest's runs yet. */
static bool let_go_on(int listener)
{
        struct notify_call call;
        int r = notify_receive(listener, &call);

        if (r > 0)
                (void)notify_go_on(listener, call.id); /* it may have been killed meanwhile */
        return r >= 0;
}

static bool wait_until_it_waits(struct run *guest)
{
        uint64_t end_ns = clock_now_ns() + GUEST_START_MS * UINT64_C(1000000);

        while (!guest->is_waiting) {
                struct pollfd watched[] = {
                        { .fd = guest->socket, .events = POLLIN },
                        { .fd = guest->fork_fd, .events = POLLIN },
                };
                uint64_t now = clock_now_ns();
                int r;

                if (guest->has_failed || guest->has_exited || guest->is_gone || now >= end_ns)
                        return false;
                r = poll(watched, 2, (int)((end_ns - now) / 1000000) + 1);
                if (r < 0 && errno != EINTR)
                        return false;
                if (r > 0 && watched[1].revents && !let_go_on(guest->fork_fd))
                        return false;
                if (r > 0 && watched[0].revents && run_receive(guest) == 0)
                        return false;
        }
        return guest->is_ready;
}

int nest_place(const struct backend *backend, struct nest *nest, struct plan *plan, int library_fd)
{
        struct backend_input input = { .file_fd_count = 1 };
        struct run *guest = mem_alloc(sizeof(*guest));

        input.file_fds[0] = library_fd;
        if (!guest)
                return -1;
        if (nest_hatch_whole(backend, nest, plan, &input, guest, NULL) < 0) {
                mem_free(guest);
                return -1;
        }
        nest->guest = guest;
        return wait_until_it_waits(guest) ? 0 : -1;
}

bool nest_lives(struct nest *nest)
{
        /* What the keeper of a run that is not known yet has said is for whoever has that run. */
        struct pollfd sockets[] = {
                { .fd = nest->guest ? nest->guest->socket : nest->run.socket, .events = POLLIN },
                { .fd = nest->ahead_fd, .events = POLLRDHUP },
        };
        int r;

        if (poll(sockets, 2, 0) == 0)
                return true;
        if (sockets[1].revents)
                nest_forget_ahead(nest); /* its keeper died: another is made when its run comes */
        if (nest->guest)
                return false; /* there is nothing that it would say */
        /* That the nest was started may be heard later than that it is built. */
        do
                r = run_receive(&nest->run);
        while (r > 0);
        return r < 0 && errno == EAGAIN && !nest->run.is_gone && !nest->run.has_failed;
}

int nest_send_hand(struct run *run, struct plan *plan, const struct backend_input *input,
                   struct parcel *parcel, struct error *err)
{
        struct hand order = { .magic = HAND_MAGIC, .empty_stdin = input->empty_stdin };
        int r = parcel_put_plan(parcel, 0, plan, &order.plan_length, err);

        for (int i = 0; i < input->file_fd_count; i++)
                parcel_add(parcel, input->file_fds[i], false);
        order.fd_count = (uint32_t)parcel->count;
        return r < 0 ? r
                     : parcel_send(run->socket, &order, sizeof(order), parcel->fds, parcel->count,
                                   err);
}

int nest_hand_over(struct nest *nest, const struct backend *backend, struct plan *plan,
                   const struct backend_input *input, struct run *run, struct error *err)
{
        struct parcel parcel = { .count = HAND_FIXED_FDS };
        int r;

        run_move(run, nest->guest);
        mem_free(nest->guest);
        nest->guest = NULL;
        run->group = nest->run.group;
        run->is_ready = false; /* that it was confined is proved anew */
        run->peak_before = 0;  /* its threads are what a program that is executed has, too */
        if (input->empty_stdin)
                fd_close(fd_take(&run->streams[0]));
        (void)cgroup_reset(&run->group); /* where not, the peak is that since it started */
        run->cpu_before_us = cgroup_cpu_us(&run->group);
        backend->complete(plan);
        r = nest_send_hand(run, plan, input, &parcel, err);
        parcel_done(&parcel);
        if (r < 0)
                run_close(run);
        return r;
}
