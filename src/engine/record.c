/* What is kept of a run, by the policy; see src/history. */
#include "engine/passage.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/str.h"

static const uint64_t file_bytes_max = UINT64_C(64) << 20; /* of all files of a run */
enum {
        FILES_MAX = 1000,
        PASSED_BYTES_MAX = 1 << 20 /* of each output that goes straight to the caller */
};

static void fail(const struct passage *passage, const struct error *err)
{
        passage_tell(passage, "record.failed", err->message);
}

/* The record itself is there, or may yet be. */
static void fail_artifacts(const struct passage *passage, const struct error *err)
{
        passage_tell(passage, "record.incomplete", err->message);
}

void record_begin(struct passage *passage)
{
        struct error err = { 0 };
        int r;

        if (passage->policy.records_mode == RECORDS_OFF || passage->order->request->no_record)
                return;
        /* For each run anew: an engine lives long, and its directory may be replaced meanwhile. */
        passage->history.path = passage->engine->history.path;
        r = history_open(&passage->history, true, &err);
        passage->is_recorded = r == 0;
        if (r < 0)
                fail(passage, &err);
}

/* Of a program that takes turns, the turns have code and outputs: it has but a driver, and a
 * workspace of its user's. */
static bool keeps_artifacts(const struct passage *passage)
{
        enum policy_store store = passage->policy.store_code;

        return passage->is_recorded && passage->order->request->turn_fd < 0 &&
               (store == STORE_ALWAYS ||
                (store == STORE_ON_ERROR && passage->result->run.outcome != OUTCOME_OK));
}

/* Whether a run will fail is not known while it writes: for 'on_error' every run pays, so that less
 * is kept than with 'always'. */
uint64_t record_keeps_passed(const struct passage *passage)
{
        static const uint64_t bytes[] = {
                [STORE_NEVER] = 0, [STORE_ON_ERROR] = PASSED_BYTES_MAX, [STORE_ALWAYS] = UINT64_MAX
        };

        return passage->is_recorded && passage->order->request->turn_fd < 0
                       ? bytes[passage->policy.store_code]
                       : 0;
}

static void copy_files(const struct strlist *paths, int workspace_fd, int folder,
                       struct collect_room *room)
{
        for (size_t i = 0; i < paths->count && i < FILES_MAX; i++) {
                bool taken;

                /* A file that cannot be kept is none of the run's business. */
                if (!bundle_refuse_path(paths->items[i]))
                        (void)collect_copy(workspace_fd, paths->items[i], folder, room, &taken);
        }
}

void record_files(struct passage *passage, int workspace_fd)
{
        const struct result *result = passage->result;
        struct collect_room room = collect_room_of(file_bytes_max);
        AUTO_CLOSE int folder = -1;
        struct error err = { 0 };

        if (!keeps_artifacts(passage) || result->created.count + result->modified.count == 0)
                return;
        if (history_artifacts_begin(&passage->history, result, &passage->artifacts, &err) < 0)
                return; /* told at the end, when code and outputs meet the same */
        folder = folder_open_below(passage->artifacts.dir, "files");
        if (folder < 0)
                return;
        copy_files(&result->created, workspace_fd, folder, &room);
        copy_files(&result->modified, workspace_fd, folder, &room);
}

static int keep_artifacts(struct passage *passage, const struct history_entry *entry,
                          char ret_path[HISTORY_PATH_MAX], struct error *err)
{
        const char *const *extensions = passage->language->extensions;
        const char *extension = extensions && extensions[0] ? extensions[0] + 1 : "";
        AUTO_FREE char *policy = NULL;
        int r = history_artifacts_begin(&passage->history, passage->result, &passage->artifacts,
                                        err);

        if (r < 0)
                return r;
        policy = policy_show(&passage->policy, "yaml");
        return history_artifacts_finish(&passage->artifacts, entry, extension, policy, ret_path,
                                        err);
}

/* Before the artifacts are written: those of an output that was kept in part say so. */
static void mark_part(struct result_stream *stream)
{
        stream->is_part = stream->passed_through && stream->kept.length < stream->bytes;
}

/* What went straight to the caller is not in the result as well. */
static void forget_passed(struct result_stream *stream)
{
        stream->is_part = false;
        if (stream->passed_through)
                strbuf_done(&stream->kept);
}

void record_end(struct passage *passage)
{
        struct history *history = &passage->history;
        struct result_step *run = &passage->result->run;
        char path[HISTORY_PATH_MAX] = "";
        struct history_entry entry = {
                .result = passage->result,
                .request = passage->order->request,
                .code = passage->code,
                .network = policy_network_name(passage->policy.network_mode),
                .turn_of = passage->turn_of,
        };
        struct error err = { 0 };

        if (!passage->is_recorded)
                return;
        if (history_hash_code(history, passage->code, entry.code_hash, &entry.code_bytes) < 0)
                entry.code_hash[0] = '\0';
        if (keeps_artifacts(passage)) {
                mark_part(&run->out);
                mark_part(&run->err);
                if (keep_artifacts(passage, &entry, path, &err) < 0)
                        fail_artifacts(passage, &err);
                else
                        entry.artifacts = path;
        }
        forget_passed(&run->out);
        forget_passed(&run->err);
        if (history_record(history, &entry, &err) < 0) {
                history_count_lost(history);
                fail(passage, &err);
        }
}

static int find_outcome(const char *name, enum outcome *ret_outcome)
{
        for (unsigned i = 0; i < OUTCOME_COUNT; i++)
                if (str_equal(outcome_name((enum outcome)i), name)) {
                        *ret_outcome = (enum outcome)i;
                        return 0;
                }
        return -1;
}

static int take_stream(struct result_stream *to, const struct engine_turn_stream *from)
{
        strbuf_add(&to->kept, from->data ? from->data : "", from->data ? from->length : 0);
        to->bytes = from->bytes;
        to->truncated = from->truncated;
        return to->kept.failed ? -1 : 0;
}

int record_turn(struct passage *passage, const struct engine_turn *turn, struct error *err)
{
        struct result *result = passage->result;
        struct result_step *run = &result->run;

        passage->turn_of = turn->turn_of;
        limits_list(&passage->policy.limits, result);
        result->warm = "none";
        if (find_outcome(turn->status, &run->outcome) < 0)
                return error_set(err, SBX_EINVAL, "a turn's status is that of a result");
        run->exit_code = turn->exit_code;
        run->signal = turn->signal;
        run->usage.wall_ns = turn->wall_ns;
        run->usage.memory_peak = turn->memory_peak;
        (void)clock_stamp_before(turn->wall_ns, result->started_at);
        if (turn->message && result_set_message(result, "%s", turn->message) < 0)
                return error_set_nomem(err);
        if (take_stream(&run->out, &turn->out) < 0 || take_stream(&run->err, &turn->err) < 0)
                return error_set_nomem(err);
        return 0;
}
