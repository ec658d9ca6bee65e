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
        *policy = (struct sbx_policy){ 0 };
        policy->environment.layer = LAYER_ENVIRONMENT;
}

void api_policy_done(struct sbx_policy *policy)
{
        while (policy->file_count > 0)
                policy_done(&policy->files[--policy->file_count]);
        mem_free(policy->files);
        policy->files = NULL;
        policy->file_capacity = 0;
        policy_done(&policy->environment);
}

int api_policy_copy(struct sbx_policy *to, const struct sbx_policy *from, struct error *err)
{
        struct sbx_policy copy;
        int r;

        api_policy_init(&copy);
        r = policy_copy(&copy.environment, &from->environment, err);
        for (size_t i = 0; r == 0 && i < from->file_count; i++) {
                if (MEM_GROW(copy.files, copy.file_count, copy.file_capacity) < 0)
                        r = error_set_nomem(err);
                else
                        r = policy_copy(&copy.files[i], &from->files[i], err);
                if (r == 0)
                        copy.file_count++;
        }
        if (r < 0) {
                api_policy_done(&copy);
                return r;
        }
        api_policy_done(to);
        *to = copy;
        return 0;
}

size_t api_policy_layers(const struct sbx_policy *policy,
                         const struct policy *layers[ENGINE_LAYERS_MAX])
{
        size_t count = 0;

        while (count < policy->file_count) {
                layers[count] = &policy->files[count];
                count++;
        }
        layers[count++] = &policy->environment;
        return count;
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
                error_hint(err,
                           strchr(path, '/')
                                   ? "name a file that this user can read"
                                   : "'sandbox policy list' names the policies that need no file");
                return err ? (err->code = SBX_EPOLICY) : SBX_EPOLICY;
        }
        if (!S_ISREG(st.st_mode))
                fault = "it is not a regular file";
        else if (st.st_mode & S_IWOTH)
                fault = "it is writable by everybody";
        else if (st.st_uid != 0 && st.st_uid != geteuid())
                fault = "it belongs to another user";
        if (fault) {
                (void)error_set(err, SBX_EPOLICY, "policy '%s': %s", shown, fault);
                error_hint(err, "a policy is a YAML or TOML file of yours or root's, which nobody "
                                "else can write");
                return SBX_EPOLICY;
        }
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
        for (size_t i = 0; r == 0 && i < values->rule_folders.items.count; i++)
                r = make_absolute(&values->rule_folders.items.items[i], folder, length);
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

/* Reads a text in the form that its name's ending says into a layer. */
static int load_text(struct policy *layer, const char *text, size_t length, const char *name,
                     struct error *err)
{
        AUTO_FREE char *record = NULL;
        size_t record_length = 0;
        int r;

        if (!str_has_suffix(name, ".toml"))
                return policy_load_yaml(layer, text, length, name, err);
        /* What the reader would refuse unread is not worth a process, nor a risk to one. */
        r = policy_check_text(text, length, name, err);
        if (r == 0)
                r = api_toml_record(text, length, &record, &record_length, err);
        if (r < 0)
                return r;
        return policy_load_toml(layer, text, length, record, record_length, name, err);
}

/* The place for one more layer; it counts only once add_done() says so. */
static int add_layer(sbx_policy *policy, struct policy **ret_layer, struct error *err)
{
        if (policy->file_count >= API_POLICY_FILES_MAX)
                return error_set(err, SBX_EINVAL, "more than %d policies", API_POLICY_FILES_MAX);
        if (MEM_GROW(policy->files, policy->file_count, policy->file_capacity) < 0)
                return error_set_nomem(err);
        *ret_layer = &policy->files[policy->file_count];
        policy_init(*ret_layer);
        return 0;
}

/* Keeps the layer, or drops it where it could not be filled. */
static int add_done(sbx_policy *policy, struct policy *layer, int r, const struct error *error,
                    sbx_error **err)
{
        if (r < 0) {
                if (layer)
                        policy_done(layer);
                return api_fail(error, err);
        }
        policy->file_count++;
        return 0;
}

int sbx_policy_load_file(sbx_policy *policy, const char *path, sbx_error **err)
{
        AUTO_CLOSE int fd = -1;
        AUTO_FREE char *text = NULL;
        struct policy *layer = NULL;
        struct error error;
        char shown[512];
        size_t length;
        int r;

        if (!policy || !path)
                return api_fail_null("sbx_policy_load_file", err);
        str_printable(path, shown, sizeof(shown));
        r = add_layer(policy, &layer, &error);
        if (r == 0)
                r = open_policy(path, shown, &fd, &error);
        if (r == 0)
                r = fd_read_all(fd, POLICY_FILE_MAX, shown, &text, &length, &error);
        if (r == 0)
                r = load_text(layer, text, length, shown, &error);
        if (r == 0 && anchor(layer, path) < 0)
                r = error_set_nomem(&error);
        return add_done(policy, layer, r, &error, err);
}

int sbx_policy_load_text(sbx_policy *policy, const char *text, size_t length, const char *name,
                         sbx_error **err)
{
        struct policy *layer = NULL;
        struct error error;
        int r;

        if (!policy || !text || !name)
                return api_fail_null("sbx_policy_load_text", err);
        r = add_layer(policy, &layer, &error);
        if (r == 0)
                r = load_text(layer, text, length, name, &error);
        return add_done(policy, layer, r, &error, err);
}

int sbx_policy_load_profile(sbx_policy *policy, const char *name, sbx_error **err)
{
        struct policy *layer = NULL;
        struct error error;
        int r;

        if (!policy || !name)
                return api_fail_null("sbx_policy_load_profile", err);
        r = add_layer(policy, &layer, &error);
        if (r == 0)
                r = policy_load_profile(layer, name, &error);
        return add_done(policy, layer, r, &error, err);
}

int sbx_policy_seal(sbx_policy *policy, sbx_error **err)
{
        struct policy *layer = NULL;
        struct error error;
        int r;

        if (!policy)
                return api_fail_null("sbx_policy_seal", err);
        r = add_layer(policy, &layer, &error);
        if (r == 0)
                r = policy_copy(layer, &policy_seal, &error);
        return add_done(policy, layer, r, &error, err);
}

bool sbx_policy_is_profile(const char *name)
{
        return name && policy_profile_find(name);
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

static char *give_text(char *text, sbx_error **err)
{
        struct error error;

        if (!text) {
                (void)error_set_nomem(&error);
                (void)api_fail(&error, err);
        }
        return text;
}

/* The limits that suit the language, and its name where an alias was given. A language that is not
 * known has none: a policy may speak of one that another machine has. */
static int find_suited(struct languages *languages, const char **language, struct policy *ret_layer,
                       struct error *err)
{
        const struct language *found;
        int r = languages ? api_languages_add_own(languages, err) : error_set_nomem(err);

        if (r < 0)
                return r;
        found = languages_by_name(languages, *language);
        if (!found)
                return 0;
        engine_language_layer(found, ret_layer);
        *language = found->name;
        return 0;
}

char *api_policy_show(const struct policy *const *layers, size_t count, const char *language,
                      const char *form, sbx_error **err)
{
        bool explain = str_equal(form, "explain");
        const struct policy *all[ENGINE_LAYERS_MAX + 1];
        struct languages *languages = language ? languages_new() : NULL;
        struct policy suited;
        struct policy_values values;
        struct error error;
        char *text = NULL;
        int r = 0;

        policy_init(&suited);
        all[0] = &suited;
        memcpy(all + 1, layers, count * sizeof(*layers));
        if (!explain && !str_equal(form, "yaml") && !str_equal(form, "json"))
                r = error_set(&error, SBX_EINVAL, "no such form of a policy: '%s'",
                              form ? form : "NULL");
        if (r == 0 && language)
                r = find_suited(languages, &language, &suited, &error);
        if (r == 0)
                r = policy_effective(all, count + 1, language, &values, &error);
        if (r < 0) {
                (void)api_fail(&error, err);
        } else {
                text = give_text(explain ? policy_explain(all, count + 1, language, &values)
                                         : policy_show(&values, form),
                                 err);
                policy_values_done(&values);
        }
        languages_free(languages);
        return text;
}

char *sbx_policy_show(const sbx_policy *policy, const char *language, const char *form,
                      sbx_error **err)
{
        const struct policy *layers[ENGINE_LAYERS_MAX];

        if (!policy) {
                (void)api_fail_null("sbx_policy_show", err);
                return NULL;
        }
        return api_policy_show(layers, api_policy_layers(policy, layers), language, form, err);
}

const char *sbx_policy_backend(const sbx_policy *policy)
{
        const struct policy *layers[ENGINE_LAYERS_MAX];
        struct policy_values values;
        const char *name;

        if (!policy ||
            policy_effective(layers, api_policy_layers(policy, layers), NULL, &values, NULL) < 0)
                return NULL;
        name = policy_backend_name(values.backends[0]);
        policy_values_done(&values);
        return name;
}

char *sbx_policy_schema(sbx_error **err)
{
        return give_text(policy_schema(), err);
}

char *sbx_policy_profiles_json(sbx_error **err)
{
        return give_text(policy_profiles_json(), err);
}
