#include "plan/plan.h"

#include <string.h>

static void put_u32(struct strbuf *out, uint32_t value)
{
        strbuf_add(out, &value, sizeof(value));
}

static void put_u64(struct strbuf *out, uint64_t value)
{
        strbuf_add(out, &value, sizeof(value));
}

static void put_bytes(struct strbuf *out, const void *data, uint32_t length)
{
        put_u32(out, length);
        strbuf_add(out, data, length);
        strbuf_add(out, "", 1);
}

static void put_string(struct strbuf *out, const char *text)
{
        put_bytes(out, text, (uint32_t)strlen(text));
}

static void put_list(struct strbuf *out, const char **items, uint32_t count)
{
        put_u32(out, count);
        for (uint32_t i = 0; i < count; i++)
                put_string(out, items[i]);
}

void plan_encode(const struct plan *plan, struct strbuf *out)
{
        put_u32(out, PLAN_MAGIC);
#define U32(field) put_u32(out, plan->field);
#define U64(field) put_u64(out, plan->field);
#define STR(field) put_string(out, plan->field);
#include "plan/plan.def"
#undef U32
#undef U64
#undef STR
        put_u32(out, plan->mount_count);
        for (uint32_t i = 0; i < plan->mount_count; i++) {
                put_u32(out, plan->mounts[i].kind);
                put_string(out, plan->mounts[i].source);
                put_string(out, plan->mounts[i].target);
        }
        put_u32(out, plan->file_count);
        for (uint32_t i = 0; i < plan->file_count; i++) {
                put_string(out, plan->files[i].path);
                put_u32(out, plan->files[i].mode);
                put_u32(out, plan->files[i].by_guest);
                put_u32(out, plan->files[i].fd_number);
                put_u64(out, plan->files[i].offset);
                put_u64(out, plan->files[i].size);
                put_bytes(out, plan->files[i].data, plan->files[i].length);
        }
        put_list(out, plan->arguments, plan->argument_count);
        put_list(out, plan->environment, plan->environment_count);
}
