#include "attack.h"

int main(void)
{
        TRY("code", link("/code/program", "/workspace/code"), EXDEV, EROFS);
        TRY("passwd", link("/etc/passwd", "/workspace/passwd"), EXDEV, EROFS);
        TRY("exe", linkat(AT_FDCWD, "/proc/self/exe", AT_FDCWD, "/workspace/exe", AT_SYMLINK_FOLLOW), EXDEV, EROFS);
        TRY("fd", linkat(open("/proc/self/exe", O_PATH), "", AT_FDCWD, "/workspace/fd", AT_EMPTY_PATH), EXDEV, ENOENT);
        TRY("init", linkat(AT_FDCWD, "/proc/1/exe", AT_FDCWD, "/workspace/init", AT_SYMLINK_FOLLOW), EXDEV, ENOENT);
        TRY("protected", rename("/etc/passwd", "/workspace/moved"), EXDEV, EROFS, EBUSY);
        return 0;
}
