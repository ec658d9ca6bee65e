/* One program, many modes: the first argument says which. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_numbers(void)
{
        long count = 0, sum = 0, number;

        for (; scanf("%ld", &number) == 1; count++)
                sum += number;
        printf("%ld lines, sum %ld\n", count, sum);
}

static void use_files(void)
{
        static const char *const modes[] = { "w", "a" }, *const words[] = { "one\n", "two\n" };
        char line[16];
        FILE *file;

        for (int i = 0; i < 2; i++) {
                file = fopen("made.txt", modes[i]);
                assert(file);
                fputs(words[i], file);
                fclose(file);
        }
        file = fopen("made.txt", "r");
        assert(file);
        while (fgets(line, sizeof(line), file))
                fputs(line, stdout);
        fclose(file);
}

static void fill_memory(void)
{
        for (;;) {
                char *block = malloc(1 << 20);

                assert(block);
                memset(block, 1, 1 << 20);
        }
}

static int count_characters(const char *text)
{
        int count = 0;

        for (; *text; text++)
                count += (*text & 0xc0) != 0x80;
        return count;
}

int main(int argc, char **argv)
{
        const char *mode = argv[1];

        if (!strcmp(mode, "args"))
                for (int i = 2; i < argc; i++)
                        printf("[%s]\n", argv[i]);
        if (!strcmp(mode, "stdin"))
                read_numbers();
        if (!strcmp(mode, "files"))
                use_files();
        if (!strcmp(mode, "exit"))
                exit(7);
        if (!strcmp(mode, "uncaught"))
                assert(!"deliberate");
        if (!strcmp(mode, "forever"))
                for (volatile int i = 0;; i++)
                        ;
        if (!strcmp(mode, "memory"))
                fill_memory();
        if (!strcmp(mode, "unicode"))
                printf("Grüße, 世界 🌍 %s %d\n", argv[2], count_characters(argv[2]));
        if (!strcmp(mode, "big"))
                for (int i = 0; i < 40000; i++)
                        printf("%063d\n", 0);
        return 0;
}
