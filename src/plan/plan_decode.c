/*
 * Decoding, in the helper: no allocation, every length checked against what is left, every string
 * against its terminator. The first fault stops everything and names itself.
 */
#include "plan/plan.h"

#include <string.h>
#include <sys/stat.h>

struct cursor {
        const char *next;
        size_t left;
        char *arena;
        size_t arena_left;
        const char *fault; /* NULL while all is well */
};

static void fail(struct cursor *cursor, const char *fault)
{
        if (!cursor->fault)
                cursor->fault = fault;
        cursor->left = 0;
}

static const char *take(struct cursor *cursor, size_t length)
{
        const char *start = cursor->next;

        if (cursor->fault || length > cursor->left) {
                fail(cursor, "it is cut short");
                return NULL;
        }
        cursor->next += length;
        cursor->left -= length;
        return start;
}

static uint32_t get_u32(struct cursor *cursor)
{
        uint32_t value = 0;
        const char *bytes = take(cursor, sizeof(value));

        if (bytes)
                memcpy(&value, bytes, sizeof(value));
        return value;
}

static uint64_t get_u64(struct cursor *cursor)
{
        uint64_t value = 0;
        const char *bytes = take(cursor, sizeof(value));

        if (bytes)
                memcpy(&value, bytes, sizeof(value));
        return value;
}

static const char *get_bytes(struct cursor *cursor, uint32_t *ret_length)
{
        uint32_t length = get_u32(cursor);
        const char *bytes = take(cursor, (size_t)length + 1);

        *ret_length = 0;
        if (!bytes)
                return "";
        if (bytes[length] != '\0') {
                fail(cursor, "a string is not terminated");
                return "";
        }
        *ret_length = length;
        return bytes;
}

static const char *get_string(struct cursor *cursor)
{
        uint32_t length;
        const char *text = get_bytes(cursor, &length);

        if (!cursor->fault && strlen(text) != length)
                fail(cursor, "a string holds a NUL byte");
        return text;
}

static const char *get_path(struct cursor *cursor)
{
        const char *path = get_string(cursor);
        size_t length = strlen(path);

        if (!cursor->fault && (path[0] != '/' || strstr(path, "/../") || length >= 4096 ||
                               (length >= 3 && strcmp(path + length - 3, "/..") == 0)))
                fail(cursor, "a path is not absolute and plain");
        return path;
}

static void *get_array(struct cursor *cursor, uint32_t count, size_t item)
{
        size_t size = (size_t)count * item;
        void *array = cursor->arena;

        if (cursor->fault || count > PLAN_LIST_MAX || size > cursor->arena_left) {
                fail(cursor, "a list is too long");
                return NULL;
        }
        size = (size + 7) & ~(size_t)7;
        cursor->arena += size;
        cursor->arena_left -= size < cursor->arena_left ? size : cursor->arena_left;
        return array;
}

static const char **get_list(struct cursor *cursor, uint32_t *ret_count)
{
        uint32_t count = get_u32(cursor);
        /* One more, for the NULL at the end; a list without room for it is too long. */
        const char **items =
                get_array(cursor, count < PLAN_LIST_MAX ? count + 1 : UINT32_MAX, sizeof(*items));

        if (!items)
                return NULL;
        for (uint32_t i = 0; i < count; i++)
                items[i] = get_string(cursor);
        items[count] = NULL;
        *ret_count = count;
        return items;
}

static void get_mounts(struct cursor *cursor, struct plan *plan)
{
        uint32_t count = get_u32(cursor);

        plan->mounts = get_array(cursor, count, sizeof(*plan->mounts));
        for (uint32_t i = 0; i < count && !cursor->fault; i++) {
                struct plan_mount *mount = &plan->mounts[i];

                mount->kind = get_u32(cursor);
                mount->source = get_path(cursor);
                mount->target = get_path(cursor);
                if (mount->kind >= PLAN_MOUNT_KINDS)
                        fail(cursor, "a mount is of no known kind");
        }
        plan->mount_count = count;
}

static void get_files(struct cursor *cursor, struct plan *plan)
{
        uint32_t count = get_u32(cursor);

        plan->files = get_array(cursor, count, sizeof(*plan->files));
        for (uint32_t i = 0; i < count && !cursor->fault; i++) {
                struct plan_file *file = &plan->files[i];

                file->path = get_path(cursor);
                file->mode = get_u32(cursor);
                file->by_guest = get_u32(cursor);
                file->fd_number = get_u32(cursor);
                file->offset = get_u64(cursor);
                file->size = get_u64(cursor);
                file->data = get_bytes(cursor, &file->length);
                if ((file->mode & ~0777u) != 0 && (file->mode & ~0777u) != S_IFLNK)
                        fail(cursor, "a file has an impossible mode");
                if (file->offset > INT64_MAX || file->size > INT64_MAX - file->offset)
                        fail(cursor, "a file has an impossible size");
        }
        plan->file_count = count;
}

size_t plan_arena_size(size_t length)
{
        /* The smallest encoded item is a string of five bytes, kept as a pointer of eight; a mount
         * or file is at most 64 bytes for 34 encoded ones. Rounding is in the constant. */
        return length * 4 + 256;
}

const char *plan_decode(const void *data, size_t length, void *arena, size_t arena_size,
                        struct plan *ret_plan)
{
        struct cursor cursor = {
                .next = data, .left = length, .arena = arena, .arena_left = arena_size
        };
        struct plan plan = { 0 };

        if (length > PLAN_BYTES_MAX)
                return "it is too large";
        if (get_u32(&cursor) != PLAN_MAGIC)
                return "it is not a plan of this version";
#define U32(field) plan.field = get_u32(&cursor);
#define U64(field) plan.field = get_u64(&cursor);
#define STR(field) plan.field = get_string(&cursor);
#include "plan/plan.def"
#undef U32
#undef U64
#undef STR
        get_mounts(&cursor, &plan);
        get_files(&cursor, &plan);
        plan.arguments = get_list(&cursor, &plan.argument_count);
        plan.environment = get_list(&cursor, &plan.environment_count);
        if (!cursor.fault && cursor.left)
                fail(&cursor, "bytes are left over");
        if (!cursor.fault && (plan.kind > PLAN_LOCAL || plan.network > PLAN_NETWORK_HOST))
                fail(&cursor, "a choice is of no known kind");
        if (!cursor.fault && plan.listener_port &&
            (plan.listener_port > 65535 || plan.network != PLAN_NETWORK_LOCALHOST))
                fail(&cursor, "a proxy listens where it cannot");
        if (!cursor.fault && plan.argument_count == 0)
                fail(&cursor, "there is nothing to run");
        if (cursor.fault)
                return cursor.fault;
        *ret_plan = plan;
        return NULL;
}
