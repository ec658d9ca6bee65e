refused("open", lambda: open("/proc/sys/kernel/core_pattern", "w"))
refused("open-append", lambda: open("/proc/sys/kernel/core_pattern", "a"))
refused("through-self", lambda: open("/proc/self/root/proc/sys/kernel/core_pattern", "w"))
refused("through-task", lambda: open(f"/proc/{os.getpid()}/root/proc/sys/kernel/core_pattern", "w"))
