/* Runs a fuzz target over files and folders of files: the corpus as an ordinary test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Replays one file; the number replayed, or -1. */
static int replay_file(const char *path, size_t size)
{
        FILE *file = fopen(path, "rbe");
        uint8_t *data =
                malloc(size ? size : 1); /* exactly so large, so that a sanitizer sees the end */
        int r = -1;

        if (file && data && fread(data, 1, size, file) == size) {
                (void)LLVMFuzzerTestOneInput(data, size);
                r = 1;
        } else {
                (void)fprintf(stderr, "replay: cannot read '%s'\n", path);
        }
        free(data);
        if (file)
                (void)fclose(file);
        return r;
}

static int replay(const char *path);

static int replay_folder(const char *path)
{
        DIR *folder = opendir(path);
        struct dirent *entry;
        int count = 0;

        while (folder && count >= 0 && (entry = readdir(folder)) != NULL) {
                char child[4096];
                int n;

                if (entry->d_name[0] == '.')
                        continue;
                if (snprintf(child, sizeof(child), "%s/%s", path, entry->d_name) >=
                    (int)sizeof(child))
                        n = -1;
                else
                        n = replay(child);
                count = n < 0 ? -1 : count + n;
        }
        if (folder)
                (void)closedir(folder);
        return folder ? count : -1;
}

static int replay(const char *path)
{
        struct stat st;

        if (stat(path, &st) < 0) {
                perror(path);
                return -1;
        }
        return S_ISDIR(st.st_mode) ? replay_folder(path) : replay_file(path, (size_t)st.st_size);
}

int main(int argc, char **argv)
{
        int total = 0;

        for (int i = 1; i < argc; i++) {
                int n = replay(argv[i]);

                if (n < 0)
                        return 1;
                total += n;
        }
        (void)printf("replayed %d inputs\n", total);
        return total > 0 ? 0 : 1; /* a corpus that is not there is a failure */
}
