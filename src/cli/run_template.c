/* --template, --set and --set-file: files are read here and handed to the library as bytes. */
#include "cli/run.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { TEMPLATE_BYTES_MAX = 1 << 20, VALUE_BYTES_MAX = 32 << 20, KEY_BYTES_MAX = 128 };

int run_read_file(sbx_request *req, const char *path, size_t max, char **ret_data,
                  size_t *ret_length, struct error *err)
{
        AUTO_CLOSE int fd = -1;
        char shown[512];
        struct stat st;
        /* Without waiting: a fifo or a device named by mistake is an error, not a command that
         * hangs. */
        int r = run_open(req, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err);

        str_printable(path, shown, sizeof(shown));
        if (r < 0)
                return r;
        if (r > 0)
                return error_set(err, SBX_EINVAL, "open '%s': %s", shown, strerror(errno));
        if (fstat(fd, &st) < 0)
                return error_set_errno(err, "examine '%s'", shown);
        if (!S_ISREG(st.st_mode))
                return error_set(err, SBX_EINVAL, "read '%s': %s", shown,
                                 S_ISDIR(st.st_mode) ? "is a directory" : "not a regular file");
        return fd_read_all(fd, max, shown, ret_data, ret_length, err);
}

/* A path has a slash or a dot in it; a name has neither. */
static bool is_path(const char *name)
{
        return strpbrk(name, "./") != NULL;
}

static int set_template(sbx_request *req, const char *name, struct error *err)
{
        AUTO_FREE char *text = NULL;
        sbx_error *failure = NULL;
        size_t length = 0;
        int r;

        if (!is_path(name))
                return sbx_request_set_template(req, name, &failure) < 0 ? report_take(err, failure)
                                                                         : 0;
        r = run_read_file(req, name, TEMPLATE_BYTES_MAX, &text, &length, err);
        if (r < 0)
                return r;
        if (sbx_request_set_template_text(req, text, length, name, &failure) < 0)
                return report_take(err, failure);
        return 0;
}

static int set_value(sbx_request *req, const char *text, bool from_file, struct error *err)
{
        const char *equals = strchr(text, '=');
        AUTO_FREE char *data = NULL;
        sbx_error *failure = NULL;
        char key[KEY_BYTES_MAX], shown[160];
        size_t length = equals ? strlen(equals + 1) : 0;
        const char *value = equals ? equals + 1 : NULL;
        int r = 0;

        if (!equals || equals == text || (size_t)(equals - text) >= sizeof(key))
                return error_set(err, SBX_EINVAL, "'%s' is not of the form %s",
                                 str_printable(text, shown, sizeof(shown)),
                                 from_file ? "K=PATH" : "K=V");
        memcpy(key, text, (size_t)(equals - text));
        key[equals - text] = '\0';
        if (from_file) {
                r = run_read_file(req, value, VALUE_BYTES_MAX, &data, &length, err);
                value = data;
        }
        if (r == 0 && sbx_request_set_placeholder(req, key, value, length, &failure) < 0)
                r = report_take(err, failure);
        return r;
}

int run_template_set(sbx_request *req, const struct options *options, struct error *err)
{
        const char *template = options_value(options, "template");
        int r = template ? set_template(req, template, err) : 0;

        if (r < 0) {
                error_prefix(err, "option '--template'");
                return r;
        }
        for (size_t i = 0; i < options->use_count; i++) {
                const struct option_use *use = &options->uses[i];
                bool from_file = str_equal(use->option->name, "set-file");

                if (!from_file && !str_equal(use->option->name, "set"))
                        continue;
                r = template ? set_value(req, use->value, from_file, err)
                             : error_set(err, SBX_EINVAL, "there is no '--template' to set it in");
                if (r < 0) {
                        error_prefix(err, "option '--%s'", use->option->name);
                        return r;
                }
        }
        return 0;
}
