#include "backend/parcel.h"
#include "base/fd.h"
#include "base/message.h"

#include <fcntl.h>
#include <unistd.h>

void parcel_add(struct parcel *parcel, int fd, bool owned)
{
        parcel->fds[parcel->count++] = fd;
        if (owned)
                parcel->owned[parcel->owned_count++] = fd;
}

void parcel_done(struct parcel *parcel)
{
        for (int i = 0; i < parcel->owned_count; i++)
                fd_close(parcel->owned[i]);
}

static int add_null(struct parcel *parcel, struct error *err)
{
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null < 0)
                return error_set_errno(err, "open /dev/null");
        parcel_add(parcel, null, true);
        return 0;
}

static int add_pipe(struct parcel *parcel, struct run *run, int stream, struct error *err)
{
        int ours = stream == 0 ? 1 : 0, ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
                return error_set_errno(err, "make a pipe");
        parcel_add(parcel, ends[1 - ours], true);
        run->streams[stream] = ends[ours];
        if (fcntl(ends[ours], F_SETFL, O_NONBLOCK | (ours ? O_WRONLY : O_RDONLY)) < 0)
                return error_set_errno(err, "set up a pipe"); /* only our end must not block */
        return 0;
}

int parcel_open_streams(struct parcel *parcel, struct run *run, bool empty_stdin, struct error *err)
{
        int r = 0;

        for (int i = 0; i < 3 && r == 0; i++)
                r = !run || (i == 0 && empty_stdin) ? add_null(parcel, err)
                                                    : add_pipe(parcel, run, i, err);
        return r;
}

int parcel_open_idle_streams(struct parcel *parcel, struct run *run, struct error *err)
{
        int ends[2], r = add_null(parcel, err);

        if (r < 0)
                return r;
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return error_set_errno(err, "make a pipe");
        run->streams[1] = ends[0];
        parcel_add(parcel, ends[1], true);
        parcel_add(parcel, ends[1], false);
        return 0;
}

int parcel_put_plan(struct parcel *parcel, int place, const struct plan *plan, uint64_t *ret_length,
                    struct error *err)
{
        AUTO_STRBUF struct strbuf encoded = { 0 };

        plan_encode(plan, &encoded);
        if (encoded.failed)
                return error_set_nomem(err);
        parcel->fds[place] = fd_memfile("plan", encoded.data, encoded.length);
        if (parcel->fds[place] < 0)
                return error_set_errno(err, "write the plan");
        parcel->owned[parcel->owned_count++] = parcel->fds[place];
        *ret_length = encoded.length;
        return 0;
}

int parcel_send(int socket, const void *data, size_t length, const int *fds, int count,
                struct error *err)
{
        if (message_send(socket, data, length, fds, (size_t)count) < 0)
                return error_set_errno(err, "send the order to the helper");
        return 0;
}
