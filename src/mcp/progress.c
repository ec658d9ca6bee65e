/* Progress: seconds since the call began, and the output since it was told last. */
#include "mcp/mcp.h"
#include "base/clock.h"

#include <string.h>

enum {
        TOLD_BYTES = 4096,          /* of output in one notification: the latest */
        TOLD_EACH_MS = 100,         /* with output */
        TOLD_QUIETLY_EACH_MS = 1000 /* without, so that a client sees that it lives */
};

static void keep_latest(struct strbuf *unheard)
{
        size_t over = unheard->length > TOLD_BYTES ? unheard->length - TOLD_BYTES : 0;

        /* Not in the middle of a character. */
        while (over > 0 && over < unheard->length && (unheard->data[over] & 0xc0) == 0x80)
                over++;
        if (over == 0)
                return;
        unheard->length -= over;
        memmove(unheard->data, unheard->data + over, unheard->length);
}

static void add(struct strbuf *unheard, const char *data, size_t length)
{
        size_t skipped = length > 2 * TOLD_BYTES ? length - 2 * TOLD_BYTES : 0;

        strbuf_add(unheard, data + skipped, length - skipped);
        keep_latest(unheard);
}

/* Output is told at once the first time. A call of which nothing was told yet is quiet since its
 * start. */
static bool is_due(const struct call *call, uint64_t now)
{
        uint64_t quiet_ns = call->progress_ns ? call->progress_ns : call->started_ns;

        return call->unheard.length > 0 ? (now - call->progress_ns) / 1000000 >= TOLD_EACH_MS
                                        : (now - quiet_ns) / 1000000 >= TOLD_QUIETLY_EACH_MS;
}

void call_progress(struct call *call, const char *data, size_t length)
{
        uint64_t now = clock_now_ns();
        double seconds = (double)(now - call->started_ns) / 1e9;
        size_t whole;
        json_t *params;

        if (!call->progress_token)
                return;
        if (length > 0)
                add(&call->unheard, data, length);
        if (!is_due(call, now) || seconds <= call->progress_told ||
            !out_is_idle(call->server->out) || call_is_cancelled(call))
                return;
        whole = str_utf8_complete(call->unheard.data ? call->unheard.data : "",
                                  call->unheard.length);
        if (whole == 0)
                whole = call->unheard.length;
        params =
                json_pack("{s:O, s:f}", "progressToken", call->progress_token, "progress", seconds);
        if (call->progress_total > 0)
                (void)json_object_set_new(params, "total", json_real(call->progress_total));
        if (whole > 0)
                (void)json_object_set_new(params, "message", rpc_text(call->unheard.data, whole));
        out_send_if_idle(call->server->out, rpc_notification("notifications/progress", params));
        call->progress_told = seconds;
        call->progress_ns = now;
        call->unheard.length -= whole;
        if (call->unheard.data && call->unheard.length > 0) /* the beginning of a character */
                memmove(call->unheard.data, call->unheard.data + whole, call->unheard.length);
}
