/*
 * sandbox-toml: reads a TOML text from standard input and writes its record to standard output.
 *
 * Theory of operation. The library starts this program only where a policy is TOML, so that nobody
 * else pays for a C++ library; see docs/decisions/0008-toml-in-a-helper.md. It reads foreign bytes:
 * it bounds its own time and memory, opens nothing, and what it says is checked by its reader.
 */
#include "record.h"

#include <cerrno>
#include <sys/resource.h>
#include <unistd.h>

namespace
{

constexpr size_t text_max = size_t{ 1 } << 20;
constexpr rlim_t cpu_seconds = 5, memory_bytes = rlim_t{ 512 } << 20;

bool bound(int resource, rlim_t value)
{
        const rlimit limit = { value, value };
        rlimit old;

        if (getrlimit(resource, &old) == 0 && old.rlim_max < value)
                return true;
        return setrlimit(resource, &limit) == 0;
}

bool read_all(std::string &text)
{
        char buffer[65536];

        for (;;) {
                const ssize_t n = read(0, buffer, sizeof(buffer));

                if (n == 0)
                        return true;
                if (n < 0 && errno != EINTR)
                        return false;
                if (n > 0)
                        text.append(buffer, static_cast<size_t>(n));
                if (text.size() > text_max)
                        return false;
        }
}

bool write_all(const std::string &text)
{
        for (size_t done = 0; done < text.size();) {
                const ssize_t n = write(1, text.data() + done, text.size() - done);

                if (n < 0 && errno != EINTR)
                        return false;
                if (n > 0)
                        done += static_cast<size_t>(n);
        }
        return true;
}

} /* namespace */

int main()
{
        std::string text;

        if (!bound(RLIMIT_CPU, cpu_seconds) || !bound(RLIMIT_AS, memory_bytes) ||
            !bound(RLIMIT_CORE, 0))
                return 1;
        return read_all(text) && write_all(toml_record(text)) ? 0 : 1;
}
