#include <sandbox.h>

#include "outcome.h"

static void sandbox_run(sbx_engine *engine, sbx_request *req, sandbox_outcome *outcome)
{
        const sbx_result *result = outcome->result = sbx_run(engine, req, &outcome->error);

        if (!result)
                return;
        outcome->success = sbx_result_success(result);
        outcome->exit_code = sbx_result_exit_code(result);
        outcome->memory_used = sbx_result_memory_used(result);
        outcome->execution_time = sbx_result_execution_time(result);
        outcome->status = sbx_result_status(result);
        outcome->message = sbx_result_message(result);
        outcome->outputs[0] = sbx_result_stdout(result, &outcome->lengths[0]);
        outcome->outputs[1] = sbx_result_stderr(result, &outcome->lengths[1]);
}
