USUAL = {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "shm", "pts", "ptmx", "tty"}
more = sorted(set(os.listdir("/dev")) - USUAL)
refused_if("only-the-usual " + ",".join(more), not more)
for name in ("mem", "kmem", "port", "kmsg", "vda", "sda", "kvm", "fuse", "loop0", "loop-control", "tty0", "console",
             "net/tun", "vhost-vsock", "mapper/control", "hwrng", "snapshot"):
    refused(name, lambda: open("/dev/" + name, "rb"), errno.ENOTDIR)
refused_if("terminals-private", set(os.listdir("/dev/pts")) <= {"ptmx"} if os.path.isdir("/dev/pts") else True)
