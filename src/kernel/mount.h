/*
 * Mounts: the pieces a root is built of. All paths are ours or checked before; all functions return
 * 0 (or a descriptor) or -1 with errno, allocate nothing, and run in a private mount namespace.
 */
#ifndef KERNEL_MOUNT_H
#define KERNEL_MOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mount_mode {
        MOUNT_READ_ONLY, /* nosuid, nodev, read-only, with everything mounted below */
        MOUNT_WRITABLE,  /* nosuid, nodev */
};

/* Cuts the calling mount namespace off from the host's: nothing propagates either way. */
int mount_make_private(void);
/* A detached copy of what is at `path` now (no symbolic link is followed), hardened by `mode`. */
int mount_clone(const char *path, enum mount_mode mode);
/* Shows the files of a detached copy with owners as the user namespace maps them. EINVAL where the
 * file system cannot. */
int mount_map_owners(int tree_fd, int user_namespace_fd);
/* Puts a detached copy at `target` below the current directory. */
int mount_attach(int tree_fd, const char *target);
/* The same to a place that was opened (O_PATH). */
int mount_attach_to(int tree_fd, int place_fd);
/* A tmpfs of `bytes` and `inodes` at `target`; 0 inodes: as many as pages. */
int mount_tmpfs(const char *target, uint64_t bytes, uint64_t inodes, unsigned mode);
int mount_resize_tmpfs(const char *target, uint64_t bytes, uint64_t inodes);
/* A fresh /proc: with `pids_only`, without anything but processes. */
int mount_proc(const char *target, bool pids_only);
/* Hides the parts of a full /proc below `target` that show or steer the kernel. */
int mount_mask_proc(const char *target);
int mount_devpts(const char *target);
int mount_bind(const char *source, const char *target);
/* Binds a device node read-only, which it can be written to all the same: its times are not. */
int mount_bind_device(const char *source, const char *target);
/* Makes a directory below the current one a mount of its own, read-only, on which device nodes can
 * be used. */
int mount_devices(const char *directory);
/* Binds a path of the system with everything below it, read-only, nosuid and nodev. For paths that
 * only root can change: a symbolic link would be followed. */
int mount_bind_system(const char *source, const char *target);
/* Makes the current directory the root, drops the old one, and makes the new one read-only. */
int mount_pivot(void);

/* Makes a directory and its parents below the current directory; `path` begins with '/'. */
int mount_make_directory(const char *path, unsigned mode);
/* Makes an empty file (and its parents) to mount on. */
int mount_make_file(const char *path);

#endif
