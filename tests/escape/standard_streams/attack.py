import stat

for fd in (0, 1, 2):
    mode = os.fstat(fd).st_mode
    kind = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.readlink(f"/proc/self/fd/{fd}") == "/dev/null"
    if fd == 0:
        def overwrite():
            with open("/proc/self/fd/0", "r+b", buffering=0) as stream:
                if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    stream.write(b"owned")
                    return "stdin file written"
            raise PermissionError(errno.EACCES, "a pipe, not the caller's file")
        refused("stdin-write", overwrite)
        refused("stdin-truncate", lambda: os.truncate("/proc/self/fd/0", 0), errno.EINVAL)
        say("INPUT", os.read(0, 5).decode())
    else:
        refused_if(f"stream-{fd}-is-not-a-file", not stat.S_ISREG(mode))
        refused(f"stream-{fd}-truncate", lambda: os.ftruncate(fd, 0), errno.EINVAL)
