/* The words of a plan: paths of its places, commands with their placeholders, the environment. */
#include "plan/build_words.h"

#include <stdio.h>
#include <string.h>

/* What every program finds in its environment before the language and the policy have their say. */
static const char *const common_environment[] = {
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "USER=sandbox",
        "LOGNAME=sandbox",
        "SHELL=/bin/sh",
};

const char *words_keep(struct plan_draft *draft, const char *first, const char *second)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        strbuf_adds(&text, first);
        strbuf_adds(&text, second);
        if (text.failed || strlist_add(&draft->strings, text.data) < 0)
                return NULL;
        return draft->strings.items[draft->strings.count - 1];
}

/* Where code and workspace are: fixed in a container, below the scratch directory in a local run.
 */
const char *words_place(const struct plan_input *input, struct plan_draft *draft, const char *path)
{
        return words_keep(draft, input->kind == PLAN_LOCAL ? input->scratch : "", path);
}

/* Where a step finds what its command names. */
static const char *output_place(const struct plan_input *input)
{
        return input->step == PLAN_STEP_RUN ? "/code" : "/workspace";
}

/* "place/name", a name that ends in a slash without it. */
const char *words_placed(const struct plan_input *input, struct plan_draft *draft,
                         const char *where, const char *name)
{
        AUTO_STRBUF struct strbuf path = { 0 };
        size_t length = strlen(name);

        strbuf_addf(&path, "%s%s%.*s", where, length ? "/" : "",
                    (int)(length && name[length - 1] == '/' ? length - 1 : length), name);
        return path.failed ? NULL : words_place(input, draft, path.data);
}

static const char *mebibytes(struct plan_draft *draft, uint64_t bytes)
{
        char text[32];

        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)(bytes >> 20));
        return words_keep(draft, text, "");
}

/* The directory above the `bin` of the tool. */
static const char *root_of(struct plan_draft *draft, const char *tool)
{
        char path[4096];
        char *slash;

        (void)snprintf(path, sizeof(path), "%s", tool);
        for (int i = 0; i < 2 && (slash = strrchr(path, '/')); i++)
                *slash = '\0';
        return words_keep(draft, path, "");
}

/* What stands for a placeholder; NULL when out of memory, "" where it has no meaning here. */
static const char *meaning(const struct plan_input *input, struct plan_draft *draft,
                           enum language_placeholder id)
{
        uint64_t memory = input->limits->memory_bytes;

        switch (id) {
        case PLACEHOLDER_TOOL:
                return input->tool;
        case PLACEHOLDER_ROOT:
                return root_of(draft, input->tool);
        case PLACEHOLDER_RUNTIME:
                return input->runtime ? input->runtime : "";
        case PLACEHOLDER_RUNTIME_ROOT:
                return root_of(draft, input->runtime ? input->runtime : "");
        case PLACEHOLDER_FILE:
                return words_placed(input, draft, input->source_place, input->file);
        case PLACEHOLDER_DIR:
                return words_placed(input, draft, input->source_place, "");
        case PLACEHOLDER_ENTRY:
                return input->file;
        case PLACEHOLDER_CODE:
                return words_placed(input, draft, "/code", "");
        case PLACEHOLDER_MODULE:
                return input->module ? input->module : "";
        case PLACEHOLDER_OUTPUT:
                return words_placed(input, draft, output_place(input), input->output);
        case PLACEHOLDER_WORKSPACE:
                return words_placed(input, draft, "/workspace", "");
        case PLACEHOLDER_PREPARED:
                if (input->step == PLAN_STEP_PREPARE)
                        return words_placed(input, draft, "/workspace", "");
                return input->kind == PLAN_LOCAL && input->prepared ? input->prepared : "/prepared";
        case PLACEHOLDER_DEPS:
                return input->step == PLAN_STEP_DEPS
                               ? words_placed(input, draft, "/workspace", "deps")
                               : "/deps";
        case PLACEHOLDER_MEMORY_MIB:
                return mebibytes(draft, memory);
        case PLACEHOLDER_HEAP_MIB:
                return mebibytes(draft, memory * input->language->heap_percent / 100);
        case PLACEHOLDER_LAUNCHER:
                return input->park && input->park->launcher ? input->park->launcher : "";
        default:
                return ""; /* a list of words: it stands alone */
        }
}

/* Puts the placeholders' meanings into a word of a command or a value of the environment; braces
 * that are no placeholder stay. */
static int expand(const struct plan_input *input, struct plan_draft *draft, const char *word,
                  struct strbuf *out)
{
        while (*word) {
                size_t plain = strcspn(word, "{"), length;
                enum language_placeholder id;
                const char *text;

                strbuf_add(out, word, plain);
                word += plain;
                length = strcspn(word, "}") + 1;
                id = *word && word[length - 1] ? language_placeholder(word, length)
                                               : PLACEHOLDER_COUNT;
                if (id == PLACEHOLDER_COUNT) {
                        strbuf_add(out, word, *word ? 1 : 0);
                        word += *word ? 1 : 0;
                        continue;
                }
                text = meaning(input, draft, id);
                if (!text)
                        return -1;
                strbuf_adds(out, text);
                word += length;
        }
        return out->failed ? -1 : 0;
}

const char *words_expand(const struct plan_input *input, struct plan_draft *draft, const char *text)
{
        AUTO_STRBUF struct strbuf expanded = { 0 };

        if (expand(input, draft, text, &expanded) < 0)
                return NULL;
        return words_keep(draft, expanded.data ? expanded.data : "", "");
}

static int add_argument(const struct plan_input *input, struct plan_draft *draft, const char *word)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        if (expand(input, draft, word, &text) < 0)
                return -1;
        return strlist_add(&draft->arguments, text.data ? text.data : "");
}

static int add_sources(const struct plan_input *input, struct plan_draft *draft)
{
        for (size_t i = 0; i < input->sources->count; i++) {
                const char *path =
                        words_placed(input, draft, input->source_place, input->sources->items[i]);

                if (!path || strlist_add(&draft->arguments, path) < 0)
                        return -1;
        }
        return 0;
}

static int add_program_arguments(const struct plan_input *input, struct plan_draft *draft)
{
        for (size_t i = 0; i < input->arguments->count; i++)
                if (strlist_add(&draft->arguments, input->arguments->items[i]) < 0)
                        return -1;
        return 0;
}

int words_add_arguments(const struct plan_input *input, struct plan_draft *draft)
{
        bool takes_arguments = input->step == PLAN_STEP_RUN;

        for (const char *const *word = input->command; *word; word++) {
                int r = 0;

                if (str_equal(*word, "{sources}")) {
                        r = add_sources(input, draft);
                } else if (!str_equal(*word, "{args}")) {
                        r = add_argument(input, draft, *word);
                } else if (takes_arguments) {
                        r = add_program_arguments(input, draft);
                        takes_arguments = false;
                }
                if (r < 0)
                        return -1;
        }
        /* A command that does not say where they stand has them last. */
        return takes_arguments ? add_program_arguments(input, draft) : 0;
}

static int add_expanded(const struct plan_input *input, struct plan_draft *draft,
                        const char *const *words, struct strlist *out)
{
        for (; *words; words++) {
                AUTO_STRBUF struct strbuf text = { 0 };

                if (expand(input, draft, *words, &text) < 0 ||
                    strlist_add(out, text.data ? text.data : "") < 0)
                        return -1;
        }
        return 0;
}

/* The language's modules and the policy's. */
static const char *preload(const struct plan_input *input, struct plan_draft *draft)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        for (const char *const *module = input->park->preload; *module; module++)
                strbuf_addf(&text, "%s%s", text.length ? "," : "", *module);
        for (size_t i = 0; i < input->policy->preload.count; i++)
                strbuf_addf(&text, "%s%s", text.length ? "," : "", input->policy->preload.items[i]);
        return text.failed ? NULL : words_keep(draft, text.data ? text.data : "", "");
}

static const char launcher_word[] = "{launcher}";

/* Where the launcher stands in a word of the language's that has no other placeholder; or NULL. */
static const char *launcher_in(const char *word)
{
        const char *place = strstr(word, launcher_word);

        return place && strchr(word, '{') == place && !strchr(place + 1, '{') ? place : NULL;
}

static int add_park_words(const struct plan_input *input, struct plan_draft *draft)
{
        struct plan_park *park = &draft->park;

        for (const char *const *word = input->park->command; *word; word++) {
                const char *one[] = { *word, NULL };
                bool is_launched = park->arguments.count < 64 && launcher_in(*word);

                if (is_launched)
                        park->launched |= UINT64_C(1) << park->arguments.count;
                if (is_launched ? strlist_add(&park->arguments, *word) < 0
                                : add_expanded(input, draft, one, &park->arguments) < 0)
                        return -1;
        }
        return 0;
}

int plan_park_words(const struct plan_park *park, struct strlist *ret_words)
{
        const char *launcher = park->way->launcher ? park->way->launcher : "";

        for (size_t i = 0; i < park->arguments.count; i++) {
                const char *word = park->arguments.items[i];
                AUTO_STRBUF struct strbuf text = { 0 };

                if (i < 64 && park->launched & (UINT64_C(1) << i)) {
                        const char *place = launcher_in(word);

                        strbuf_add(&text, word, (size_t)(place - word));
                        strbuf_adds(&text, launcher);
                        strbuf_adds(&text, place + strlen(launcher_word));
                        word = text.data;
                }
                if (text.failed || strlist_add(ret_words, word) < 0)
                        return -1;
        }
        return 0;
}

int words_add_park(const struct plan_input *input, struct plan_draft *draft)
{
        struct plan_park *park = &draft->park;

        if (!input->park)
                return 0;
        park->way = input->park;
        park->program = words_placed(input, draft, input->source_place, input->file);
        park->preload = preload(input, draft);
        if (!park->program || !park->preload || add_park_words(input, draft) < 0)
                return -1;
        return add_expanded(input, draft, input->park->env, &park->environment);
}

/* Adds "K=V", or replaces the K among the first `known` ones. */
static int set_variable(struct strlist *environment, size_t known, const char *variable)
{
        size_t name = strcspn(variable, "=") + 1;

        for (size_t i = 0; i < known; i++)
                if (strncmp(environment->items[i], variable, name) == 0) {
                        char *copy = mem_strdup(variable);

                        if (!copy)
                                return -1;
                        mem_free(environment->items[i]);
                        environment->items[i] = copy;
                        return 0;
                }
        return strlist_add(environment, variable);
}

static int set_language_variable(const struct plan_input *input, struct plan_draft *draft,
                                 const char *variable)
{
        AUTO_STRBUF struct strbuf text = { 0 };

        if (expand(input, draft, variable, &text) < 0 || !text.data)
                return -1;
        return set_variable(&draft->environment, draft->environment.count,
                            text.data ? text.data : "");
}

/* What the language says, the special over the general. */
static int add_language_environment(const struct plan_input *input, struct plan_draft *draft)
{
        static const char *const none[] = { NULL };
        const struct language *language = input->language;
        const char *const *const lists[] = {
                language->env,
                input->build ? input->build->env : none,
                input->module ? language->project.modules.env : none,
                input->deps ? language->deps.env : none,
        };

        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                for (const char *const *variable = lists[i]; *variable; variable++)
                        if (set_language_variable(input, draft, *variable) < 0)
                                return -1;
        return 0;
}

int words_add_environment(const struct plan_input *input, struct plan_draft *draft)
{
        const char *home = words_place(input, draft, "/workspace"),
                   *temporary = words_place(input, draft, "/tmp");
        const char *variables[2];
        size_t fixed;

        if (!home || !temporary)
                return -1;
        variables[0] = words_keep(draft, "HOME=", home);
        variables[1] = words_keep(draft, "TMPDIR=", temporary);
        if (!variables[0] || !variables[1])
                return -1;
        for (size_t i = 0; i < ARRAY_SIZE(common_environment); i++)
                if (strlist_add(&draft->environment, common_environment[i]) < 0)
                        return -1;
        for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
                if (strlist_add(&draft->environment, variables[i]) < 0)
                        return -1;
        if (add_language_environment(input, draft) < 0)
                return -1;
        for (size_t i = 0; input->extra_env && i < input->extra_env->count; i++)
                if (set_variable(&draft->environment, draft->environment.count,
                                 input->extra_env->items[i]) < 0)
                        return -1;
        /* The policy's are unique among themselves: ten thousand of them meet only the few above.
         */
        fixed = draft->environment.count;
        if (input->step == PLAN_STEP_DEPS)
                return 0; /* they are for the program, and none of a package's business */
        for (size_t i = 0; i < input->policy->env.count; i++)
                if (set_variable(&draft->environment, fixed, input->policy->env.items[i]) < 0)
                        return -1;
        return 0;
}
