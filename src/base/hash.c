#include "base/hash.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

void hash_init(struct hash *hash)
{
        SHA256Init(&hash->context);
}

void hash_update(struct hash *hash, const void *data, size_t length)
{
        if (length > 0)
                SHA256Update(&hash->context, data, length);
}

void hash_update_part(struct hash *hash, const void *data, size_t length)
{
        uint64_t prefix = length;

        hash_update(hash, &prefix, sizeof(prefix));
        hash_update(hash, data, length);
}

void hash_update_text(struct hash *hash, const char *text)
{
        if (text)
                hash_update_part(hash, text, strlen(text));
        else
                hash_update(hash, &(uint64_t){ UINT64_MAX }, sizeof(uint64_t));
}

void hash_update_words(struct hash *hash, const char *const *words)
{
        for (; *words; words++)
                hash_update_text(hash, *words);
        hash_update_text(hash, NULL);
}

int hash_update_identity(struct hash *hash, const char *path)
{
        struct stat st;
        uint64_t identity[5];

        hash_update_text(hash, path);
        if (stat(path, &st) < 0)
                return -1;
        identity[0] = st.st_dev;
        identity[1] = st.st_ino;
        identity[2] = (uint64_t)st.st_size;
        identity[3] = (uint64_t)st.st_mtim.tv_sec;
        identity[4] = (uint64_t)st.st_mtim.tv_nsec;
        hash_update_part(hash, identity, sizeof(identity));
        return 0;
}

int hash_update_fd(struct hash *hash, int fd)
{
        char buffer[32 << 10];
        off_t offset = 0;

        for (;;) {
                ssize_t n = pread(fd, buffer, sizeof(buffer), offset);

                if (n == 0)
                        return 0;
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -1;
                hash_update(hash, buffer, (size_t)n);
                offset += n;
        }
}

void hash_final(struct hash *hash, char text[HASH_TEXT_MAX])
{
        static const char digits[] = "0123456789abcdef";
        uint8_t bytes[HASH_BYTES];

        SHA256Final(bytes, &hash->context);
        for (size_t i = 0; i < HASH_BYTES; i++) {
                text[2 * i] = digits[bytes[i] >> 4];
                text[2 * i + 1] = digits[bytes[i] & 15];
        }
        text[2 * HASH_BYTES] = '\0';
}
