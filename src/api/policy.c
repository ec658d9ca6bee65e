#include "api/api.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLICY_FILE_MAX = 1 << 20 };

void api_policy_init(struct sbx_policy *policy)
{
        policy_init(&policy->file);
        policy_init(&policy->environment);
        policy->file_name = NULL;
}

void api_policy_done(struct sbx_policy *policy)
{
        policy_done(&policy->file);
        policy_done(&policy->environment);
        mem_free(policy->file_name);
        policy->file_name = NULL;
}

int api_policy_copy(struct sbx_policy *to, const struct sbx_policy *from, struct error *err)
{
        struct sbx_policy copy;
        int r;

        api_policy_init(&copy);
        r = policy_copy(&copy.file, &from->file, err);
        if (r == 0)
                r = policy_copy(&copy.environment, &from->environment, err);
        copy.file_name = mem_strdup(from->file_name);
        if (r < 0) {
                api_policy_done(&copy);
                return r;
        }
        api_policy_done(to);
        *to = copy;
        return 0;
}

sbx_policy *sbx_policy_new(void)
{
        sbx_policy *policy = mem_alloc(sizeof(*policy));

        if (policy)
                api_policy_init(policy);
        return policy;
}

void sbx_policy_free(sbx_policy *policy)
{
        if (!policy)
                return;
        api_policy_done(policy);
        mem_free(policy);
}

/* A policy decides what untrusted code may do: it must be a file that only its owner, who is root
 * or the caller, can have written. */
static int open_policy(const char *path, const char *shown, int *ret_fd, struct error *err)
{
        AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        struct stat st;
        const char *fault = NULL;

        if (fd < 0 || fstat(fd, &st) < 0) {
                error_set_errno(err, "open policy '%s'", shown);
                return err ? (err->code = SBX_EPOLICY) : SBX_EPOLICY;
        }
        if (!S_ISREG(st.st_mode))
                fault = "it is not a regular file";
        else if (st.st_mode & S_IWOTH)
                fault = "it is writable by everybody";
        else if (st.st_uid != 0 && st.st_uid != geteuid())
                fault = "it belongs to another user";
        else if (str_has_suffix(path, ".toml"))
                fault = "TOML policies are not available in this build; write it as YAML";
        if (fault)
                return error_set(err, SBX_EPOLICY, "policy '%s': %s", shown, fault);
        *ret_fd = fd_take(&fd);
        return 0;
}

static int make_absolute(char **path, const char *folder, size_t length)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        if (!*path || (*path)[0] == '/')
                return 0;
        strbuf_add(&text, folder, length);
        strbuf_adds(&text, "/");
        strbuf_adds(&text, *path);
        if (text.failed)
                return -1;
        mem_free(*path);
        *path = strbuf_take(&text);
        return 0;
}

/* Paths in a file are meant from where the file is. */
static int anchor_values(struct policy_values *values, const char *folder, size_t length)
{
        int r = make_absolute(&values->workspace, folder, length);

        for (size_t i = 0; i < values->mount_count && r == 0; i++)
                r = make_absolute(&values->mounts[i].source, folder, length);
        return r;
}

static int anchor(struct policy *policy, const char *path)
{
        AUTO_FREE char *real = realpath(path, NULL);
        size_t length = real ? (size_t)(strrchr(real, '/') - real) : 0;
        int r = real ? anchor_values(&policy->general, real, length) : -1;

        for (size_t i = 0; i < policy->language_count && r == 0; i++)
                r = anchor_values(&policy->languages[i].values, real, length);
        return r;
}

int sbx_policy_load_file(sbx_policy *policy, const char *path, sbx_error **err)
{
        AUTO_CLOSE int fd = -1;
        AUTO_FREE char *text = NULL;
        struct error error;
        char shown[512];
        size_t length;
        int r;

        if (!policy || !path)
                return api_fail_null("sbx_policy_load_file", err);
        str_printable(path, shown, sizeof(shown));
        r = open_policy(path, shown, &fd, &error);
        if (r == 0)
                r = fd_read_all(fd, POLICY_FILE_MAX, shown, &text, &length, &error);
        if (r == 0)
                r = policy_load_yaml(&policy->file, text, length, shown, &error);
        if (r == 0 && anchor(&policy->file, path) < 0)
                r = error_set_nomem(&error);
        if (r < 0)
                return api_fail(&error, err);
        mem_free(policy->file_name);
        policy->file_name = mem_strdup(shown);
        return 0;
}

int sbx_policy_load_text(sbx_policy *policy, const char *text, size_t length, const char *name,
                         sbx_error **err)
{
        struct error error;

        if (!policy || !text || !name)
                return api_fail_null("sbx_policy_load_text", err);
        if (policy_load_yaml(&policy->file, text, length, name, &error) < 0)
                return api_fail(&error, err);
        mem_free(policy->file_name);
        policy->file_name = mem_strdup(name);
        return 0;
}

int sbx_policy_load_environment(sbx_policy *policy, char *const *environment, sbx_error **err)
{
        struct error error;

        if (!policy || !environment)
                return api_fail_null("sbx_policy_load_environment", err);
        return policy_load_environment(&policy->environment, environment, &error) < 0
                       ? api_fail(&error, err)
                       : 0;
}

char *sbx_policy_show(const sbx_policy *policy, const char *language, const char *form,
                      sbx_error **err)
{
        const struct policy *layers[] = { &policy->file, &policy->environment };
        struct policy_values values;
        struct error error;
        char *text;

        if (!str_equal(form, "yaml") && !str_equal(form, "json")) {
                (void)error_set(&error, SBX_EINVAL, "no such form of a policy: '%s'",
                                form ? form : "NULL");
                (void)api_fail(&error, err);
                return NULL;
        }
        if (policy_effective(layers, 2, language, &values, &error) < 0) {
                (void)api_fail(&error, err);
                return NULL;
        }
        text = policy_show(&values, form);
        policy_values_done(&values);
        if (!text) {
                (void)error_set_nomem(&error);
                (void)api_fail(&error, err);
        }
        return text;
}

char *sbx_policy_schema(sbx_error **err)
{
        struct error error;
        char *text = policy_schema();

        if (!text) {
                (void)error_set_nomem(&error);
                (void)api_fail(&error, err);
        }
        return text;
}
