import socket

REACH = (errno.ENETUNREACH, errno.ECONNREFUSED, errno.EADDRNOTAVAIL, errno.EHOSTUNREACH, errno.EAFNOSUPPORT)


def connect(family, kind, address):
    with socket.socket(family, kind) as sock:
        sock.settimeout(1)
        sock.connect(address)
        sock.send(b"attack")
        return "sent"


port = int(os.environ["HOST_PORT"])
refused("tcp", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)), *REACH)
refused("tcp-any", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", port)), *REACH)
refused("tcp6", lambda: connect(socket.AF_INET6, socket.SOCK_STREAM, ("::1", port)), *REACH)
refused("tcp-mapped", lambda: connect(socket.AF_INET6, socket.SOCK_STREAM, ("::ffff:127.0.0.1", port)), *REACH)
