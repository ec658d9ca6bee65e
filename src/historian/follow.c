/* New records as they come. The kernel tells when the journal changes: nothing is polled. */
#include "historian/historian.h"
#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

struct following {
        const struct archive *archive;
        enum list_form form;
        uint64_t last;
};

static int hear(void *context, uint64_t seq, const char *line, struct error *err)
{
        struct following *following = context;
        AUTO_STRBUF struct strbuf out = { 0 };

        following->last = seq;
        list_add(&out, following->form, line, true);
        if (out.failed)
                return error_set_nomem(err);
        return report_write(following->archive->cli, out.data, out.length, err);
}

/* Whether one of the events is about the journal; our own index changes there as well. */
static bool is_journal(const char *buffer, ssize_t length)
{
        const struct inotify_event *event;

        for (ssize_t at = 0; at + (ssize_t)sizeof(*event) <= length;
             at += (ssize_t)sizeof(*event) + (ssize_t)event->len) {
                event = (const struct inotify_event *)(buffer + at);
                if (event->len > 0 && str_has_prefix(event->name, "journal"))
                        return true;
        }
        return false;
}

/* Waits for a change; the reader of ours going away ends it too. */
static int wait_for_change(int events, struct error *err)
{
        for (;;) {
                struct pollfd fds[] = { { .fd = events, .events = POLLIN }, { .fd = 1 } };
                _Alignas(struct inotify_event) char buffer[4096];
                ssize_t n;

                if (poll(fds, 2, -1) < 0 && errno != EINTR)
                        return error_set_errno(err, "wait for records");
                if (fds[1].revents & (POLLERR | POLLHUP)) {
                        (void)raise(SIGPIPE); /* as a write would end it */
                        return error_set(err, SBX_EOUTPUT, "standard output: closed");
                }
                n = read(events, buffer, sizeof(buffer));
                if (n < 0 && errno != EAGAIN && errno != EINTR)
                        return error_set_errno(err, "wait for records");
                if (is_journal(buffer, n))
                        return 0;
        }
}

static int follow(struct archive *archive, struct following *following, const struct query *query,
                  int events, struct error *err)
{
        AUTO_STRBUF struct strbuf head = { 0 };
        int r = 0;

        following->last = index_last(archive);
        list_heading(&head, following->form);
        if (head.length > 0)
                r = report_write(archive->cli, head.data, head.length, err);
        while (r == 0) {
                r = archive_refresh(archive, err);
                if (r == 0)
                        r = query_run(archive, query, following->last, hear, following, err);
                if (r == 0)
                        r = wait_for_change(events, err);
        }
        return r;
}

int history_follow(struct archive *archive, struct error *err)
{
        AUTO_CLOSE int events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        struct following following = { .archive = archive };
        struct query query;
        int r = list_form(archive->options, &following.form, err);

        if (r == 0 && following.form == LIST_JSON)
                following.form = LIST_JSONL;
        if (r == 0)
                r = history_open(&archive->history, true, err);
        if (r == 0 && (events < 0 || inotify_add_watch(events, archive->history.path,
                                                       IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0))
                r = error_set_errno(err, "watch '%s'", archive->history.path);
        if (r < 0)
                return r;
        r = query_init(&query, archive, 0, err);
        if (r == 0)
                r = follow(archive, &following, &query, events, err);
        query_done(&query);
        return r;
}
