/*
 * Archives from a container engine: whatever they hold, nothing but files and folders of a folder
 * comes of them, and no more than is allowed.
 */
#include "base/fd.h"
#include "base/tree.h"
#include "docker/pack.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct unpack unpack = { .most = MOST };
        char folder[] = "/tmp/sbtest-fuzz.XXXXXX", inner[64];
        struct error err = { 0 };
        struct stat st;
        int archive = fd_memfile("archive", data, size), directory;

        if (archive < 0 || !mkdtemp(folder))
                abort();
        (void)snprintf(inner, sizeof(inner), "%s/in", folder);
        if (mkdir(inner, 0700) < 0)
                abort();
        directory = open(inner, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)lseek(archive, 0, SEEK_SET);
        (void)unpack_tree(archive, directory, &unpack, &err);
        fd_close(archive);
        fd_close(directory);
        /* Nothing stands beside the folder that it was put into. */
        if (unpack.bytes > MOST || tree_remove(inner) < 0 || stat(folder, &st) < 0 ||
            rmdir(folder) < 0)
                abort();
        return 0;
}
