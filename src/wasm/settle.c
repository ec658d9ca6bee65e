/*
 * What a loaded guest is given before it is parked, and copied for each run. A copy finds the pages
 * of a file one fault at a time, hundreds of them, most only to look; memory of our own is there
 * from the start, and in large pages the copy takes over a handful of entries for all of it.
 */
#include "wasm/engine.h"
#include "base/mem.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, LARGE_PAGE = 2 << 20, EXTERN_TABLE = 2 };

/* Puts memory of our own, with the same content, in the place of what is mapped there. */
static int own_memory(uint8_t *start, size_t size, int protection)
{
        size_t room_size = size + LARGE_PAGE;
        uint8_t *copy, *room = mmap(NULL, room_size, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        bool is_moved;

        if (room == MAP_FAILED)
                return 0;
        /* Large pages stay whole where they lie in their place as they lay here. */
        copy = room + ((uintptr_t)start - (uintptr_t)room) % LARGE_PAGE;
        (void)madvise(room, room_size, MADV_HUGEPAGE);
        memcpy(copy, start, size);
        is_moved = mprotect(copy, size, protection) == 0 &&
                   mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) == start;
        (void)munmap(room, room_size);
        return is_moved ? 0 : -1;
}

/* Where the code is in the image, which is an object file in memory. */
static bool find_code(const uint8_t *image, size_t size, size_t *ret_offset, size_t *ret_size)
{
        const Elf64_Ehdr *header = (const void *)image;
        const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);

        if (size < sizeof(*header) || header->e_shoff > size ||
            (size - header->e_shoff) / sizeof(*sections) < header->e_shnum)
                return false;
        for (size_t i = 0; i < header->e_shnum; i++)
                if (sections[i].sh_flags & SHF_EXECINSTR && sections[i].sh_offset % PAGE == 0 &&
                    sections[i].sh_offset <= size &&
                    sections[i].sh_size <= size - sections[i].sh_offset) {
                        *ret_offset = sections[i].sh_offset;
                        *ret_size = (sections[i].sh_size + PAGE - 1) / PAGE * PAGE;
                        return *ret_size > 0;
                }
        return false;
}

/* The engine fills its table of functions as they are called; here all at once. */
static void fill_table(struct wasm_engine *engine)
{
        static const char name[] = "__indirect_function_table";
        uint64_t value[8]; /* larger than one of the library's */
        struct wasm_extern table;
        uint64_t count;

        if (!engine->call.wasmtime_instance_export_get(engine->context, &engine->instance, name,
                                                       sizeof(name) - 1, &table) ||
            table.kind != EXTERN_TABLE)
                return;
        count = engine->call.wasmtime_table_size(engine->context, &table.of);
        for (uint64_t i = 0; i < count; i++)
                (void)engine->call.wasmtime_table_get(engine->context, &table.of, i, value);
}

int wasm_engine_settle(struct wasm_engine *engine)
{
        size_t memory_size, code_offset, code_size;
        uint8_t *memory = wasm_engine_memory(engine, &memory_size);
        void *image, *end;

        fill_table(engine);
        engine->call.wasmtime_module_image_range(engine->module, &image, &end);
        if ((memory && own_memory(memory, memory_size, PROT_READ | PROT_WRITE) < 0) ||
            (find_code(image, (size_t)((uint8_t *)end - (uint8_t *)image), &code_offset,
                       &code_size) &&
             own_memory((uint8_t *)image + code_offset, code_size, PROT_READ | PROT_EXEC) < 0)) {
                (void)snprintf(engine->why, sizeof(engine->why), "its memory cannot be moved");
                return -1;
        }
        return 0;
}
