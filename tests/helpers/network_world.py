"""A small internet in namespaces of its own, for the tests of network control.

Two network namespaces with a wire between them. In the first one the program under test runs: its
"host" has 192.0.2.1 and a resolv.conf (in a mount namespace of its own) that names 192.0.2.2. In the
second one live servers with addresses of their own: DNS, HTTP and echo over TCP, UDP. Nothing leaves
the two namespaces, and they end with the process that holds them.

Run as a program this file is that process; imported, it starts and uses it.
"""

import ctypes
import http.server
import os
import pathlib
import shutil
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading

from helpers.program import HARD_TIMEOUT, WAITING, Outcome, held_events

GOOD, OTHER, PRIVATE, METADATA = "203.0.113.10", "203.0.113.11", "10.9.8.7", "169.254.169.254"
GOOD6 = "2001:db8:2::10"
LINK6 = "fe80::203:113:10"  # On the wire alone: reached by who says through which interface.
SILENT = "203.0.113.99"  # Routed to the second namespace, which does not answer.
HOST, SERVER = "192.0.2.1", "192.0.2.2"
ABSTRACT = "\0sbtest-network-host"  # The host listens there too, in the first namespace.
HOST_PORT = 8999  # Something of the host's own listens here, on its loopback and on 192.0.2.1.

ZONE = {
    "good.example": [GOOD], "six.example": [GOOD6], "both.example": [GOOD6, GOOD],
    "other.example": [OTHER], "deep.sub.example": [GOOD], "private.example": [PRIVATE],
    "metadata.example": [METADATA], "own.example": [HOST], "loop.example": ["127.0.0.1"],
    "mapped.example": ["::ffff:10.9.8.7"], "mixed.example": [PRIVATE, GOOD],
    "dead6.example": ["2001:db8:2::dead", GOOD], "release.example": [GOOD],
}
ALIASES = {"alias.example": "good.example", "loop1.example": "loop2.example", "loop2.example": "loop1.example"}
CHANGING = {"changing.example": [[GOOD], [PRIVATE], ["127.0.0.1"]]}
HELD = {"held.example": [GOOD]}  # Answered when somebody asks for release.example.


# ---- the servers ----

class Log:
    def __init__(self, path):
        self.file = open(path, "a", buffering=1)
        self.lock = threading.Lock()

    def add(self, *words):
        with self.lock:
            self.file.write(" ".join(map(str, words)) + "\n")


def encode(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


class Names:
    """A name server as small as one can be."""

    def __init__(self, log):
        self.log = log
        self.turns = {}
        self.held = []

    def addresses(self, name, kind):
        known = ZONE.get(name, HELD.get(name, []))
        if name in CHANGING:
            turn = self.turns.get((name, kind), 0)
            self.turns[name, kind] = turn + 1
            known = CHANGING[name][min(turn, len(CHANGING[name]) - 1)]
        family = socket.AF_INET if kind == 1 else socket.AF_INET6
        return [socket.inet_pton(family, text) for text in known if (":" in text) == (kind == 28)]

    def answer(self, query):
        at, labels = 12, []
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind, = struct.unpack(">H", query[at + 1:at + 3])
        name = ".".join(labels).lower()
        self.log.add("asked", name, kind)
        records, owner = b"", b"\xc0\x0c"
        count = 0
        if name in ALIASES:
            target = encode(ALIASES[name])
            records += owner + struct.pack(">HHIH", 5, 1, 60, len(target)) + target
            owner, name, count = target, ALIASES[name], 1
        for data in self.addresses(name, kind):
            records += owner + struct.pack(">HHIH", kind, 1, 60, len(data)) + data
            count += 1
        known = name in ZONE or name in CHANGING or name in ALIASES or name in HELD
        header = query[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, count, 0, 0)
        return header + query[12:at + 5] + records

    def serve(self, server):
        while True:
            query, asker = server.recvfrom(4096)
            if encode("held.example") in query:
                self.held.append((self.answer(query), asker))
                continue
            server.sendto(self.answer(query), asker)
            if encode("release.example") in query:
                for one in self.held:
                    server.sendto(*one)
                self.held.clear()


def plain(connection):
    """The address that was connected to, an IPv4 one as such."""
    return connection.getsockname()[0].removeprefix("::ffff:")


class Web(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"hello from {plain(self.connection)}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)


class Sink(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(65536):
            pass


class Source(socketserver.BaseRequestHandler):
    def handle(self):
        while True:
            self.request.sendall(bytes(65536))


class Deaf(socketserver.BaseRequestHandler):
    """Takes nothing that is sent, until everything ends."""

    def handle(self):
        threading.Event().wait()


def serve_tcp(port, handler, log):
    class Server(socketserver.ThreadingTCPServer):
        address_family = socket.AF_INET6
        allow_reuse_address = daemon_threads = True
        request_queue_size = 256

        def verify_request(self, request, client_address):
            log.add("tcp", plain(request), port)
            return True

        def handle_error(self, request, client_address):
            pass  # The other side went away.

    return Server(("::", port), handler)


def udp_server(address, port):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, port))
    return server


def serve_udp(server, address, log):
    while True:
        data, client = server.recvfrom(65536)
        log.add("udp", address)
        server.sendto(data, client)


def run(*words):
    subprocess.run(words, check=True)


def serve(log_path):
    """The second namespace: entered by the caller, who says when its addresses are there, and is told that all is up."""
    for family in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):  # Else it answers for SILENT: as the machine has it.
        setting = pathlib.Path("/proc/sys/net", family)
        if setting.read_text() != "0\n":
            setting.write_text("0")
    log = Log(log_path)
    assert sys.stdin.readline() == "addresses\n"
    names, good, other = udp_server(SERVER, 53), udp_server(GOOD, 9), udp_server(OTHER, 9)
    servers = [serve_tcp(80, Web, log), serve_tcp(7, Echo, log), serve_tcp(9, Sink, log),
               serve_tcp(5, Deaf, log), serve_tcp(10, Source, log)]
    for target in [*(server.serve_forever for server in servers), lambda: Names(log).serve(names),
                   lambda: serve_udp(good, GOOD, log), lambda: serve_udp(other, OTHER, log)]:
        threading.Thread(target=target, daemon=True).start()
    print("serving", flush=True)
    sys.stdin.read()


def hold(directory):
    """The first namespace: lays the wire, starts the servers behind it, waits for its end."""
    log = pathlib.Path(directory) / "log"
    me = [sys.executable, __file__]
    server = subprocess.Popen(["unshare", "-n", *me, "serve", str(log)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    while os.readlink(f"/proc/{server.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        pass
    there = ["nsenter", "-t", str(server.pid), "-n", "ip"]
    run("ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(server.pid))
    for words, addresses, device in ((["ip"], ["192.0.2.1/24", "2001:db8:1::1/64"], "near"),
                                     (there, ["192.0.2.2/24", f"{GOOD}/32", f"{OTHER}/32", f"{PRIVATE}/32",
                                              f"{METADATA}/32", "2001:db8:1::2/64", f"{GOOD6}/128",
                                              f"{LINK6}/64"], "far")):
        for address in addresses:
            run(*words, "addr", "add", address, "dev", device, *(["nodad"] if ":" in address else []))
        run(*words, "link", "set", device, "up")
        run(*words, "link", "set", "lo", "up")
    run("ip", "route", "add", "default", "via", "192.0.2.2")
    run("ip", "-6", "route", "add", "default", "via", "2001:db8:1::2")
    resolver = pathlib.Path(directory) / "resolv.conf"
    resolver.write_text(f"nameserver {SERVER}\n")
    run("mount", "--bind", str(resolver), os.path.realpath("/etc/resolv.conf"))
    server.stdin.write(b"addresses\n")
    server.stdin.flush()
    assert server.stdout.readline() == b"serving\n"
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(ABSTRACT)
    abstract.listen()
    own = serve_tcp(HOST_PORT, Echo, Log(log))
    threading.Thread(target=own.serve_forever, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    server.stdin.close()
    server.wait()


# ---- the tests' side ----

class World:
    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="sbtest-net-"))
        self.directory.chmod(0o755)
        self.log = self.directory / "log"
        self.log.touch()
        spaces = ["-n", "-m"] if os.geteuid() == 0 else ["-U", "-r", "-n", "-m"]
        self.process = subprocess.Popen(["unshare", *spaces, sys.executable, __file__, "hold", str(self.directory)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[1])})
        if self.process.stdout.readline() != b"ready\n":
            problem = self.process.communicate()[1].decode()
            raise RuntimeError(f"no namespaces for the test: {problem}")

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        shutil.rmtree(self.directory)

    def seen(self):
        """What the servers saw so far, as lines."""
        return self.log.read_text().splitlines()

    def words(self, sandbox):
        enter = ["nsenter", "-t", str(self.process.pid), "-n", "-m"]
        if os.geteuid() != 0:
            return [*enter, "-U", "--preserve-credentials"]
        return [*enter, "-S", str(sandbox.uid), "-G", str(sandbox.uid)]

    def start(self, sandbox, *args, stdin=subprocess.DEVNULL, **options):
        return subprocess.Popen([*self.words(sandbox), str(sandbox.path), "run", *map(str, args)],
                                stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=sandbox.environment(), start_new_session=True, **options)

    def run(self, sandbox, *args):
        """Runs the program under test beside the servers; the parsed result."""
        with self.start(sandbox, "--json", *args) as process:
            stdout, stderr = process.communicate(timeout=HARD_TIMEOUT)
        return Outcome(args, process.returncode, stdout, stderr).result

    def run_held(self, sandbox, *args, until):
        """The same for a program that waits for lines; its events, as `held_events` gives them."""
        return held_events(self.start(sandbox, *WAITING, *args, stdin=subprocess.PIPE), until)

    def python(self, sandbox, code, *flags):
        return self.run(sandbox, *flags, "-l", "python", "-c", code)


PRELUDE = """
import errno, os, select, socket, struct, sys, time
def attempt(call):
    try:
        return call()
    except socket.gaierror as error:
        return error.args[0]
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)
"""


def run_python(world, sandbox, code, *flags):
    """Runs Python beside the servers; it must end well."""
    result = world.python(sandbox, PRELUDE + textwrap.dedent(code), *flags)
    assert result["status"] == "ok", result
    return result


def run_held(world, sandbox, code, *flags, until):
    """The same for Python that waits for lines, which are given when the events of `until` came."""
    code = PRELUDE + textwrap.dedent(code)
    result = world.run_held(sandbox, *flags, "-l", "python", "-c", code, until=until)[-1]["result"]
    assert result["status"] == "ok", result
    return result


def is_counted(received, sent=None):
    """Whether an event tells of that many bytes; no more is waited for, so that too many are a failure and not a wait."""
    return lambda told: (told["event"] == "usage" and told["network_in"] >= received and
                         told["network_out"] >= (received if sent is None else sent))


def printed(result):
    return result["stdout"].splitlines()


def whats(result):
    return {violation["what"] for violation in result["violations"] if violation["kind"] == "network"}


if __name__ == "__main__":
    # Whoever started this may die at any time; then so do the namespaces.
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
    {"hold": hold, "serve": serve}[sys.argv[1]](sys.argv[2])
