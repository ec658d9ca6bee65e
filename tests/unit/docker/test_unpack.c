#include "unit.h"
#include "base/fd.h"
#include "base/tree.h"
#include "docker/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
        const char *name;
        mode_t kind;
        const char *data; /* or what a link leads to */
};

static int make_archive(const struct entry *entries, size_t count)
{
        int fd = memfd_create("archive", MFD_CLOEXEC);
        struct archive *archive = archive_write_new();

        assert_true(fd >= 0);
        archive_write_set_format_ustar(archive);
        archive_write_open_fd(archive, fd);
        for (size_t i = 0; i < count; i++) {
                struct archive_entry *entry = archive_entry_new();
                bool is_file = entries[i].kind == AE_IFREG;

                archive_entry_set_pathname(entry, entries[i].name);
                archive_entry_set_mode(entry, entries[i].kind | 0644);
                archive_entry_set_size(entry, is_file ? (int64_t)strlen(entries[i].data) : 0);
                if (entries[i].kind == AE_IFLNK)
                        archive_entry_set_symlink(entry, entries[i].data);
                if (entries[i].kind == 0)
                        archive_entry_set_hardlink(entry, entries[i].data);
                assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
                if (is_file)
                        archive_write_data(archive, entries[i].data, strlen(entries[i].data));
                archive_entry_free(entry);
        }
        archive_write_free(archive);
        lseek(fd, 0, SEEK_SET);
        return fd;
}

/* Unpacks into a folder of its own; what `look` sees there is the answer. */
static int unpack_all(const struct entry *entries, size_t count, struct unpack *unpack,
                      struct error *err, char folder[32])
{
        AUTO_CLOSE int archive = make_archive(entries, count);
        AUTO_CLOSE int directory = -1;

        strcpy(folder, "/tmp/sbtest-unpack.XXXXXX");
        assert_non_null(mkdtemp(folder));
        directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return unpack_tree(archive, directory, unpack, err);
}

static void files_and_folders_come_out(void **state)
{
        static const struct entry entries[] = {
                { "workspace/", AE_IFDIR, NULL },          { "workspace/a/", AE_IFDIR, NULL },
                { "workspace/a/b.txt", AE_IFREG, "deep" }, { "workspace/new/c", AE_IFREG, "made" },
                { "workspace/link", AE_IFLNK, "/etc" },    { "workspace/link/x", AE_IFREG, "no" },
                { "workspace/hard", 0, "/etc/passwd" },    { "workspace/pipe", AE_IFIFO, NULL },
        };
        struct unpack unpack = { .most = 100 };
        struct error err = { 0 };
        struct stat st;
        char folder[32], path[64], text[16];

        assert_int_equal(unpack_all(entries, 8, &unpack, &err, folder), 0);
        assert_int_equal(unpack.left_out, 3);
        snprintf(path, sizeof(path), "%s/a/b.txt", folder);
        assert_int_equal(fd_read_file_at(AT_FDCWD, path, text, sizeof(text)), 4);
        /* What the link would have led to is a folder of ours. */
        snprintf(path, sizeof(path), "%s/link", folder);
        assert_int_equal(lstat(path, &st), 0);
        assert_true(S_ISDIR(st.st_mode));
        snprintf(path, sizeof(path), "%s/hard", folder);
        assert_int_equal(lstat(path, &st), -1);
        assert_int_equal(tree_remove(folder), 0);
}

static void names_that_lead_out_are_refused(void **state)
{
        static const char *const names[] = { "/etc/x", "../x", "workspace/../../x",
                                             "workspace/a/..", ".." };

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                struct entry entry = { names[i], AE_IFREG, "x" };
                struct unpack unpack = { .most = 100 };
                struct error err = { 0 };
                char folder[32];

                assert_true(unpack_all(&entry, 1, &unpack, &err, folder) < 0);
                assert_non_null(strstr(err.message, "leads out"));
                assert_int_equal(tree_remove(folder), 0);
        }
}

static void more_than_was_allowed_is_refused(void **state)
{
        static const struct entry entries[] = { { "w/a", AE_IFREG, "12345" },
                                                { "w/b", AE_IFREG, "67890" } };
        struct unpack unpack = { .most = 9 };
        struct error err = { 0 };
        char folder[32];

        assert_int_equal(unpack_all(entries, 2, &unpack, &err, folder), SBX_ETOOBIG);
        assert_int_equal(tree_remove(folder), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(files_and_folders_come_out),
                cmocka_unit_test(names_that_lead_out_are_refused),
                cmocka_unit_test(more_than_was_allowed_is_refused),
        };

        return RUN(tests);
}
