import socket


def connect(kind):
    with socket.socket(socket.AF_UNIX, kind) as sock:
        sock.connect("\0" + os.environ["HOST_ABSTRACT"])
        sock.send(b"attack")
        return "sent"


refused("stream", lambda: connect(socket.SOCK_STREAM), errno.ECONNREFUSED)
refused("dgram", lambda: connect(socket.SOCK_DGRAM), errno.ECONNREFUSED)
names = open("/proc/net/unix").read() if os.path.exists("/proc/net/unix") else ""
refused_if("list-hidden", os.environ["HOST_ABSTRACT"] not in names)
