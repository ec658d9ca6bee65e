/* What the package adds to sandbox.h, compiled into its extension module and read by cffi too. */

/* What became of a run, with what every caller looks at: one call tells it all. Texts are the
 * result's. */
typedef struct sandbox_outcome {
        sbx_result *result; /* owned by the caller; NULL: see `error` */
        sbx_error *error;   /* owned by the caller; or NULL */
        bool success;
        int exit_code;
        uint64_t memory_used;
        double execution_time;
        const char *status, *message;
        const char *outputs[2];
        size_t lengths[2];
} sandbox_outcome;

static void sandbox_run(sbx_engine *engine, sbx_request *req, sandbox_outcome *outcome);
