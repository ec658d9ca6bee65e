/*
 * sandbox-analyze: reads foreign source and says what is in it.
 *
 * Theory of operation. Parsers of nine languages, most of them made by a generator, and their
 * hand-written scanners meet hostile text here; so they are in a process of their own. The engine
 * starts it with one socket, over which two memory files come: the source, and an order with the
 * language and the rules. Both are mapped, then the process gives up everything but computing and
 * writing to that socket (confine.c), and only then reads a byte of either. It writes one report
 * and ends. Whatever else happens, a crash, a loop, a flood, ends it, and is told by the engine as
 * an analysis that was skipped. When the engine goes, the socket and the parent-death signal end it
 * too.
 */
#include "analysis/analysis.h"
#include "analysis/confine.h"
#include "analysis/pool.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/message.h"
#include "base/str.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SETS_MAX = 256 };

struct input {
        const char *source, *order;
        struct analyze_order lengths;
};

/* What user's rules become; all of it lives until the end of the process. */
struct further {
        struct rule_set sets[SETS_MAX + 1];
        size_t count;
};

static const char *map_file(int fd, size_t length)
{
        void *mapped = mmap(NULL, length ? length : 1, PROT_READ, MAP_PRIVATE, fd, 0);

        return mapped == MAP_FAILED ? NULL : mapped;
}

static int receive(struct input *ret_input)
{
        int fds[ANALYZE_FDS];
        size_t count = 0;
        struct analyze_order *lengths = &ret_input->lengths;

        if (message_receive(ANALYZE_SOCKET, 0, lengths, sizeof(*lengths), fds, ANALYZE_FDS,
                            &count) != 1 ||
            count != ANALYZE_FDS || lengths->magic != ANALYZE_MAGIC ||
            lengths->source_length > ANALYZE_SOURCE_MAX ||
            lengths->order_length > ANALYZE_ORDER_MAX)
                return -1;
        ret_input->source = map_file(fds[0], lengths->source_length);
        ret_input->order = map_file(fds[1], lengths->order_length);
        if (!ret_input->source || !ret_input->order)
                return -1;
        /* Nothing but the socket stays open. */
        (void)close(0);
        (void)close(1);
        (void)close(2);
        return syscall(SYS_close_range, ANALYZE_SOCKET + 1, ~0u, 0) == 0 ? 0 : -1;
}

/* A list of the order as the analysis takes it, or NULL when out of memory. */
static const char **list_of(const json_t *array)
{
        size_t count = json_array_size(array);
        const char **list = mem_resize(NULL, count + 1, sizeof(*list));

        for (size_t i = 0; list && i < count; i++)
                list[i] = json_string_value(json_array_get(array, i));
        if (list)
                list[count] = NULL;
        return list;
}

static int load_set(const json_t *item, struct further *further, struct error *err)
{
        const char *name = json_string_value(json_object_get(item, "name"));
        const char *language = json_string_value(json_object_get(item, "language"));
        const json_t *yaml = json_object_get(item, "yaml");
        struct rules_loaded *loaded = NULL;
        struct rule_set *set = &further->sets[further->count];
        int r;

        if (!name || !language || !json_is_string(yaml) || further->count >= SETS_MAX)
                return error_set(err, SBX_EINVAL, "more than %d files of rules", SETS_MAX);
        r = rules_load_yaml(json_string_value(yaml), json_string_length(yaml),
                            json_string_value(json_object_get(item, "file")), &loaded, err);
        if (r < 0)
                return r;
        set->language = language;
        set->name = name;
        set->rules = rules_loaded_list(loaded, &set->count);
        set->queries = json_string_value(json_object_get(item, "queries"));
        further->count++;
        return 0;
}

/* One report per file, each with the file's name. */
static json_t *analyse_files(const struct input *input, const json_t *order, const char *language,
                             struct analysis_rules *rules, struct error *err)
{
        const json_t *files = json_object_get(order, "files");
        json_t *reports = json_array();

        for (size_t i = 0; i < json_array_size(files); i++) {
                const json_t *file = json_array_get(files, i);
                json_int_t offset = json_integer_value(json_object_get(file, "offset"));
                json_int_t length = json_integer_value(json_object_get(file, "length"));
                json_t *report;

                if (offset < 0 || length < 0 || offset > input->lengths.source_length ||
                    length >= input->lengths.source_length - offset)
                        return NULL;
                rules->is_last = i + 1 == json_array_size(files);
                report = analysis_run(language, input->source + offset, (size_t)length, rules, err);
                if (!report || json_object_set(report, "file", json_object_get(file, "name")) < 0 ||
                    json_array_append_new(reports, report) < 0)
                        return NULL;
        }
        return json_pack("{s:o}", "files", reports);
}

static json_t *analyse(const struct input *input, const json_t *order, struct error *err)
{
        static const char *const names[RULE_LISTS] = { "imports", "functions", "commands",
                                                       "patterns" };
        static struct further further;
        const json_t *lists = json_object_get(order, "lists");
        const json_t *files = json_object_get(order, "rules");
        const char *language = json_string_value(json_object_get(order, "language"));
        struct analysis_rules rules = { .sets = further.sets };

        for (unsigned i = 0; i < RULE_LISTS; i++) {
                rules.lists[i] = list_of(json_object_get(lists, names[i]));
                if (!rules.lists[i]) {
                        (void)error_set_nomem(err);
                        return NULL;
                }
        }
        rules.named = list_of(json_object_get(order, "named"));
        if (!rules.named) {
                (void)error_set_nomem(err);
                return NULL;
        }
        for (size_t i = 0; i < json_array_size(files); i++)
                if (load_set(json_array_get(files, i), &further, err) < 0)
                        return NULL;
        return language ? analyse_files(input, order, language, &rules, err) : NULL;
}

int main(void)
{
        sigset_t none;
        struct input input = { 0 };
        struct error err = { 0 };
        json_t *order, *report = NULL;
        char *text;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* The engine starts us with all signals blocked; the end of our CPU time is one. */
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        json_object_seed(1); /* else it would ask for randomness later, when it may not */
        if (receive(&input) < 0 || confine_self() < 0)
                return 1;
        pool_use(input.lengths.source_length);
        order = json_loadb(input.order, input.lengths.order_length, 0, NULL);
        if (!order)
                return 1;
        report = analyse(&input, order, &err);
        if (!report)
                report = json_pack("{s:s}", "error", err.message);
        text = report ? json_dumps(report, JSON_COMPACT) : NULL;
        if (!text)
                return 1;
        return fd_write_all(ANALYZE_SOCKET, text, strlen(text)) < 0 ? 1 : 0;
}
