import socket


def connect(path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        sock.send(b"attack")
        return "sent"


refused("host", lambda: connect(os.environ["HOST_SOCKET"]))
refused("host-proc", lambda: connect("/proc/1/root" + os.environ["HOST_SOCKET"]))
for path in ("/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/dev/log",
             "/run/systemd/private", "/run/containerd/containerd.sock"):
    refused(path, lambda: connect(path))
