refused("sysrq-trigger", lambda: open("/proc/sysrq-trigger", "w"))
refused("sysrq-setting", lambda: open("/proc/sys/kernel/sysrq", "w"))
