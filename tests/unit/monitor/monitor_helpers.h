/* A run whose streams are real pipes, with a socket pair where the helper would be. */
#ifndef TESTS_UNIT_MONITOR_HELPERS_H
#define TESTS_UNIT_MONITOR_HELPERS_H

#include "unit.h"
#include "base/clock.h"
#include "monitor/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

struct bench {
        struct run run;
        struct monitor_order order;
        struct result *result;
        struct error err;
        int helper;    /* the helper's end of the socket */
        int output[3]; /* the program's ends of its streams */
};

static inline void set_up(struct bench *bench)
{
        int pair[2], ends[2];

        *bench = (struct bench){ .result = result_new() };
        assert_non_null(bench->result);
        run_init(&bench->run);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        bench->run.socket = pair[0];
        bench->helper = pair[1];
        for (int i = 0; i < 3; i++) {
                assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
                bench->run.streams[i] = ends[i == 0];
                bench->output[i] = ends[i != 0];
        }
        bench->order = (struct monitor_order){
                .turn_fd = -1,
                .timeout_ms = 60000,
                .cpu_time_ms = 60000,
                .memory_bytes = 1 << 30,
                .processes = 64,
                .disk_bytes = 1 << 30,
                .output_caps = { 0, 100, 100 },
                .keep_output = true,
                .output_fds = { -1, -1, -1 },
                .stdin_fd = -1,
                .cancel_fd = -1,
                .started_ns = clock_now_ns(),
        };
}

static inline void tell(struct bench *bench, enum report_kind kind, int wait_status)
{
        struct report report = { .magic = REPORT_MAGIC,
                                 .kind = kind,
                                 .wait_status = wait_status,
                                 .stage = STAGE_SECCOMP,
                                 .sys_errno = EPERM };

        assert_int_equal(send(bench->helper, &report, sizeof(report), 0), sizeof(report));
}

static inline void write_text(struct bench *bench, int stream, const char *text)
{
        assert_int_equal(write(bench->output[stream], text, strlen(text)), strlen(text));
}

/* The program has ended: its streams and its helper too. */
static inline void end(struct bench *bench)
{
        for (int i = 0; i < 3; i++) {
                close(bench->output[i]);
                bench->output[i] = -1;
        }
        close(bench->helper);
        bench->helper = -1;
}

static inline int watch(struct bench *bench)
{
        return monitor_watch(&bench->run, &bench->order, &bench->result->run, bench->result,
                             &bench->err);
}

static inline void tear_down(struct bench *bench)
{
        for (int i = 0; i < 3; i++)
                if (bench->output[i] >= 0)
                        close(bench->output[i]);
        if (bench->helper >= 0)
                close(bench->helper);
        run_close(&bench->run);
        result_free(bench->result);
}

#endif
