#include "engine/elf.h"

#include <elf.h>
#include <string.h>

bool elf_is_static(const void *data, size_t length)
{
        Elf64_Ehdr header;

        if (length < sizeof(header))
                return false;
        memcpy(&header, data, sizeof(header));
        if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
            header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
            header.e_phnum == 0 || header.e_phoff > length ||
            (length - header.e_phoff) / sizeof(Elf64_Phdr) < header.e_phnum)
                return false;
        for (unsigned i = 0; i < header.e_phnum; i++) {
                Elf64_Phdr part;

                memcpy(&part, (const char *)data + header.e_phoff + i * sizeof(part), sizeof(part));
                if (part.p_type == PT_INTERP)
                        return false;
        }
        return true;
}
