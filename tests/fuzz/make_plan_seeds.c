/*
 * make_plan_seeds FOLDER
 *
 * Writes the seeds of the plan's fuzz target: plans of each kind, and some that are to be refused.
 * The build makes this program and checks that the committed seeds are what it writes.
 */
#include "base/mem.h"
#include "base/str.h"
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

static struct plan smallest(void)
{
        static const char *arguments[] = { "/bin/true" };
        struct plan plan = { .arguments = arguments, .argument_count = 1 };

#define U32(field)
#define U64(field)
#define STR(field) plan.field = "";
#include "plan/plan.def"
#undef U32
#undef U64
#undef STR
        return plan;
}

static int save(const char *folder, const char *name, const struct plan *plan, size_t cut)
{
        AUTO_STRBUF struct strbuf path = { 0 }, bytes = { 0 };
        FILE *file;
        size_t written;

        plan_encode(plan, &bytes);
        strbuf_addf(&path, "%s/%s", folder, name);
        file = path.failed || bytes.failed ? NULL : fopen(path.data, "wbe");
        if (!file)
                return -1;
        written = fwrite(bytes.data, 1, bytes.length - cut, file);
        return fclose(file) == 0 && written == bytes.length - cut ? 0 : -1;
}

int main(int argc, char **argv)
{
        struct plan_mount mounts[] = {
                { PLAN_MOUNT_SYSTEM, "/usr/lib", "/usr/lib" },
                { PLAN_MOUNT_READ, "/srv/data", "/data" },
                { PLAN_MOUNT_WRITE, "/srv/out", "/out" },
        };
        struct plan_file files[] = {
                { .path = "/code/main.py", .mode = 0644, .data = "print(1)\n", .length = 9 },
                { .path = "/code/program", .mode = 0755, .fd_number = 1, .size = 10, .data = "" },
                { .path = "/workspace/in",
                  .mode = 0644,
                  .by_guest = 1,
                  .fd_number = 2,
                  .offset = 3,
                  .size = 4,
                  .data = "" },
        };
        const char *many[] = { "/usr/bin/python3", "/code/main.py", "", "three", "four" };
        struct plan_mount upward = { PLAN_MOUNT_READ, "/a/..", "/b" };
        struct plan plan = smallest();
        int r;

        if (argc != 2)
                return 2;
        r = save(argv[1], "smallest", &plan, 0);
        plan.kind = PLAN_LOCAL;
        plan.scratch = "/tmp/scratch";
        plan.environment = many;
        plan.environment_count = ARRAY_SIZE(many);
        r |= save(argv[1], "local", &plan, 0);
        plan.mounts = mounts;
        plan.mount_count = ARRAY_SIZE(mounts);
        plan.files = files;
        plan.file_count = ARRAY_SIZE(files);
        plan.arguments = many;
        plan.argument_count = ARRAY_SIZE(many);
        r |= save(argv[1], "full", &plan, 0);
        r |= save(argv[1], "cut_short", &plan, 7);
        plan.network = PLAN_NETWORK_HOST + 1;
        r |= save(argv[1], "unknown_network", &plan, 0);
        plan.network = PLAN_NETWORK_HOST;
        files[0].mode = 04755;
        r |= save(argv[1], "set_user_id_file", &plan, 0);
        plan.file_count = 0;
        plan.mounts = &upward;
        plan.mount_count = 1;
        r |= save(argv[1], "path_upward", &plan, 0);
        plan.mount_count = 0;
        plan.argument_count = 0;
        r |= save(argv[1], "nothing_to_run", &plan, 0);
        return r == 0 ? 0 : 1;
}
