/* What other sandboxes want to find before they run anything. */
#include "cli/bench.h"
#include "cli/run.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_MAX = 16384, REMOVAL_TRIES = 200 };

/* What `runc spec` would write, cut down to what the program needs; the arguments come between. */
static const char config_head[] =
        "{\"ociVersion\":\"1.0.2\",\"hostname\":\"bench\","
        "\"process\":{\"terminal\":false,\"user\":{\"uid\":0,\"gid\":0},\"args\":[";
static const char config_tail[] =
        "],\"env\":[\"PATH=/usr/bin\"],\"cwd\":\"/\",\"noNewPrivileges\":true},"
        "\"root\":{\"path\":\"rootfs\",\"readonly\":true},"
        "\"mounts\":[{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},"
        "{\"destination\":\"/usr\",\"type\":\"bind\",\"source\":\"/usr\","
        "\"options\":[\"rbind\",\"ro\"]}],"
        "\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"network\"},{\"type\":\"ipc\"},"
        "{\"type\":\"uts\"},{\"type\":\"mount\"}]}}";

/* A root that has the static program, and where /usr is put, on which the rest points. */
static int make_root(struct bench *bench, int bundle, const char *path, struct error *err)
{
        static const char *const folders[] = { "rootfs", "rootfs/proc", "rootfs/usr", "rootfs/dev",
                                               "rootfs/sys" };
        static const char *const links[] = { "bin", "lib", "lib64" };
        char from[32], to[32], hello[64];

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                if (mkdirat(bundle, folders[i], 0755) < 0)
                        return error_set_errno(err, "make '%s'", folders[i]);
        for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
                (void)snprintf(from, sizeof(from), "usr/%s", links[i]);
                (void)snprintf(to, sizeof(to), "rootfs/%s", links[i]);
                if (symlinkat(from, bundle, to) < 0)
                        return error_set_errno(err, "make '%s'", to);
        }
        (void)snprintf(hello, sizeof(hello), "%s/rootfs/hello", path);
        return bench_write(bench, hello, 0755, bench->hello_code, bench->hello_length, err);
}

/* Whoever comes first makes a bundle for all. */
static int make_bundle(struct bench *bench, const char *path, const char *arguments,
                       struct error *err)
{
        AUTO_CLOSE int directory = open(bench->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        AUTO_CLOSE int bundle = -1;
        AUTO_STRBUF struct strbuf config = { 0 };
        char name[64];
        int r;

        if (directory < 0)
                return error_set_errno(err, "open '%s'", bench->directory);
        if (mkdirat(directory, path, 0755) < 0)
                return errno == EEXIST ? 0 : error_set_errno(err, "make '%s'", path);
        bundle = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (bundle < 0)
                return error_set_errno(err, "open '%s'", path);
        r = make_root(bench, bundle, path, err);
        strbuf_addf(&config, "%s%s%s", config_head, arguments, config_tail);
        if (config.failed)
                return error_set_nomem(err);
        (void)snprintf(name, sizeof(name), "%s/config.json", path);
        return r < 0 ? r : bench_write(bench, name, 0644, config.data, config.length, err);
}

int bench_prepare_bundle(struct bench *bench, const char *tool, struct error *err)
{
        (void)tool;
        return make_bundle(bench, "bundle", "\"/hello\"", err);
}

int bench_prepare_python_bundle(struct bench *bench, const char *tool, struct error *err)
{
        AUTO_STRBUF struct strbuf arguments = { 0 };

        (void)tool;
        strbuf_addf(&arguments, "\"%s\",\"-c\",\"pass\"", bench->python);
        return arguments.failed ? error_set_nomem(err)
                                : make_bundle(bench, "bundle-python", arguments.data, err);
}

static int run_step(struct bench *bench, const char *const *command, const char *tool,
                    struct error *err)
{
        pid_t pid;
        int r = bench_command(bench, command, tool, BENCH_ALONE, -1, &pid, err);

        return r < 0 ? r : bench_wait(pid, command[1], err);
}

int bench_prepare_image(struct bench *bench, const char *tool, struct error *err)
{
        static const char *const pack[] = {
                "/usr/bin/tar", "-C", "{dir}/bundle/rootfs", "-cf", "{dir}/image.tar", ".", NULL
        };
        static const char *const import[] = { "{tool}", "import", "{dir}/image.tar", BENCH_IMAGE,
                                              NULL };
        int r = bench_prepare_bundle(bench, tool, err);

        if (r == 0)
                r = run_step(bench, pack, tool, err);
        return r < 0 ? r : run_step(bench, import, tool, err);
}

void bench_finish_image(struct bench *bench, const char *tool)
{
        static const char *const forget[] = { "{tool}", "image", "rm", BENCH_IMAGE, NULL };

        (void)run_step(bench, forget, tool, NULL); /* nothing can be done about a failure */
}

void bench_finish_pool(struct bench *bench, const char *tool)
{
        sbx_engine_free(bench->warm_engine); /* who wants another makes another */
        bench->warm_engine = NULL;
        bench_await_removal(bench, tool, 0);
        bench_finish_image(bench, tool);
}

int bench_count_containers(struct bench *bench, const char *tool)
{
        static const char *const list[] = { "{tool}",  "ps",       "--all",
                                            "--quiet", "--filter", "label=sandbox-run.owner",
                                            NULL };
        AUTO_CLOSE int fd = memfd_create("containers", MFD_CLOEXEC);
        char text[LIST_MAX];
        int count = 0;
        ssize_t length;
        pid_t pid;

        if (fd < 0 || bench_command(bench, list, tool, BENCH_ALONE, fd, &pid, NULL) < 0 ||
            bench_wait(pid, "ps", NULL) < 0)
                return -1;
        length = pread(fd, text, sizeof(text), 0);
        for (ssize_t i = 0; i < length; i++)
                count += text[i] == '\n';
        return length < 0 ? -1 : count;
}

void bench_await_removal(struct bench *bench, const char *tool, int count)
{
        for (int i = 0; i < REMOVAL_TRIES && count >= 0 && !run_signals_caught(); i++)
                if (bench_count_containers(bench, tool) <= count)
                        return;
}

static int isolate_step(struct bench *bench, const char *tool, const char *step, struct error *err)
{
        const char *const command[] = { "{tool}", step, NULL };

        return run_step(bench, command, tool, err);
}

int bench_prepare_isolate(struct bench *bench, const char *tool, struct error *err)
{
        AUTO_CLOSE int directory = open(bench->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (directory < 0)
                return error_set_errno(err, "open '%s'", bench->directory);
        /* isolate runs the program as another user, who must be able to reach it. */
        if (fchmod(directory, 0755) < 0)
                return error_set_errno(err, "open '%s' to others", bench->directory);
        r = bench_write(bench, "hello", 0755, bench->hello_code, bench->hello_length, err);
        return r < 0 ? r : isolate_step(bench, tool, "--init", err);
}

void bench_finish_isolate(struct bench *bench, const char *tool)
{
        (void)isolate_step(bench, tool, "--cleanup",
                           NULL); /* nothing can be done about a failure */
}
