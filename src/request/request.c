#include "request/request.h"
#include "base/fd.h"
#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <stdio.h>
#include <unistd.h>

enum { FILE_NAME_MAX = 4095 }; /* a path: the kernel's own maximum */

void request_init(struct request *req)
{
        *req = (struct request){ .code_fd = -1,
                                 .stdin_fd = -1,
                                 .turn_fd = -1,
                                 .collect_fd = -1,
                                 .output_fds = { -1, -1, -1 } };
        bundle_init(&req->sources);
        bundle_init(&req->inputs);
}

static void rules_done(struct request_rules *rules)
{
        mem_free(rules->name);
        mem_free(rules->file);
        mem_free(rules->language);
        mem_free(rules->yaml);
        mem_free(rules->queries);
}

int request_rules_add(struct request_rule_list *list, const struct request_rules *rules,
                      struct error *err)
{
        struct request_rules taken = *rules;

        if (!taken.name || !taken.file || !taken.language || !taken.yaml ||
            MEM_GROW(list->items, list->count, list->capacity) < 0) {
                rules_done(&taken);
                return error_set_nomem(err);
        }
        list->items[list->count++] = taken;
        return 0;
}

void request_rules_done(struct request_rule_list *list)
{
        for (size_t i = 0; i < list->count; i++)
                rules_done(&list->items[i]);
        mem_free(list->items);
        *list = (struct request_rule_list){ 0 };
}

void request_done(struct request *req)
{
        request_rules_done(&req->rules);
        mem_free(req->language);
        mem_free(req->file_name);
        mem_free(req->name);
        mem_free(req->code);
        fd_close(req->code_fd);
        mem_free(req->stdin_data);
        bundle_done(&req->sources);
        bundle_done(&req->inputs);
        mem_free(req->folder);
        mem_free(req->entry);
        strlist_done(&req->collect_patterns);
        fd_close(req->collect_fd);
        mem_free(req->deps);
        mem_free(req->workspace);
        strlist_done(&req->registries);
        strlist_done(&req->arguments);
        request_init(req);
}

/* Puts a copy of `text` into `*slot`, which keeps its old value when out of memory. */
static int replace_text(char **slot, const char *text, struct error *err)
{
        char *copy = mem_strdup(text);

        if (text && !copy)
                return error_set_nomem(err);
        mem_free(*slot);
        *slot = copy;
        return 0;
}

static int replace_bytes(char **slot, size_t *slot_length, const void *data, size_t length,
                         struct error *err)
{
        char *copy = mem_dup(data, length);

        if (!copy)
                return error_set_nomem(err);
        mem_free(*slot);
        *slot = copy;
        *slot_length = length;
        return 0;
}

/* 1 to REQUEST_NAME_MAX printable ASCII characters: it stands in messages, records and paths of
 * other programs. */
static int check_name(const char *what, const char *name, struct error *err)
{
        size_t length = strnlen(name, REQUEST_NAME_MAX + 1);
        char shown[64];

        if (length == 0)
                return error_set(err, SBX_EINVAL, "the %s is empty", what);
        if (length > REQUEST_NAME_MAX)
                return error_set(err, SBX_EINVAL, "the %s is longer than %d bytes", what,
                                 REQUEST_NAME_MAX);
        for (size_t i = 0; i < length; i++)
                if (name[i] < 0x20 || name[i] > 0x7e)
                        return error_set(err, SBX_EINVAL,
                                         "the %s '%s' holds characters beyond printable ASCII",
                                         what, str_printable(name, shown, sizeof(shown)));
        return 0;
}

int request_set_language(struct request *req, const char *language, struct error *err)
{
        int r = language ? check_name("language name", language, err) : 0;

        return r < 0 ? r : replace_text(&req->language, language, err);
}

static int check_code_size(uint64_t size, struct error *err)
{
        int r;

        if (size <= REQUEST_CODE_MAX)
                return 0;
        r = error_set(err, SBX_ETOOBIG, "the code has %llu bytes, the maximum is %d MiB",
                      (unsigned long long)size, REQUEST_CODE_MAX >> 20);
        error_hint(err, "give large data by --stdin or --volume instead of in the code");
        return r;
}

static void forget_code_fd(struct request *req)
{
        fd_close(req->code_fd);
        req->code_fd = -1;
}

int request_set_code(struct request *req, const void *code, size_t length, struct error *err)
{
        int r = check_code_size(length, err);

        if (r < 0)
                return r;
        if (!code && length > 0)
                return error_set(err, SBX_EINVAL, "no code was given");
        r = replace_bytes(&req->code, &req->code_length, code, length, err);
        if (r < 0)
                return r;
        forget_code_fd(req);
        req->code_size = length;
        return 0;
}

int request_set_code_fd(struct request *req, int fd, struct error *err)
{
        AUTO_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        char peek[REQUEST_CODE_PEEK];
        struct stat st;
        ssize_t n;
        int r;

        if (copy < 0 || fstat(copy, &st) < 0)
                return error_set_errno(err, "descriptor %d with the code", fd);
        if (!S_ISREG(st.st_mode))
                return error_set(err, SBX_EINVAL, "the code is not in a regular file");
        r = check_code_size((uint64_t)st.st_size, err);
        if (r < 0)
                return r;
        n = pread(copy, peek, sizeof(peek), 0);
        if (n < 0) {
                r = error_set_errno(err, "read the code");
                error_hint(err, "give the code with --code, or in a file that can be read");
                return r;
        }
        r = replace_bytes(&req->code, &req->code_length, peek, (size_t)n, err);
        if (r < 0)
                return r;
        forget_code_fd(req);
        req->code_fd = fd_take(&copy);
        req->code_size = (size_t)st.st_size;
        return 0;
}

int request_set_file_name(struct request *req, const char *name, struct error *err)
{
        if (name && (*name == '\0' || strnlen(name, FILE_NAME_MAX + 1) > FILE_NAME_MAX))
                return error_set(err, SBX_EINVAL, "the file name must have 1 to %d bytes",
                                 FILE_NAME_MAX);
        return replace_text(&req->file_name, name, err);
}

int request_set_name(struct request *req, const char *name, struct error *err)
{
        int r = name ? check_name("name", name, err) : 0;

        return r < 0 ? r : replace_text(&req->name, name, err);
}

static int refuse_arguments(const char *format, int most, struct error *err)
{
        char message[80];
        int r;

        (void)snprintf(message, sizeof(message), format, most >> 10);
        r = error_set(err, SBX_ETOOBIG, "%s", message);
        error_hint(err, "hand data in with --stdin, --input-file or --volume");
        return r;
}

int request_add_argument(struct request *req, const char *argument, struct error *err)
{
        size_t length = strnlen(argument, REQUEST_STRING_MAX);
        /* The pointer counts as well, as it does for the kernel: else a million empty ones would
         * fit. */
        size_t sum = req->argument_bytes + length + 1 + sizeof(char *);

        if (length >= REQUEST_STRING_MAX)
                return refuse_arguments("an argument is larger than %d KiB", REQUEST_STRING_MAX,
                                        err);
        if (sum > REQUEST_STRINGS_MAX)
                return refuse_arguments("the arguments are larger than %d KiB together",
                                        REQUEST_STRINGS_MAX, err);
        if (strlist_add(&req->arguments, argument) < 0)
                return error_set_nomem(err);
        req->argument_bytes = sum;
        return 0;
}

int request_set_stdin(struct request *req, const void *data, size_t length, struct error *err)
{
        int r;

        if (length > REQUEST_STDIN_MAX) {
                r = error_set(err, SBX_ETOOBIG,
                              "the standard input has %zu bytes, the maximum is %d MiB", length,
                              REQUEST_STDIN_MAX >> 20);
                error_hint(err, "pass a descriptor instead: it is read while the program runs");
                return r;
        }
        if (!data && length > 0)
                return error_set(err, SBX_EINVAL, "no standard input was given");
        return replace_bytes(&req->stdin_data, &req->stdin_length, data, length, err);
}
