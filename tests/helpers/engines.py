"""Container engines of the tests' own: real daemons on private sockets and folders, and a fake one.

Docker and Podman are started once per session and stopped by their process, with everything that is theirs; Podman as
root and, with a range of users of its own, as an ordinary user. No registry is needed: the image is made from this
machine's own files.
"""

import http.client
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading

from helpers.leftovers import wait_until
from helpers.program import ORDINARY_UID

IMAGE = "sandbox-run/test"
GROUP = f"test-engine.{os.getpid()}"
LANGUAGES = ("python", "shell", "perl", "lua", "awk", "sh")


class Connection(http.client.HTTPConnection):
    """HTTP over a socket of this machine."""

    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.socket_path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.socket_path)


class Engine:
    """A daemon that was started: its socket, and what can be asked of it without our program."""

    def __init__(self, name, directory, process):
        self.name, self.directory, self.process = name, directory, process
        self.socket = directory / "engine.sock"
        self.host = f"unix://{self.socket}"
        self.env = {"DOCKER_HOST": self.host}

    def call(self, method, path, body=None, kind="application/json"):
        connection = Connection(self.socket)
        data = json.dumps(body).encode() if kind == "application/json" and body is not None else body
        connection.request(method, path, data, {"Content-Type": kind})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 400:
            raise AssertionError(f"{method} {path}: {answer.status} {text[:300]}")
        return json.loads(text) if text[:1] in (b"{", b"[") and b"\n{" not in text.strip() else text

    def answers(self):
        try:
            return self.call("GET", "/_ping") is not None
        except (OSError, http.client.HTTPException, AssertionError):
            return False

    def containers(self):
        return [one["Id"] for one in self.call("GET", "/v1.41/containers/json?all=1")]

    def volumes(self):
        """Those that are a run's own; the one with our program stays."""
        return [one["Name"] for one in self.call("GET", "/v1.41/volumes")["Volumes"] or []
                if not one["Name"].startswith("sandbox-run-")]

    def add_image(self, tar):
        self.call("POST", f"/v1.41/images/create?fromSrc=-&repo={IMAGE}&tag=latest", tar, "application/x-tar")
        for language in LANGUAGES:
            self.call("POST", f"/v1.41/images/{IMAGE}:latest/tag?repo=sandbox-run/{language}&tag=latest")

    def _processes(self):
        """Those that work in the engine's folder: it lets some go on by themselves."""
        words, found = str(self.directory).encode(), []
        for place in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if words in place.read_bytes():
                    found.append(int(place.parent.name))
            except OSError:
                pass  # It has ended meanwhile.
        # Without root, one holds the user namespace and bears nothing of it in its name.
        holder = self.directory / "tmp/pause.pid"
        if holder.exists() and os.path.exists(f"/proc/{holder.read_text()}"):
            found.append(int(holder.read_text()))
        return found

    def _is_quiet(self):
        left = self._processes()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # It has ended meanwhile.
        return not left

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        wait_until(self._is_quiet, 30, f"{self.name} has ended")
        shutil.rmtree(self.directory, ignore_errors=True)
        _remove_groups()


def _remove_groups():
    """Engines leave the groups that held their containers' groups."""
    for place, folders, _ in os.walk("/sys/fs/cgroup", topdown=False):
        for name in folders:
            if name in (GROUP, "libpod_parent"):
                try:
                    os.rmdir(f"{place}/{name}")
                except OSError:
                    pass  # Somebody else's lives in it.


def _docker_command(directory):
    return ["dockerd", "--data-root", directory / "data", "--exec-root", directory / "exec", "-p", directory / "pid",
            "-H", f"unix://{directory}/engine.sock", "--iptables=false", "--bridge=none",
            "--cgroup-parent", GROUP]


def _podman_command(directory):
    (directory / "storage.conf").write_text(f'[storage]\ndriver="overlay"\nrunroot="{directory}/run"\n'
                                            f'graphroot="{directory}/data"\nrootless_storage_path="{directory}/data"\n')
    (directory / "containers.conf").write_text('[engine]\nevents_logger="file"\ncgroup_manager="cgroupfs"\n'
                                               f'tmp_dir="{directory}/tmp"\n')
    # crun does not run on a machine with both versions of control groups; runc does.
    return ["podman", "--runtime", shutil.which("runc", path="/usr/sbin:/usr/bin") or "runc", "system", "service", "-t", "0",
            f"unix://{directory}/engine.sock"]


def _rootless_command(directory):
    """The same as an ordinary user, whose name and range of users are known in the engine's own mounts alone."""
    for name in ("etc", "etc-work"):
        (directory / name).mkdir(mode=0o755)
    (directory / "etc/passwd").write_text(f"root:x:0:0::/:/bin/sh\nguest:x:{ORDINARY_UID}:{ORDINARY_UID}::{directory}:/bin/sh\n")
    for name in ("subuid", "subgid"):
        (directory / "etc" / name).write_text("guest:600000:65536\n")
    command = _podman_command(directory)
    for place in (directory, directory / "runtime"):
        os.chown(place, ORDINARY_UID, ORDINARY_UID)
    script = ('mount -t overlay -o "lowerdir=/etc,upperdir=$PWD/etc,workdir=$PWD/etc-work" etc /etc && '
              'exec setpriv --reuid "$0" --regid "$0" --clear-groups "$@"')
    return ["sh", "-c", script, str(ORDINARY_UID), *command]


ENGINES = {"docker": (_docker_command, ("dockerd",)), "podman": (_podman_command, ("podman", "runc")),
           "rootless": (_rootless_command, ("podman", "runc", "newuidmap", "newgidmap", "setpriv"))}


def start_engine(name, tar):
    """The engine; or, as text, why it cannot be had here."""
    if os.geteuid() != 0:
        return f"{name} is started as root"
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin"
    make_command, programs = ENGINES[name]
    for program in programs:
        if not shutil.which(program, path=path):
            return f"{program} is not installed"
    directory = pathlib.Path(tempfile.mkdtemp(prefix="engine-"))
    directory.chmod(0o755)
    (directory / "runtime").mkdir(mode=0o700)
    command = make_command(directory)
    env = {"PATH": path, "HOME": str(directory), "CONTAINERS_STORAGE_CONF": str(directory / "storage.conf"),
           "CONTAINERS_CONF": str(directory / "containers.conf"), "XDG_RUNTIME_DIR": str(directory / "runtime")}
    with open(directory / "log", "wb") as log:
        # Its mounts are its own, and go with its last process.
        process = subprocess.Popen(["unshare", "--mount", "--propagation", "private", *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env,
                                   cwd=directory, start_new_session=True)
    engine = Engine(name, directory, process)
    try:
        wait_until(lambda: process.poll() is not None or engine.answers(), 60, f"{name} answers")
        if process.poll() is not None:
            reason = (directory / "log").read_text(errors="replace")[-400:]
            engine.stop()
            return f"{name} does not start: {reason}"
        engine.socket.chmod(0o666)
        engine.add_image(tar)
    except BaseException:
        engine.stop()
        raise
    return engine


class FakeDaemon:
    """A socket on which a function answers each connection: for what no real daemon does."""

    def __init__(self, serve, closed=None):
        self.closed = closed
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="fake-"))
        self.directory.chmod(0o755)
        self.path = self.directory / "engine.sock"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.path.chmod(0o666)
        self.listener.listen(16)
        self.serve, self.open, self.requests = serve, [], []
        self.env = {"DOCKER_HOST": f"unix://{self.path}", "DOCKER_CLIENT_TIMEOUT": "30"}
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(connection)
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection):
        try:
            while data := connection.recv(65536):
                self.requests.append(data)
                self.serve(self, connection, data)
        except OSError:
            pass  # The other side has gone, which some of the tests are about.
        if self.closed:
            self.closed(connection)

    def cut(self):
        """Ends all connections and takes no more."""
        self.listener.close()
        self.path.unlink(missing_ok=True)
        for connection in self.open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It is closed already.

    def end(self):
        self.cut()
        shutil.rmtree(self.directory, ignore_errors=True)


def reply(connection, status, body, *headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} Answer", f"Content-Length: {len(data)}", *headers]
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + data)


def forward_to(engine, answer=None, change=lambda data: data):
    """A fake that passes everything on to a real daemon, connection by connection: but for requests that `answer` has
    an answer to, and changed."""
    links = {}

    def serve(_fake, connection, data):
        own = answer(data) if answer else None
        if own is not None:
            reply(connection, 200, own)
            return
        if connection not in links:
            links[connection] = other = socket.socket(socket.AF_UNIX)
            other.connect(str(engine.socket))
            threading.Thread(target=copy_back, args=(other, connection), daemon=True).start()
        links[connection].sendall(change(data))

    def copy_back(other, connection):
        try:
            while data := other.recv(65536):
                connection.sendall(data)
        except OSError:
            pass  # One of both has been cut off.
        other.close()

    def closed(connection):
        try:
            if connection in links:
                links[connection].shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # The daemon ended it first.

    return FakeDaemon(serve, closed)


def make_certificates(directory):
    """A folder as DOCKER_CERT_PATH wants it, with the server's own in it as well."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca-key.pem", "-out", "ca.pem", "-days", "2",
            "-subj", "/CN=test authority")
    (directory / "names").write_text("subjectAltName=IP:127.0.0.1")
    for name in ("server", "client"):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}-key.pem", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-days", "2",
                "-extfile", "names", "-out", f"{name}.pem")
    shutil.copy(directory / "client.pem", directory / "cert.pem")
    shutil.copy(directory / "client-key.pem", directory / "key.pem")


class TlsFront:
    """A port of the loopback that passes connections on to an engine, for clients with a certificate."""

    def __init__(self, engine, certificates):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / "server.pem", certificates / "server-key.pem")
        context.load_verify_locations(certificates / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        self.engine, self.context = engine, context
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with self.context.wrap_socket(connection, server_side=True) as client, socket.socket(socket.AF_UNIX) as other:
                other.connect(str(self.engine.socket))
                client.setblocking(False)
                while True:
                    if not client.pending():
                        select.select([client, other], [], [])
                    try:
                        data = client.recv(65536)
                        if not data:
                            return
                        other.sendall(data)
                    except ssl.SSLWantReadError:
                        pass  # Only the engine has something to say.
                    if select.select([other], [], [], 0)[0]:
                        data = other.recv(65536)
                        if not data:
                            return
                        client.setblocking(True)
                        client.sendall(data)
                        client.setblocking(False)
        except OSError:
            pass  # A client that was refused, or one of both has gone.

    def end(self):
        self.listener.close()
