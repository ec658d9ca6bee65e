for path in ("/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi",
             "/proc/acpi", "/proc/kpagecount", "/proc/kpageflags", "/proc/slabinfo", "/proc/latency_stats",
             "/proc/vmallocinfo", "/proc/sys/kernel/core_pattern", "/proc/bus", "/proc/fs", "/proc/irq",
             "/sys/kernel", "/sys/firmware", "/sys/class", "/sys/devices/virtual/powercap"):
    hidden(path, path)
