for name in ("CANARY_TMP", "CANARY_HOME", "CANARY_VAR"):
    path = os.environ[name]
    refused(name, lambda: open(path, "rb").read())
    refused(name + "-up", lambda: open("../" * 20 + path, "rb").read())
    refused(name + "-proc", lambda: open("/proc/self/root" + path, "rb").read())
    refused(name + "-cwd", lambda: open("/proc/self/cwd/../../.." + path, "rb").read())
for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh", "/etc/fstab", "/root", "/home",
             "/boot", "/var", "/run", "/mnt", "/srv", "/sys", "/opt/secrets", "/lost+found"):
    hidden(path, path)
