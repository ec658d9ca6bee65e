import ctypes

libc = ctypes.CDLL(None, use_errno=True)


def mount_cgroup(kind, options):
    os.makedirs("/tmp/cg", exist_ok=True)
    if libc.mount(b"cgroup", b"/tmp/cg", kind, 0, options) == 0:
        return "mounted"
    raise OSError(ctypes.get_errno(), "mount")


refused("mount-v1", lambda: mount_cgroup(b"cgroup", b"memory"))
refused("mount-rdma", lambda: mount_cgroup(b"cgroup", b"rdma"))
refused("mount-v2", lambda: mount_cgroup(b"cgroup2", None))
for controller in ("memory", "pids", "cpu", "unified", ""):
    refused("release_agent:" + controller, lambda: open(f"/sys/fs/cgroup/{controller}/release_agent", "w"))
    refused("procs:" + controller, lambda: open(f"/sys/fs/cgroup/{controller}/cgroup.procs", "w"))
paths = [line.split(":", 2)[2].strip() for line in open("/proc/self/cgroup")]
refused_if("own-cgroup-hidden", all("sandbox-run" not in path and "test-session" not in path for path in paths))
