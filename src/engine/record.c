/* What is kept of a run, by the policy; see src/history. */
#include "engine/passage.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/str.h"

static const uint64_t file_bytes_max = UINT64_C(64) << 20; /* of all files of a run */
enum { FILES_MAX = 1000 };

static void fail(const struct passage *passage, const struct error *err)
{
        passage_tell(passage, "record.failed", err->message);
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

static bool keeps_artifacts(const struct passage *passage)
{
        enum policy_store store = passage->policy.store_code;

        return passage->is_recorded &&
               (store == STORE_ALWAYS ||
                (store == STORE_ON_ERROR && passage->result->run.outcome != OUTCOME_OK));
}

static void copy_files(const struct strlist *paths, int workspace_fd, int folder, uint64_t *left)
{
        for (size_t i = 0; i < paths->count && i < FILES_MAX; i++) {
                bool taken;

                /* A file that cannot be kept is none of the run's business. */
                if (!bundle_refuse_path(paths->items[i]))
                        (void)collect_copy(workspace_fd, paths->items[i], folder, left, &taken);
        }
}

void record_files(struct passage *passage, int workspace_fd)
{
        const struct result *result = passage->result;
        uint64_t left = file_bytes_max;
        AUTO_CLOSE int folder = -1;
        struct error err = { 0 };

        if (!keeps_artifacts(passage) || result->created.count + result->modified.count == 0)
                return;
        if (history_artifacts_begin(&passage->history, result, &passage->artifacts, &err) < 0) {
                fail(passage, &err);
                return;
        }
        folder = folder_open_below(passage->artifacts.dir, "files");
        if (folder < 0)
                return;
        copy_files(&result->created, workspace_fd, folder, &left);
        copy_files(&result->modified, workspace_fd, folder, &left);
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

void record_end(struct passage *passage)
{
        struct history *history = &passage->history;
        char path[HISTORY_PATH_MAX] = "";
        struct history_entry entry = {
                .result = passage->result,
                .request = passage->order->request,
                .code = passage->code,
                .network = policy_network_name(passage->policy.network_mode),
        };
        struct error err = { 0 };

        if (!passage->is_recorded)
                return;
        if (history_hash_code(history, passage->code, entry.code_hash, &entry.code_bytes) < 0)
                entry.code_hash[0] = '\0';
        if (keeps_artifacts(passage)) {
                if (keep_artifacts(passage, &entry, path, &err) < 0)
                        fail(passage, &err);
                else
                        entry.artifacts = path;
        }
        if (history_record(history, &entry, &err) < 0) {
                history_count_lost(history);
                fail(passage, &err);
        }
}
