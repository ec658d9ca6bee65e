for path in ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf",
             "/etc/ld.so.preload", "/etc/ld.so.cache", "/etc/sudoers"):
    refused(path, lambda: open(path, "a"))
refused("rename", lambda: os.rename("/etc/passwd", "/etc/passwd.old"))
refused("symlink", lambda: os.symlink("/workspace/x", "/etc/ld.so.preload"))
refused("mkdir", lambda: os.mkdir("/etc/owned"))
