#include "api/api.h"
#include "engine/analysis.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

sbx_request *sbx_request_new(const char *language, const char *code)
{
        sbx_request *req = mem_alloc(sizeof(*req));

        if (!req)
                return NULL;
        request_init(&req->request);
        api_policy_init(&req->policy);
        policy_init(&req->settings);
        req->turn_fds[0] = req->turn_fds[1] = -1;
        req->settings.layer = LAYER_REQUEST;
        req->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); /* -1: it cannot be cancelled */
        if ((language && request_set_language(&req->request, language, NULL) == SBX_ENOMEM) ||
            (code && request_set_code(&req->request, code, strlen(code), NULL) == SBX_ENOMEM)) {
                sbx_request_free(req);
                return NULL;
        }
        /* A name that cannot be one is found unknown when it runs, with a message. */
        if (language && !req->request.language)
                req->request.language = mem_strndup(language, REQUEST_NAME_MAX);
        return req;
}

void sbx_request_free(sbx_request *req)
{
        if (!req)
                return;
        request_done(&req->request);
        api_policy_done(&req->policy);
        policy_done(&req->settings);
        template_use_done(&req->template);
        fd_close(req->cancel_fd);
        fd_close(req->turn_fds[0]);
        fd_close(req->turn_fds[1]);
        mem_free(req);
}

static int give(int r, const struct error *error, sbx_error **err)
{
        return r < 0 ? api_fail(error, err) : 0;
}

int sbx_request_set_code(sbx_request *req, const void *code, size_t length, sbx_error **err)
{
        struct error error;

        if (!req || !code)
                return api_fail_null("sbx_request_set_code", err);
        return give(request_set_code(&req->request, code, length, &error), &error, err);
}

int sbx_request_set_code_fd(sbx_request *req, int fd, sbx_error **err)
{
        struct error error;

        if (!req)
                return api_fail_null("sbx_request_set_code_fd", err);
        return give(request_set_code_fd(&req->request, fd, &error), &error, err);
}

int sbx_request_set_file_name(sbx_request *req, const char *name, sbx_error **err)
{
        struct error error;

        if (!req || !name)
                return api_fail_null("sbx_request_set_file_name", err);
        return give(request_set_file_name(&req->request, name, &error), &error, err);
}

int sbx_request_set_name(sbx_request *req, const char *name, sbx_error **err)
{
        struct error error;

        if (!req || !name)
                return api_fail_null("sbx_request_set_name", err);
        return give(request_set_name(&req->request, name, &error), &error, err);
}

int sbx_request_add_argument(sbx_request *req, const char *argument, sbx_error **err)
{
        struct error error;

        if (!req || !argument)
                return api_fail_null("sbx_request_add_argument", err);
        return give(request_add_argument(&req->request, argument, &error), &error, err);
}

int sbx_request_set(sbx_request *req, const char *key, const char *value, sbx_error **err)
{
        struct error error;

        if (!req || !key || !value)
                return api_fail_null("sbx_request_set", err);
        return give(policy_set(&req->settings.general, key, value, &error), &error, err);
}

int sbx_request_add_mount(sbx_request *req, const char *source, const char *target,
                          const char *mode, sbx_error **err)
{
        struct error error;

        if (!req || !source || !target || !mode)
                return api_fail_null("sbx_request_add_mount", err);
        return give(policy_add_mount(&req->settings.general, source, target, mode, &error), &error,
                    err);
}

int sbx_request_set_policy(sbx_request *req, const sbx_policy *policy, sbx_error **err)
{
        struct error error;

        if (!req || !policy)
                return api_fail_null("sbx_request_set_policy", err);
        return give(api_policy_copy(&req->policy, policy, &error), &error, err);
}

char *sbx_request_show_policy(const sbx_request *req, const char *language, const char *form,
                              sbx_error **err)
{
        const struct policy *layers[ENGINE_LAYERS_MAX];
        size_t count;

        if (!req) {
                (void)api_fail_null("sbx_request_show_policy", err);
                return NULL;
        }
        count = api_policy_layers(&req->policy, layers);
        layers[count++] = &req->settings;
        return api_policy_show(layers, count, language, form, err);
}

int sbx_request_set_stdin(sbx_request *req, const void *data, size_t length, sbx_error **err)
{
        struct error error;

        if (!req || !data)
                return api_fail_null("sbx_request_set_stdin", err);
        return give(request_set_stdin(&req->request, data, length, &error), &error, err);
}

int sbx_request_set_stdin_fd(sbx_request *req, int fd, sbx_error **err)
{
        struct error error;

        if (!req)
                return api_fail_null("sbx_request_set_stdin_fd", err);
        if (fcntl(fd, F_GETFD) < 0)
                return give(error_set_errno(&error, "descriptor %d for standard input", fd), &error,
                            err);
        req->request.stdin_fd = fd;
        return 0;
}

int sbx_request_set_output_fd(sbx_request *req, int stream, int fd, sbx_error **err)
{
        struct error error;

        if (!req)
                return api_fail_null("sbx_request_set_output_fd", err);
        if (stream != 1 && stream != 2)
                return give(error_set(&error, SBX_EINVAL, "%d is neither standard output nor error",
                                      stream),
                            &error, err);
        if (fcntl(fd, F_GETFD) < 0)
                return give(error_set_errno(&error, "descriptor %d for output", fd), &error, err);
        req->request.output_fds[stream] = fd;
        return 0;
}

int sbx_request_set_output_kill(sbx_request *req, bool kill, sbx_error **err)
{
        if (!req)
                return api_fail_null("sbx_request_set_output_kill", err);
        req->request.output_kill = kill;
        return 0;
}

int sbx_request_set_no_warm(sbx_request *req, bool no_warm, sbx_error **err)
{
        if (!req)
                return api_fail_null("sbx_request_set_no_warm", err);
        req->request.no_warm = no_warm;
        return 0;
}

int sbx_request_set_no_cache(sbx_request *req, bool no_cache, sbx_error **err)
{
        if (!req)
                return api_fail_null("sbx_request_set_no_cache", err);
        req->request.no_cache = no_cache;
        return 0;
}

int sbx_request_set_trusted(sbx_request *req, bool trusted, sbx_error **err)
{
        if (!req)
                return api_fail_null("sbx_request_set_trusted", err);
        req->request.trusted = trusted;
        return 0;
}

int sbx_request_add_rules(sbx_request *req, const char *folder, sbx_error **err)
{
        struct error error = { 0 };

        if (!req || !folder)
                return api_fail_null("sbx_request_add_rules", err);
        return rules_read_folder(&req->request.rules, folder, &error) < 0 ? api_fail(&error, err)
                                                                          : 0;
}

int sbx_request_set_warnings(sbx_request *req, bool wanted, sbx_error **err)
{
        if (!req)
                return api_fail_null("sbx_request_set_warnings", err);
        req->request.no_warnings = !wanted;
        return 0;
}

int sbx_request_set_event_handler(sbx_request *req, sbx_event_handler handler, void *userdata,
                                  sbx_error **err)
{
        if (!req)
                return api_fail_null("sbx_request_set_event_handler", err);
        req->handler = handler;
        req->userdata = userdata;
        return 0;
}

int sbx_request_set_log_handler(sbx_request *req, sbx_event_handler handler, void *userdata,
                                sbx_error **err)
{
        if (!req)
                return api_fail_null("sbx_request_set_log_handler", err);
        req->log_handler = handler;
        req->log_userdata = userdata;
        return 0;
}

int sbx_request_set_wait_handler(sbx_request *req, sbx_wait_handler handler, void *userdata,
                                 sbx_error **err)
{
        if (!req)
                return api_fail_null("sbx_request_set_wait_handler", err);
        req->wait_handler = handler;
        req->wait_userdata = userdata;
        return 0;
}

int sbx_request_set_no_record(sbx_request *req, bool no_record, sbx_error **err)
{
        if (!req)
                return api_fail_null("sbx_request_set_no_record", err);
        req->request.no_record = no_record;
        return 0;
}

void sbx_request_cancel(sbx_request *req)
{
        int saved = errno;
        uint64_t one = 1;

        if (req && req->cancel_fd >= 0 && write(req->cancel_fd, &one, sizeof(one)) < 0)
                errno = saved; /* it was full: cancelled already */
        errno = saved;
}
