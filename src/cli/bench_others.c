/* What other sandboxes want to find before they run anything. */
#include "cli/bench.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What `runc spec` would write, cut down to what the program needs. */
static const char bundle_config[] =
        "{\"ociVersion\":\"1.0.2\",\"hostname\":\"bench\","
        "\"process\":{\"terminal\":false,\"user\":{\"uid\":0,\"gid\":0},\"args\":[\"/hello\"],"
        "\"env\":[\"PATH=/\"],\"cwd\":\"/\",\"noNewPrivileges\":true},"
        "\"root\":{\"path\":\"rootfs\",\"readonly\":true},"
        "\"mounts\":[{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"}],"
        "\"linux\":{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"network\"},{\"type\":\"ipc\"},"
        "{\"type\":\"uts\"},{\"type\":\"mount\"}]}}";

int bench_prepare_bundle(struct bench *bench, const char *tool, struct error *err)
{
        AUTO_CLOSE int directory = open(bench->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (directory < 0)
                return error_set_errno(err, "open '%s'", bench->directory);
        /* runc and crun share one bundle: whoever comes first makes it. */
        if (mkdirat(directory, "bundle", 0755) < 0)
                return errno == EEXIST ? 0 : error_set_errno(err, "make bundle");
        if (mkdirat(directory, "bundle/rootfs", 0755) < 0 ||
            mkdirat(directory, "bundle/rootfs/proc", 0755) < 0)
                return error_set_errno(err, "make bundle");
        r = bench_write(bench, "bundle/config.json", 0644, bundle_config, strlen(bundle_config),
                        err);
        if (r < 0)
                return r;
        return bench_write(bench, "bundle/rootfs/hello", 0755, bench->hello_code,
                           bench->hello_length, err);
}

static int isolate_step(struct bench *bench, const char *tool, const char *step, struct error *err)
{
        const char *const command[] = { "{tool}", step, NULL };
        pid_t pid;
        int r = bench_command(bench, command, tool, BENCH_ALONE, -1, &pid, err);

        return r < 0 ? r : bench_wait(pid, step, err);
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
