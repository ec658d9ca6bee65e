/*
 * The first program of an embedder: runs one line of Python, contained, and says what held it.
 *
 *         cc hello.c -o hello $(pkg-config --cflags --libs sandbox)
 */
#include <sandbox.h>
#include <stdio.h>

int main(void)
{
        sbx_error *err = NULL;
        sbx_engine *engine = sbx_engine_new(NULL, &err);
        sbx_request *req = sbx_request_new("python", "print(6 * 7)");
        sbx_result *res = engine && req ? sbx_run(engine, req, &err) : NULL;
        const char *by = NULL;
        int status = 1;

        if (!res) {
                (void)fprintf(stderr, "hello: %s\n", sbx_error_message(err));
                if (sbx_error_hint(err))
                        (void)fprintf(stderr, "hint: %s\n", sbx_error_hint(err));
        } else {
                (void)printf("%s", sbx_result_stdout(res, NULL));
                if (!sbx_result_success(res))
                        (void)fprintf(stderr, "hello: %s\n", sbx_result_message(res));
                if (sbx_result_hint(res))
                        (void)fprintf(stderr, "hint: %s\n", sbx_result_hint(res));
                if (sbx_result_enforced(res, "memory", &by))
                        (void)printf("memory was limited by %s\n", by);
                status = sbx_result_process_exit_code(res);
        }
        sbx_result_free(res);
        sbx_request_free(req);
        sbx_engine_free(engine);
        sbx_error_free(err);
        return status;
}
