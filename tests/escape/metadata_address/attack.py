import socket

REACH = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ECONNREFUSED, errno.EADDRNOTAVAIL)


def send(family, kind, address):
    with socket.socket(family, kind) as sock:
        sock.settimeout(1)
        sock.connect(address)
        sock.send(b"GET / HTTP/1.0\r\n\r\n")
        return "sent"


refused("tcp", lambda: send(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)), *REACH)
refused("udp", lambda: send(socket.AF_INET, socket.SOCK_DGRAM, ("169.254.169.254", 53)), *REACH)
refused("tcp6", lambda: send(socket.AF_INET6, socket.SOCK_STREAM, ("fd00:ec2::254", 80)), *REACH)
refused("broadcast", lambda: send(socket.AF_INET, socket.SOCK_DGRAM, ("255.255.255.255", 68)), *REACH)
