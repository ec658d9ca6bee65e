import socket

port = int(os.environ["HOST_PORT"])


def connect():
    with socket.create_connection(("127.0.0.1", port), timeout=1) as sock:
        sock.send(b"attack")
        return "connected"


refused("tcp", connect, errno.ECONNREFUSED)
with socket.socket() as server:
    server.bind(("127.0.0.1", port))  # Taken on the host, free here.
    server.listen()
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        say("OWN loopback works")
