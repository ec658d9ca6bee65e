for path in ("/owned", "/usr/owned", "/usr/bin/owned", "/usr/lib/owned", "/etc/owned", "/dev/owned",
             "/proc/owned", "/code/owned", "/bin/owned", "/lib/owned"):
    refused(path, lambda: open(path, "w"), errno.ENOTDIR)
for path in (sys.executable, "/usr/bin/python3", "/lib64/ld-linux-x86-64.so.2"):
    refused("append:" + path, lambda: open(path, "ab"), errno.ETXTBSY)
    refused("chmod:" + path, lambda: os.chmod(path, 0o777))
    refused("unlink:" + path, lambda: os.unlink(path))
    refused("utime:" + path, lambda: os.utime(path))
    refused("xattr:" + path, lambda: os.setxattr(path, "user.owned", b"1"), errno.EOPNOTSUPP)
