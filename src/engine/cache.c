#include "engine/cache.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The entry: head, description (files, what the compiler said), bytes of the files. */
struct head {
        char magic[8];
        uint64_t checksum[2]; /* of all that follows it */
        uint64_t description; /* bytes of it */
        uint64_t bytes;       /* of the files */
};

static const char magic[8] = "sbxcc\0\0\1";
static const char folder_name[] = "compiled";

enum { ENTRY_MOST = 64 << 20, TEXT_MOST = 1 << 20 };

static uint64_t span_after(const struct head *head)
{
        return sizeof(*head) + head->description + head->bytes;
}

static void checksum(const void *entry, uint64_t length, uint64_t ret_sum[2])
{
        size_t skip = offsetof(struct head, description);
        XXH128_hash_t sum = XXH3_128bits((const char *)entry + skip, length - skip);

        ret_sum[0] = sum.low64;
        ret_sum[1] = sum.high64;
}

void cache_entry_done(struct cache_entry *entry)
{
        bundle_done(&entry->files);
        strbuf_done(&entry->out);
        strbuf_done(&entry->err);
}

static int open_folder(const char *directory, bool make)
{
        AUTO_CLOSE int top = -1;

        if (!directory)
                return -1;
        if (make)
                folder_make(directory);
        top = folder_open(directory);
        return folder_open_below(top, folder_name);
}

/* ---- reading ---- */

struct cursor {
        const char *next;
        uint64_t left;
        bool fault;
};

static const void *take(struct cursor *cursor, uint64_t length)
{
        const void *bytes = cursor->next;

        if (cursor->fault || length > cursor->left) {
                cursor->fault = true;
                return NULL;
        }
        cursor->next += length;
        cursor->left -= length;
        return bytes;
}

static uint64_t take_number(struct cursor *cursor)
{
        const void *bytes = take(cursor, sizeof(uint64_t));
        uint64_t number = 0;

        if (bytes)
                memcpy(&number, bytes, sizeof(number));
        return number;
}

static void take_text(struct cursor *cursor, struct strbuf *ret_text)
{
        uint64_t length = take_number(cursor);
        const void *bytes = take(cursor, length);

        if (bytes)
                strbuf_add(ret_text, bytes, length);
        cursor->fault |= ret_text->failed;
}

/* The files of the description, as parts of the memory file that holds the whole entry. */
static bool take_files(struct cursor *cursor, const struct head *head, struct bundle *bundle)
{
        uint64_t count = take_number(cursor), start = sizeof(*head) + head->description;

        if (count > BUNDLE_FILES_MAX)
                return false;
        bundle->files = mem_alloc((size_t)(count ? count : 1) * sizeof(*bundle->files));
        if (!bundle->files)
                return false;
        bundle->capacity = (size_t)count;
        for (; bundle->count < count && !cursor->fault; bundle->count++) {
                struct bundle_file *file = &bundle->files[bundle->count];
                AUTO_STRBUF struct strbuf path = { 0 };

                take_text(cursor, &path);
                file->mode = (uint32_t)take_number(cursor);
                file->offset = take_number(cursor);
                file->length = take_number(cursor);
                if (cursor->fault || !path.data || bundle_refuse_path(path.data) ||
                    file->offset > head->bytes || file->length > head->bytes - file->offset)
                        return false;
                file->offset += start;
                file->path = strbuf_take(&path);
        }
        bundle->bytes = start + head->bytes;
        return !cursor->fault;
}

static bool understand(const char *bytes, uint64_t length, struct cache_entry *entry)
{
        struct head head;
        struct cursor cursor;
        uint64_t sum[2];

        if (length < sizeof(head))
                return false;
        memcpy(&head, bytes, sizeof(head));
        if (memcmp(head.magic, magic, sizeof(magic)) != 0 || head.description > length ||
            head.bytes > length || span_after(&head) != length)
                return false;
        checksum(bytes, length, sum);
        if (memcmp(sum, head.checksum, sizeof(sum)) != 0)
                return false;
        cursor = (struct cursor){ bytes + sizeof(head), head.description, false };
        take_text(&cursor, &entry->out);
        take_text(&cursor, &entry->err);
        return take_files(&cursor, &head, &entry->files) && cursor.left == 0;
}

/* A copy that nobody can change any more: what is checked is what is run. */
static bool read_entry(int fd, struct cache_entry *entry)
{
        struct stat st;
        off_t offset = 0;
        void *bytes;
        bool good;

        if (fstat(fd, &st) < 0 || st.st_size > ENTRY_MOST + (1 << 24))
                return false;
        entry->files.fd = memfd_create("cached", MFD_CLOEXEC);
        if (entry->files.fd < 0)
                return false;
        while (offset < st.st_size)
                if (sendfile(entry->files.fd, fd, &offset, (size_t)(st.st_size - offset)) <= 0)
                        return false;
        bytes = mmap(NULL, (size_t)st.st_size + 1, PROT_READ, MAP_PRIVATE | MAP_POPULATE,
                     entry->files.fd, 0);
        if (bytes == MAP_FAILED)
                return false;
        good = understand(bytes, (uint64_t)st.st_size, entry);
        (void)munmap(bytes, (size_t)st.st_size + 1);
        return good;
}

bool cache_get(const char *directory, const char key[HASH_TEXT_MAX], struct cache_entry *ret_entry)
{
        AUTO_CLOSE int folder = open_folder(directory, false);
        AUTO_CLOSE int fd =
                folder < 0 ? -1
                           : openat(folder, key, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        *ret_entry = (struct cache_entry){ 0 };
        bundle_init(&ret_entry->files);
        if (fd < 0)
                return false;
        if (folder_is_own(fd, S_IFREG) && read_entry(fd, ret_entry)) {
                (void)futimens(fd, NULL); /* used now; if that cannot be noted, it goes earlier */
                return true;
        }
        cache_entry_done(ret_entry);
        (void)unlinkat(folder, key, 0);
        return false;
}

/* ---- writing ---- */

static void put_number(struct strbuf *out, uint64_t number)
{
        strbuf_add(out, &number, sizeof(number));
}

static void put_text(struct strbuf *out, const void *text, size_t length)
{
        put_number(out, length);
        strbuf_add(out, text ? text : "", length);
}

static void describe(const struct cache_entry *entry, struct strbuf *out)
{
        put_text(out, entry->out.data, entry->out.length);
        put_text(out, entry->err.data, entry->err.length);
        put_number(out, entry->files.count);
        for (size_t i = 0; i < entry->files.count; i++) {
                const struct bundle_file *file = &entry->files.files[i];

                put_text(out, file->path, strlen(file->path));
                put_number(out, file->mode);
                put_number(out, file->offset);
                put_number(out, file->length);
        }
}

/* The whole entry in memory: the checksum stands before what it is of. */
static bool compose(const struct cache_entry *entry, struct strbuf *out)
{
        AUTO_STRBUF struct strbuf description = { 0 };
        struct head head = { .bytes = entry->files.bytes };
        void *bytes;

        describe(entry, &description);
        if (description.failed || entry->files.bytes > ENTRY_MOST)
                return false;
        memcpy(head.magic, magic, sizeof(magic));
        head.description = description.length;
        strbuf_add(out, &head, sizeof(head));
        strbuf_add(out, description.data, description.length);
        if (head.bytes > 0) {
                bytes = mmap(NULL, (size_t)head.bytes, PROT_READ, MAP_PRIVATE, entry->files.fd, 0);
                if (bytes == MAP_FAILED)
                        return false;
                strbuf_add(out, bytes, (size_t)head.bytes);
                (void)munmap(bytes, (size_t)head.bytes);
        }
        if (out->failed)
                return false;
        checksum(out->data, out->length, head.checksum);
        memcpy(out->data, &head, sizeof(head));
        return true;
}

static void write_entry(int folder, const char *key, const struct strbuf *text)
{
        char id[CLOCK_ULID_MAX], name[64];
        AUTO_CLOSE int fd = -1;

        if (clock_ulid(id) < 0)
                return;
        (void)snprintf(name, sizeof(name), "new.%s", id);
        fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return;
        if (fd_write_all(fd, text->data, text->length) < 0 ||
            renameat(folder, name, folder, key) < 0)
                (void)unlinkat(folder, name, 0);
}

void cache_put(const char *directory, const char key[HASH_TEXT_MAX],
               const struct cache_entry *entry, uint64_t most)
{
        AUTO_CLOSE int folder = open_folder(directory, true);
        AUTO_STRBUF struct strbuf text = { 0 };

        if (folder < 0 || entry->out.length > TEXT_MOST || entry->err.length > TEXT_MOST ||
            !compose(entry, &text) || text.length > most)
                return;
        write_entry(folder, key, &text);
        cache_trim(folder, most);
}
