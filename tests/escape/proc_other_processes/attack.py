pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
refused_if("only-own-processes", set(pids) <= {1, os.getpid(), os.getppid()})
for name in ("VICTIM_PID", "HOST_PID"):
    pid = int(os.environ[name])
    if pid not in (1, os.getpid(), os.getppid()):
        hidden(name, f"/proc/{pid}/cmdline")
        hidden(name + "-root", f"/proc/{pid}/root")
mounts = open("/proc/self/mountinfo").read()
refused_if("no-host-mounts", "/sys/fs/cgroup" not in mounts and "/mnt/" not in mounts)
