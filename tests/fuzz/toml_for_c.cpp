/* The record of a TOML text for a fuzz target in C, in memory of malloc(). */
#include "toml/record.h"

#include <cstdlib>
#include <cstring>

extern "C" char *toml_for_c(const char *text, size_t length, size_t *ret_length);

extern "C" char *toml_for_c(const char *text, size_t length, size_t *ret_length)
{
        const std::string record = toml_record({ text, length });
        char *copy = static_cast<char *>(std::malloc(record.size() + 1));

        if (!copy)
                std::abort();
        std::memcpy(copy, record.c_str(), record.size() + 1);
        *ret_length = record.size();
        return copy;
}
