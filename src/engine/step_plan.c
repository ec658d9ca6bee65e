/* What the plan of a step is made from: which command, which files, and where they are put. */
#include "engine/passage.h"

/* Where a project stands: beside what the compiler makes, or where the program starts, as if one
 * had gone into its folder. A workspace that is kept is not filled with it. */
static const char *place_of_sources(const struct passage *passage, const struct step_order *order)
{
        if (!passage->is_project || (!order->build && passage->workspace))
                return "/code";
        return "/workspace";
}

static void add_bundle(struct plan_input *input, struct step_files *files,
                       const struct bundle *bundle, const char *place)
{
        if (bundle->count == 0)
                return;
        files->fds[files->count++] = bundle->fd;
        input->bundles[input->bundle_count++] =
                (struct plan_bundle){ bundle, place, (uint32_t)files->count };
}

static void add_files(const struct passage *passage, const struct step_order *order,
                      struct plan_input *input, struct step_files *files)
{
        const struct request *request = passage->order->request;
        bool compiled = !order->build && passage->program;

        if (order->step == PLAN_STEP_PREPARE)
                return; /* the toolchain alone */
        if (order->step == PLAN_STEP_DEPS) {
                add_bundle(input, files, &passage->deps.files, "/code");
                add_bundle(input, files, &passage->deps.copies, "");
                files->fds[files->count++] = passage->deps.gateway.socket;
                input->proxy_port = GATEWAY_PORT;
                input->proxy_fd = (uint32_t)files->count;
                return; /* the code has no part in it */
        }
        input->has_program = !passage->is_project && !compiled;
        if (input->has_program && passage->program_fd >= 0)
                files->fds[files->count++] = passage->program_fd;
        /* Beside a compiled program the sources are data, if anything. */
        if (passage->is_project && !(compiled && passage->workspace))
                add_bundle(input, files, &passage->code->sources, input->source_place);
        if (compiled)
                add_bundle(input, files, passage->program, "/code");
        else
                add_bundle(input, files, &passage->package, "/code");
        if (!order->build)
                add_bundle(input, files, &request->inputs, "/workspace");
}

static const char *const *run_command(const struct passage *passage)
{
        const struct language *language = passage->language;

        if (passage->module)
                return language->project.modules.run;
        return passage->is_project && language->project.run[0] ? language->project.run
                                                               : language->run;
}

/* Dependencies: how they are installed, or where they are. They may need a compiler's command of
 * their own; that of a project knows them. */
static void describe_deps(const struct passage *passage, const struct step_order *order,
                          struct plan_input *input)
{
        const struct language *language = passage->language;

        if (order->step == PLAN_STEP_DEPS) {
                input->extra_env = &passage->deps.env;
                input->extra_paths = &passage->deps.paths;
                return;
        }
        input->deps = passage->deps.entry.path;
        if (input->deps && order->step == PLAN_STEP_COMPILE && !passage->is_project &&
            language->deps.compile[0])
                input->command = language->deps.compile;
}

/* How an interpreter, or a compiler, may stand ready for this step: where it is started in the
 * plain way. */
static const struct language_park *park_of(const struct passage *passage,
                                           const struct step_order *order)
{
        const struct language *language = passage->language;
        bool compiles = order->build == &language->compile && !passage->deps.entry.path;
        bool runs = order->step == PLAN_STEP_RUN &&
                    (passage->module || run_command(passage) == language->run);
        const struct language_park *park = compiles ? &language->compile.park : &language->park;
        bool has_arguments = passage->order->request->arguments.count > 0;
        /* Whoever brings a copy is a process too, for a moment. */
        bool has_room = order->limits->processes >= 2;

        if ((!compiles && !runs) || passage->backend != &backend_container ||
            !engine_is_warm(passage->engine) || passage->order->request->no_warm)
                return NULL;
        if (!park->command[0] || !has_room || (park->no_args && has_arguments))
                return NULL;
        return park;
}

void step_describe(const struct passage *passage, const struct step_order *order,
                   const char *scratch, struct plan_input *ret_input, struct step_files *ret_files)
{
        const struct language_compile *build = build_of(passage);
        bool container = passage->backend == &backend_container;

        *ret_input = (struct plan_input){
                .kind = passage->backend->kind,
                .step = order->step,
                .policy = &passage->policy,
                .limits = order->limits,
                .language = passage->language,
                .build = order->build,
                .tool = passage->tool.path,
                .runtime = passage->tool.runtime,
                .command = order->build ? order->build->command : run_command(passage),
                .source_place = place_of_sources(passage, order),
                .file = passage->is_project ? passage->entry : passage->language->file,
                .module = order->step == PLAN_STEP_RUN ? passage->module : NULL,
                .sources = &passage->sources,
                .output = build->output ? build->output : "",
                .prepared = passage->is_prepared ? passage->prepared_path : NULL,
                .self_contained = passage->is_static,
                .arguments = &passage->order->request->arguments,
                .scratch = scratch,
                .resolver = order->build ? NULL : passage->resolver,
                .program_data = passage->program_data,
                .program_path = container && !engine_is_warm(passage->engine)
                                        ? passage->program_path
                                        : NULL,
                .program_bytes = passage->program_bytes,
        };
        ret_input->park = park_of(passage, order);
        describe_deps(passage, order, ret_input);
        add_files(passage, order, ret_input, ret_files);
        if (!ret_input->has_program) {
                ret_input->program_path = NULL;
                ret_input->program_bytes = 0;
        }
}
