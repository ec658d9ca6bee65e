/*
 * Theory of operation: standard error that is passed on to a descriptor of the caller's goes
 * through a pipe of ours, and a thread rewrites it line by line. The monitor sees a pipe that takes
 * what the caller takes, so a slow reader is what it would be without us, and the monitor itself
 * never waits. The thread ends when the pipe does; a cancelled run makes it stop waiting for a
 * reader. It owns the reading end alone, and touches nothing of the run but the expansion, which
 * does not change.
 */
#include "engine/templating.h"
#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 16 << 10 };

/* ---- which template, which language ---- */

/* The language the request itself tells, or NULL. */
static const struct language *asked_language(const struct engine *engine,
                                             const struct request *request)
{
        if (request->language)
                return languages_by_name(engine->languages, request->language);
        return languages_detect(engine->languages, request->file_name, request->code,
                                request->code_length);
}

/* Whether `name` is this template: by its name, or by name and language. */
static bool is_named(const struct template_builtin *known, const char *name)
{
        size_t length = strlen(known->name);

        return str_equal(known->name, name) ||
               (str_has_prefix(name, known->name) && name[length] == '-' &&
                str_equal(name + length + 1, known->language));
}

/* The one of that name for the language; where no language is told, the only one of that name. */
static int choose_builtin(const char *name, const char *language,
                          const struct template_builtin **ret_found, struct error *err)
{
        const struct template_builtin *found = NULL;
        AUTO_STRBUF struct strbuf languages = { 0 };
        size_t count = 0;

        for (const struct template_builtin *known = templates_builtin; known->name; known++) {
                if (!is_named(known, name))
                        continue;
                strbuf_addf(&languages, "%s%s", count++ ? ", " : "", known->language);
                if (!language || str_equal(language, known->language))
                        found = known;
        }
        if (languages.failed)
                return error_set_nomem(err);
        if (found && (language || count == 1)) {
                *ret_found = found;
                return 0;
        }
        if (language)
                return error_set(err, SBX_EINVAL, "template '%s' is for %s, the code is %s", name,
                                 count ? languages.data : "nothing", language);
        (void)error_set(err, SBX_EINVAL, "template '%s': which language?", name);
        error_hint(err, "give --lang with one of: %s", count ? languages.data : "none");
        return SBX_EINVAL;
}

static int find_template(struct filled *t, const struct engine *engine,
                         const struct engine_order *order, const struct template **ret_template,
                         struct error *err)
{
        const struct template_use *use = order->template;
        const struct template_builtin *builtin = NULL;
        int r;

        t->language = asked_language(engine, order->request);
        if (use->template) {
                *ret_template = use->template;
                return 0;
        }
        r = choose_builtin(use->name, t->language ? t->language->name : NULL, &builtin, err);
        if (r == 0)
                r = template_load(builtin->text, strlen(builtin->text), "builtin.yaml", &t->builtin,
                                  err);
        *ret_template = t->builtin;
        return r;
}

/* The template's language is the program's; the request must not say another. */
static int agree_on_language(struct filled *t, const struct engine *engine,
                             const struct request *request, const struct template *template,
                             struct error *err)
{
        const struct language *own = NULL;
        char shown[80];

        if (request->language && !t->language)
                return 0; /* an unknown one: the pipeline says so */
        if (template->language) {
                own = languages_by_name(engine->languages, template->language);
                if (!own)
                        return error_set(err, SBX_ELANGUAGE,
                                         "template '%s': no such language: '%s'", template->name,
                                         str_printable(template->language, shown, sizeof(shown)));
        } else if (!t->language && template->file_name) {
                own = languages_detect(engine->languages, template->file_name, "", 0);
        }
        if (own && t->language && own != t->language)
                return error_set(err, SBX_EINVAL, "template '%s' is for %s, the code is %s",
                                 template->name, own->name, t->language->name);
        if (own)
                t->language = own;
        return 0;
}

/* ---- the program ---- */

/* All of the code: a request may hold no more than its beginning, and the file. */
static int read_code(const struct request *request, char **ret_code, size_t *ret_length,
                     struct error *err)
{
        size_t done = 0;
        char *code;

        *ret_length = request->code_fd >= 0 ? request->code_size : request->code_length;
        if (request->code_fd < 0) {
                *ret_code = mem_dup(request->code, *ret_length);
                return *ret_code ? 0 : error_set_nomem(err);
        }
        code = mem_alloc(*ret_length + 1);
        if (!code)
                return error_set_nomem(err);
        while (done < *ret_length) {
                ssize_t n = pread(request->code_fd, code + done, *ret_length - done, (off_t)done);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0) {
                        mem_free(code);
                        return n < 0 ? error_set_errno(err, "read the code")
                                     : error_set(err, SBX_EINVAL, "the code became shorter");
                }
                done += (size_t)n;
        }
        *ret_code = code;
        return 0;
}

static int make_program(struct filled *t, const struct engine_order *order,
                        const struct template *template, struct error *err)
{
        const struct request *request = order->request;
        AUTO_FREE char *code = NULL;
        size_t length = 0;
        int r = read_code(request, &code, &length, err);

        if (r == 0)
                r = template_expand(template, order->template, code, length,
                                    t->language ? t->language->name : "", &t->expansion, err);
        if (r < 0)
                return r;
        t->request = *request;
        t->request.code = t->expansion.text.data;
        t->request.code_length = t->request.code_size = t->expansion.text.length;
        t->request.code_fd = -1;
        if (t->language)
                t->request.language = (char *)t->language->name; /* read alone, as all of it */
        return 0;
}

void filled_free(struct filled *filled)
{
        if (!filled)
                return;
        expansion_done(&filled->expansion);
        template_free(filled->builtin);
        mem_free(filled);
}

static int fill(struct filled *filled, const struct engine *engine,
                const struct engine_order *order, struct error *err)
{
        const struct template *template = NULL;
        int r;

        if (order->request->sources.count > 0) {
                r = error_set(err, SBX_EINVAL, "a template takes one piece of code, not a project");
                error_hint(err, "give one file, and what it needs with --input-file");
                return r;
        }
        r = find_template(filled, engine, order, &template, err);
        if (r == 0)
                r = agree_on_language(filled, engine, order->request, template, err);
        return r < 0 ? r : make_program(filled, order, template, err);
}

/* ---- what is heard and passed on ---- */

static void pass_event(struct templating *t, const struct engine_event *like, struct strbuf *text)
{
        struct engine_event event = *like;

        if (text->length == 0 || text->failed)
                return;
        event.kind = "stderr";
        event.data = text->data;
        event.length = text->length;
        t->outer->event(t->outer->context, &event);
}

static void hear(void *context, const struct engine_event *event)
{
        struct templating *t = context;
        AUTO_STRBUF struct strbuf text = { 0 };

        if (strcmp(event->kind, "stderr") == 0) {
                mapper_feed(&t->events, event->data, event->length, &text);
                pass_event(t, event, &text);
                return;
        }
        if (strcmp(event->kind, "execution.complete") == 0) {
                mapper_end(&t->events, &text);
                pass_event(t, event, &text);
        }
        t->outer->event(t->outer->context, event);
}

/* Waits until the caller's descriptor takes something; false when nobody waits any more. */
static bool can_write(const struct templating *t, int target)
{
        struct pollfd slots[] = { { .fd = target, .events = POLLOUT },
                                  { .fd = t->outer->cancel_fd, .events = POLLIN } };

        while (poll(slots, 2, -1) < 0)
                if (errno != EINTR)
                        return false;
        return slots[0].revents != 0;
}

static bool write_out(const struct templating *t, int target, const struct strbuf *text)
{
        size_t done = 0;

        while (done < text->length) {
                size_t left = text->length - done;
                ssize_t n;

                if (!can_write(t, target))
                        return false;
                n = write(target, text->data + done, left < PIPE_BUF ? left : PIPE_BUF);
                if (n < 0 && errno != EINTR && errno != EAGAIN)
                        return false;
                done += n > 0 ? (size_t)n : 0;
        }
        return true;
}

static void *pass_on(void *argument)
{
        struct templating *t = argument;
        int target = t->outer->request->output_fds[2];
        char chunk[CHUNK];
        bool goes_on = true;

        while (goes_on) {
                AUTO_STRBUF struct strbuf text = { 0 };
                ssize_t n = read(t->pipe_fds[0], chunk, sizeof(chunk));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n > 0)
                        mapper_feed(&t->passed, chunk, (size_t)n, &text);
                else
                        mapper_end(&t->passed, &text);
                goes_on = write_out(t, target, &text) && n > 0 && !text.failed;
        }
        fd_close(fd_take(&t->pipe_fds[0])); /* a reader that is gone is gone for the monitor too */
        return NULL;
}

/* Signals are the caller's business, and must find its own threads. */
static int start_thread(struct templating *t, struct error *err)
{
        sigset_t all, before;
        int r;

        if (pipe2(t->pipe_fds, O_CLOEXEC) < 0)
                return error_set_errno(err, "make a pipe");
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&t->thread, NULL, pass_on, t);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r != 0)
                return error_set(err, SBX_ESYSTEM, "start a thread: %s", strerror(r));
        t->has_thread = true;
        t->request.output_fds[2] = t->pipe_fds[1];
        return 0;
}

static void join_thread(struct templating *t)
{
        fd_close(fd_take(&t->pipe_fds[1])); /* the end, for the thread */
        if (t->has_thread)
                (void)pthread_join(t->thread, NULL); /* ours, and joined once */
        t->has_thread = false;
}

/* ---- begin and end ---- */

/* What goes out passes by us. */
static int watch_output(struct templating *t, struct error *err)
{
        const struct language *language = t->filled->language;

        if (!language || !*language->file)
                return 0; /* the pipeline finds out, or there are no lines to speak of */
        mapper_init(&t->events, &t->filled->expansion, language->file, language->syntax_errors);
        mapper_init(&t->passed, &t->filled->expansion, language->file, language->syntax_errors);
        t->request = *t->outer->request;
        t->order.request = &t->request;
        if (t->outer->event) {
                t->order.event = hear;
                t->order.context = t;
        }
        return t->request.output_fds[2] >= 0 ? start_thread(t, err) : 0;
}

int templating_begin(struct templating *t, struct engine *engine, const struct engine_order *order,
                     struct error *err)
{
        int r = 0;

        *t = (struct templating){ .order = *order,
                                  .outer = order,
                                  .code = order->program ? order->program->code : order->request,
                                  .pipe_fds = { -1, -1 } };
        if (order->program) {
                t->filled = order->program->filled;
        } else if (order->template) {
                t->own = mem_alloc(sizeof(*t->own));
                r = t->own ? fill(t->own, engine, order, err) : error_set_nomem(err);
                t->filled = t->own;
                t->code = t->own ? &t->own->request : NULL;
        }
        return r == 0 && t->filled ? watch_output(t, err) : r;
}

static int map_kept(const struct filled *filled, struct strbuf *kept, struct error *err)
{
        AUTO_STRBUF struct strbuf text = { 0 };
        struct line_mapper mapper;

        if (kept->length == 0)
                return 0;
        mapper_init(&mapper, &filled->expansion, filled->language->file,
                    filled->language->syntax_errors);
        mapper_feed(&mapper, kept->data, kept->length, &text);
        mapper_end(&mapper, &text);
        mapper_done(&mapper);
        if (text.failed)
                return error_set_nomem(err);
        strbuf_done(kept);
        *kept = text;
        text = (struct strbuf){ 0 };
        return 0;
}

int templating_finish(struct templating *t, struct result *result, struct error *err)
{
        struct strbuf *kept[] = { &result->compile.out.kept, &result->compile.err.kept,
                                  &result->run.err.kept };
        int r = 0;

        join_thread(t);
        if (!t->filled || !t->filled->language)
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(kept) && r == 0; i++)
                r = map_kept(t->filled, kept[i], err);
        result->template_name = mem_strdup(t->filled->expansion.template->name);
        result->template_code_line = expansion_code_line(&t->filled->expansion);
        result->template_lines = t->filled->expansion.lines;
        return r == 0 && !result->template_name ? error_set_nomem(err) : r;
}

void templating_end(struct templating *t)
{
        join_thread(t);
        fd_close(t->pipe_fds[0]);
        mapper_done(&t->events);
        mapper_done(&t->passed);
        filled_free(t->own);
}
