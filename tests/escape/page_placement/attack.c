#include "attack.h"

int main(void)
{
        unsigned long nodes = 1;

        TRY("set_mempolicy", syscall(SYS_set_mempolicy, 2, &nodes, 8));
        TRY("mbind", syscall(SYS_mbind, sbrk(0), 4096, 2, &nodes, 8, 0));
        TRY("migrate_pages", syscall(SYS_migrate_pages, 0, 8, &nodes, &nodes));
        TRY("move_pages", syscall(SYS_move_pages, 0, 0, NULL, NULL, NULL, 0));
        TRY("remap_file_pages", syscall(SYS_remap_file_pages, 0, 0, 0, 0, 0));
        TRY("cachestat", syscall(451, 0, NULL, NULL, 0));
        return 0;
}
