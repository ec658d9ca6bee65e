"""Network control: what is allowed works as programs expect, in every way they connect.

All traffic stays in the namespaces of helpers/network_world.py. What tries to get around it is in
test_network_attacks.py.
"""

import glob
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import textwrap

import pytest

from helpers.network_world import GOOD, GOOD6, HOST, HOST_PORT, OTHER, PRELUDE, PRIVATE, SILENT, is_counted, printed, run_held, run_python as run, whats
from helpers.program import helper_path, program_path


# ---- names ----

def test_allowed_name_resolves_and_connects(world, sandbox):
    result = run(world, sandbox, """
        import urllib.request
        print(urllib.request.urlopen("http://good.example/").read().decode(), end="")
        """, "--allow", "good.example")
    assert printed(result) == [f"hello from {GOOD}"]
    assert result["violations"] == []


def test_name_that_is_not_allowed_does_not_exist_and_is_told(world, sandbox):
    before = len(world.seen())
    result = run(world, sandbox, """
        print(attempt(lambda: socket.getaddrinfo("other.example", 80)) == socket.EAI_NONAME)
        """, "--allow", "good.example")
    assert printed(result) == ["True"]
    assert whats(result) == {"resolve other.example"}
    assert not [line for line in world.seen()[before:] if "other.example" in line], "the name left the machine"


def test_wildcard_means_names_beneath_alone(world, sandbox):
    result = run(world, sandbox, """
        for name in ("deep.sub.example", "sub.example", "evilsub.example"):
            print(type(attempt(lambda: socket.getaddrinfo(name, 80))).__name__)
        """, "--allow", "*.sub.example")
    assert printed(result) == ["list", "int", "int"]


def test_alias_leads_where_the_allowed_name_does(world, sandbox):
    result = run(world, sandbox, """
        print(socket.create_connection(("alias.example", 80)).getpeername()[0])
        print(attempt(lambda: socket.getaddrinfo("loop1.example", 80)) in (socket.EAI_NODATA, socket.EAI_NONAME))
        """, "--allow", "alias.example", "--allow", "loop1.example")
    assert printed(result) == [GOOD, "True"]


def test_mode_dns_resolves_every_name_and_connects_to_none(world, sandbox):
    result = run(world, sandbox, """
        print(socket.getaddrinfo("other.example", 80, socket.AF_INET)[0][4][0])
        print(attempt(lambda: socket.create_connection(("203.0.113.11", 80))))
        """, "--network", "dns")
    assert printed(result) == [OTHER, "ENETUNREACH"]
    assert whats(result) == {f"connect {OTHER}:80 (other.example)"}
    assert run(world, sandbox, "print(socket.gethostbyname('good.example'))", "--allow-dns")["stdout"] == f"{GOOD}\n"


def test_allow_dns_with_allow_resolves_every_name_but_connects_to_the_allowed(world, sandbox):
    result = run(world, sandbox, """
        print(socket.gethostbyname("other.example"))
        print(attempt(lambda: socket.create_connection(("other.example", 80))))
        print(attempt(lambda: socket.create_connection(("good.example", 80)).getpeername()[0]))
        """, "--allow-dns", "--allow", "good.example")
    assert printed(result) == [OTHER, "ENETUNREACH", GOOD]
    assert whats(result) == {f"connect {OTHER}:80 (other.example)"}


def test_equal_questions_are_asked_once(world, sandbox):
    """However often a guest repeats itself, name servers hear it once (and once more where they are slow)."""
    before = len(world.seen())
    result = run(world, sandbox, """
        def question(number, name):
            labels = b"".join(bytes([len(label)]) + label for label in name.split(b"."))
            return struct.pack(">H", number) + b"\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0" + labels + b"\\0\\0\\x01\\0\\x01"
        askers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
        for number in range(50):
            for asker in askers:
                asker.sendto(question(number, b"held.example"), ("127.0.0.1", 53))
        stream = socket.create_connection(("127.0.0.1", 53))
        stream.sendall(b"\\0\\x1e" + question(7, b"held.example"))
        print(socket.gethostbyname("release.example"))
        for asker in askers:
            answers = [asker.recv(2000) for _ in range(50)]
            print(sorted(data[1] for data in answers) == list(range(50)), {data[-4:] for data in answers})
        print(stream.recv(2000)[2:][-4:])
        """, "--allow", "held.example", "--allow", "release.example")
    address = repr(bytes(map(int, GOOD.split("."))))
    assert printed(result) == [GOOD, *[f"True {{{address}}}"] * 4, address]
    assert 1 <= world.seen()[before:].count("asked held.example 1") <= 2


def test_name_over_tcp_and_other_records(world, sandbox):
    result = run(world, sandbox, """
        def ask(kind, stream):
            query = b"\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x04good\\x07example\\0" + struct.pack(">HH", kind, 1)
            if stream:
                s = socket.create_connection(("127.0.0.1", 53))
                s.sendall(struct.pack(">H", len(query)) + query)
                data = s.recv(2000)[2:]
            else:
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.sendto(query, ("127.0.0.1", 53))
                data = s.recv(2000)
            return data[:2].hex(), data[3] & 15, struct.unpack(">H", data[6:8])[0]
        print(ask(1, True), ask(1, False), ask(16, False), ask(255, True))
        """, "--allow", "good.example")
    assert printed(result) == ["('1234', 0, 1) ('1234', 0, 1) ('1234', 0, 0) ('1234', 0, 0)"]


def test_denied_wins_over_allowed(world, sandbox):
    result = run(world, sandbox, """
        print(attempt(lambda: socket.create_connection(("good.example", 80))) == socket.EAI_NONAME)
        print(attempt(lambda: socket.create_connection(("203.0.113.11", 80))))
        print(attempt(lambda: socket.create_connection(("other.example", 80))))
        print(attempt(lambda: socket.create_connection(("deep.sub.example", 80)).getpeername()[0]))
        """, "--allow", "*.sub.example", "--allow", "good.example", "--allow", "other.example",
                 "--deny", "good.example", "--deny", OTHER)
    assert printed(result) == ["True", "ENETUNREACH", "ENETUNREACH", GOOD]
    assert whats(result) == {"resolve good.example", f"connect {OTHER}:80", f"connect {OTHER}:80 (other.example)"}


@pytest.mark.parametrize("rule", ["good.example", "good.example:443"])
def test_denied_name_holds_behind_an_alias(world, sandbox, rule):
    """The allowed name stands for a denied one: it is not a way to it."""
    result = run(world, sandbox, f"""
        print(attempt(lambda: socket.create_connection(("alias.example", 80))) == socket.EAI_NONAME)
        print(attempt(lambda: socket.create_connection(("{GOOD}", 80))))
        """, "--allow", "alias.example", "--deny", rule)
    assert printed(result) == ["True", "ENETUNREACH"]
    assert whats(result) == {"resolve alias.example to good.example", f"connect {GOOD}:80"}


@pytest.mark.parametrize("allowed, denied, refused", [
    ("203.0.113.0/24", "good.example", True), ("203.0.113.0/24:80", "*.sub.example:1-100", True),
    ("[2001:db8::1]:443", "good.example", True), ("203.0.113.10:9/udp", "good.example", True),
    ("203.0.113.10:9/udp", "good.example:9/udp", True), ("203.0.113.10:9", "good.example:9/udp", False),
    ("203.0.113.0/24:81-90", "good.example:80", False), ("203.0.113.0/24", "203.0.113.10", False),
    ("good.example", "*.sub.example", False)])
def test_name_that_is_denied_beside_an_address_that_is_allowed(sandbox, allowed, denied, refused):
    """The address is reached without the name, so the rule could not hold: it is refused with the remedy."""
    outcome = sandbox.run("--allow", allowed, "--deny", denied, "-l", "shell", "-c", "echo ran")
    assert (outcome.exit_code == 125) == refused, outcome.error
    if refused:
        assert f"network.deny has the name '{denied}' and network.allow the address '{allowed}'" in outcome.error
        assert "hint: deny addresses instead of the name" in outcome.error


# ---- addresses and ports ----

@pytest.mark.parametrize("rule, reached", [
    (GOOD, True), (f"{GOOD}:80", True), (f"{GOOD}:70-90", True), (f"{GOOD}:81", False), ("203.0.113.0/24:80", True),
    ("203.0.112.0/24", False), ("0.0.0.0/0", True), ("::/0", False), ("good.example:443", False)])
def test_rule_for_addresses_and_ports(world, sandbox, rule, reached):
    result = run(world, sandbox, f"""
        attempt(lambda: socket.getaddrinfo("good.example", 80))
        print(attempt(lambda: socket.create_connection(("{GOOD}", 80)).getpeername()[0]))
        """, "--allow", rule)
    assert printed(result) == [GOOD if reached else "ENETUNREACH"]


def test_address_must_have_been_given_for_the_name(world, sandbox):
    result = run(world, sandbox, f"""
        print(attempt(lambda: socket.create_connection(("{GOOD}", 80))))
        socket.getaddrinfo("good.example", 80)
        print(attempt(lambda: socket.create_connection(("{GOOD}", 80)).getpeername()[0]))
        """, "--allow", "good.example")
    assert printed(result) == ["ENETUNREACH", GOOD]


@pytest.mark.parametrize("name", ["private.example", "metadata.example", "own.example", "loop.example", "mapped.example"])
def test_allowed_name_does_not_lead_into_this_machine_or_a_private_network(world, sandbox, name):
    result = run(world, sandbox, f"print(isinstance(attempt(lambda: socket.getaddrinfo('{name}', 80)), int))",
                 "--allow", name)
    assert printed(result) == ["True"]
    if name != "mapped.example":
        assert any(what.startswith(f"resolve {name} to ") for what in whats(result)), result["violations"]


def test_private_address_is_reached_when_named_outright(world, sandbox):
    code = """
        print(attempt(lambda: socket.create_connection(("private.example", 80)).getpeername()[0]))
        """
    assert printed(run(world, sandbox, code, "--allow", "private.example", "--allow", "10.0.0.0/8")) == [PRIVATE]
    assert printed(run(world, sandbox, f"""
        print(attempt(lambda: socket.create_connection(("{PRIVATE}", 80))))
        print(attempt(lambda: socket.create_connection(("{HOST}", {HOST_PORT}))))
        """, "--allow", "0.0.0.0/0", "--allow", "192.0.2.0/24")) == ["ENETUNREACH", "ENETUNREACH"]


def test_host_loopback_is_reached_only_when_named_outright(world, sandbox):
    code = f"print(attempt(lambda: socket.create_connection(('127.0.0.1', {HOST_PORT})).getpeername()[0]))"
    assert printed(run(world, sandbox, code, "--allow", "good.example")) == ["ECONNREFUSED"]
    assert printed(run(world, sandbox, code, "--allow", "0.0.0.0/0")) == ["ECONNREFUSED"]
    assert printed(run(world, sandbox, code, "--allow", f"127.0.0.1:{HOST_PORT}")) == ["127.0.0.1"]


def test_mixed_answer_keeps_what_may_be_reached(world, sandbox):
    result = run(world, sandbox, "print(socket.gethostbyname_ex('mixed.example')[2])", "--allow", "mixed.example")
    assert printed(result) == [f"['{GOOD}']"]


# ---- how programs connect ----

def test_non_blocking_connect_with_poll_epoll_and_so_error(world, sandbox):
    result = run(world, sandbox, """
        for way in ("select", "poll", "epoll"):
            s = socket.socket(); s.setblocking(False)
            print(errno.errorcode[s.connect_ex(("203.0.113.10", 7))], end=" ")
            if way == "select":
                ready = select.select([], [s], [], 10)[1] != []
            else:
                p = getattr(select, way)(); p.register(s, 4); ready = p.poll(10000 if way == "poll" else 10) != []
            s.setblocking(True); s.sendall(b"ping")
            print(ready, s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), s.recv(9))
        s = socket.socket(); s.setblocking(False); s.connect_ex(("203.0.113.10", 4))
        select.select([], [s], [], 10)
        print(errno.errorcode[s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)])
        """, "--allow", GOOD)
    assert printed(result) == ["EINPROGRESS True 0 b'ping'"] * 3 + ["ECONNREFUSED"]


def test_socket_registered_with_epoll_before_it_connects(world, sandbox):
    result = run(world, sandbox, """
        s = socket.socket(); s.setblocking(False)
        p = select.epoll(); p.register(s, select.EPOLLOUT | select.EPOLLET)
        p.poll(0)
        s.connect_ex(("203.0.113.10", 7))
        print(p.poll(10) == [(s.fileno(), select.EPOLLOUT)])
        p.modify(s, select.EPOLLIN); s.send(b"x")
        print(p.poll(10) == [(s.fileno(), select.EPOLLIN)], s.recv(9))
        """, "--allow", GOOD)
    assert printed(result) == ["True", "True b'x'"]


def test_repeated_connect_tells_how_far_it_is(world, sandbox):
    result = run(world, sandbox, """
        s = socket.socket(); s.setblocking(False); s.connect_ex(("203.0.113.10", 7))
        select.select([], [s], [], 10)
        print([errno.errorcode.get(s.connect_ex(("203.0.113.10", 7)), 0) for _ in range(2)])
        s = socket.create_connection(("203.0.113.10", 7))
        print(errno.errorcode[s.connect_ex(("203.0.113.10", 7))])
        s = socket.socket(); s.setblocking(False); s.connect_ex(("203.0.113.99", 7))
        print(errno.errorcode[s.connect_ex(("203.0.113.99", 7))])
        """, "--allow", "203.0.113.0/24")
    assert printed(result) == ["[0, 'EISCONN']", "EISCONN", "EALREADY"]


def test_refused_connection_and_timeouts(world, sandbox):
    result = run(world, sandbox, f"""
        print(attempt(lambda: socket.create_connection(("{GOOD}", 4))))
        print(attempt(lambda: socket.create_connection(("{SILENT}", 80), 0.2)))
        s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 200000))
        print(errno.errorcode[s.connect_ex(("{SILENT}", 80))])
        """, "--allow", "203.0.113.0/24")
    assert printed(result) == ["ECONNREFUSED", "TimeoutError", "EINPROGRESS"]


def test_signal_interrupts_a_connect_that_waits(world, sandbox):
    result = run(world, sandbox, f"""
        import signal
        def stop(*args): raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, stop); signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            socket.create_connection(("{SILENT}", 80))
        except KeyboardInterrupt:
            print("interrupted")
        print(socket.create_connection(("{GOOD}", 80)).getpeername()[0])
        """, "--allow", "203.0.113.0/24")
    assert printed(result) == ["interrupted", GOOD]


def test_names_and_options_of_the_socket_stand(world, sandbox):
    result = run(world, sandbox, f"""
        s = socket.socket()
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 50000)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 3, 0))
        os.set_inheritable(s.fileno(), True)
        number = s.fileno()
        s.connect(("{GOOD}", 80))
        print(s.getpeername(), s.getsockname()[0], s.fileno() == number, os.get_inheritable(number))
        print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
              s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
              struct.unpack("ll", s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16)), s.getblocking())
        s = socket.create_connection(("{GOOD}", 80))
        print(os.get_inheritable(s.fileno()))
        """, "--allow", GOOD)
    assert printed(result) == [f"('{GOOD}', 80) {HOST} True True", "1 1 100000 (3, 0) True", "False"]


def test_ipv6_and_mapped_addresses(world, sandbox):
    result = run(world, sandbox, f"""
        print(socket.create_connection(("six.example", 80)).getpeername()[0])
        s = socket.socket(socket.AF_INET6); s.connect(("::ffff:{GOOD}", 80)); print(s.getpeername()[0])
        s = socket.socket(socket.AF_INET6); print(errno.errorcode[s.connect_ex(("::ffff:{OTHER}", 80))])
        """, "--allow", "six.example", "--allow", GOOD)
    assert printed(result) == [GOOD6, f"::ffff:{GOOD}", "ENETUNREACH"]


def test_happy_eyeballs(world, sandbox):
    result = run(world, sandbox, """
        import asyncio
        async def main():
            reader, writer = await asyncio.open_connection("dead6.example", 7, happy_eyeballs_delay=0.1)
            writer.write(b"ping"); print(await reader.read(9), writer.get_extra_info("peername")[0])
        asyncio.run(main())
        """, "--allow", "dead6.example")
    assert printed(result) == [f"b'ping' {GOOD}"]


def test_many_threads_connect_at_once(world, sandbox):
    result = run(world, sandbox, f"""
        import threading
        done = []
        def one():
            for _ in range(10):
                s = socket.create_connection(("good.example", 7)); s.sendall(b"x" * 1000)
                got = 0
                while got < 1000: got += len(s.recv(4096))
                s.close(); done.append(got)
        threads = [threading.Thread(target=one) for _ in range(20)]
        [t.start() for t in threads]; [t.join() for t in threads]
        print(len(done), sum(done))
        """, "--allow", "good.example")
    assert printed(result) == ["200 200000"]
    assert result["metrics"]["net_connections"] == 200


def test_closed_connection_is_closed_for_the_server(world, sandbox):
    """Nobody else holds it open: the server sees the end at once, and its own end arrives."""
    result = run(world, sandbox, f"""
        s = socket.create_connection(("{GOOD}", 7)); s.sendall(b"last"); s.shutdown(socket.SHUT_WR)
        data = b""
        while part := s.recv(99): data += part
        print(data)
        """, "--allow", GOOD)
    assert printed(result) == ["b'last'"]


def test_own_loopback_and_unix_sockets_work(world, sandbox):
    result = run(world, sandbox, """
        import threading
        def pair(server, client):
            server.listen(); client.connect(server.getsockname()); other = server.accept()[0]
            other.sendall(b"hello"); return client.recv(9)
        for family, name in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET, ("", 0)), (socket.AF_INET6, ("::1", 0)),
                             (socket.AF_UNIX, "/tmp/s"), (socket.AF_UNIX, "\\0name")):
            server = socket.socket(family); server.bind(name)
            print(pair(server, socket.socket(family)), end=" ")
        def again():
            server = socket.socket(); server.bind(("127.0.0.1", 0))
            print(pair(server, socket.socket()))
            server = socket.socket(socket.AF_UNIX); server.bind("/tmp/t")
            print(attempt(lambda: pair(server, socket.socket(socket.AF_UNIX))))
        t = threading.Thread(target=again); t.start(); t.join()
        s = socket.socket(); print(errno.errorcode[attempt(lambda: s.bind(("127.0.0.1", 80))) and errno.EACCES])
        """, "--allow", GOOD)
    lines = printed(result)
    assert lines[0] == " ".join(["b'hello'"] * 6)
    assert lines[1] in ("b'hello'", "EACCES")  # By the kernel's Landlock; see docs/NETWORK.md.
    assert result["violations"] == [] or lines[1] == "EACCES"


def test_connections_at_once_are_limited(world, sandbox, place):
    """One that was closed makes room at once for as many again and some, and for good when the other side has heard of it."""
    policy = sandbox.make_file(place / "policy.yaml", f"version: 1\nnetwork: {{ allow: ['{GOOD}'], connections: 5 }}\n")
    result = run(world, sandbox, f"""
        held = [attempt(lambda: socket.create_connection(("{GOOD}", 7))) for _ in range(8)]
        print([type(one).__name__ for one in held[:5]], held[5:])
        def one():
            s = socket.create_connection(("{GOOD}", 7)); s.shutdown(socket.SHUT_WR); s.recv(1); s.close()
        held.clear()
        print([type(attempt(lambda: socket.create_connection(("{GOOD}", 7)))).__name__ for _ in range(13)].count("socket"))
        while attempt(one): pass
        print([attempt(one) for _ in range(20)].count(None))
        """, "--policy", policy)
    assert printed(result) == ["['socket', 'socket', 'socket', 'socket', 'socket'] ['EAGAIN', 'EAGAIN', 'EAGAIN']", "13", "20"]
    assert [v["why"] for v in result["violations"]] == ["the limit of connections was reached"]


def test_closed_connections_with_something_to_send_are_counted(world, sandbox, place):
    """Their buffers are the kernel's, not the guest's: it cannot have more of them by closing."""
    policy = sandbox.make_file(place / "policy.yaml", f"version: 1\nnetwork: {{ allow: ['{GOOD}'], connections: 5 }}\n")
    result = run(world, sandbox, f"""
        def fill(port):
            s = socket.create_connection(("{GOOD}", port)); s.setblocking(False)
            while isinstance(attempt(lambda: s.send(b"x" * 65536)), int): pass
            s.close()
        print([attempt(lambda: fill(5)) for _ in range(20)] == [None] * 18 + ["EAGAIN"] * 2)
        """, "--policy", policy)
    assert printed(result) == ["True"]  # Twice as many as may be open, and eight.


def test_connections_within_a_minute_are_limited(world, sandbox, place):
    policy = sandbox.make_file(place / "policy.yaml", f"version: 1\nnetwork: {{ allow: ['{GOOD}'], connections: 1 }}\n")
    result = run(world, sandbox, f"""
        def one():
            s = socket.create_connection(("{GOOD}", 7)); s.shutdown(socket.SHUT_WR); s.recv(1); s.close()
        print([attempt(one) for _ in range(130)] == [None] * 128 + ["EADDRNOTAVAIL"] * 2)
        """, "--policy", policy)
    assert printed(result) == ["True"]
    assert [v["why"] for v in result["violations"]] == ["too many connections were made within a minute"]


# ---- other programs ----

def test_curl(world, sandbox):
    if not shutil.which("curl"):
        pytest.skip("no curl here")
    result = world.run(sandbox, "--allow", "both.example", "-l", "shell", "-c",
                       f"curl -sS http://both.example/; curl -sS http://{OTHER}/; curl -sS http://3405803787/; "
                       "curl -sS --tcp-fastopen http://both.example/")
    assert result["stdout"].count("hello from ") == 2
    assert result["stderr"].count("Failed to connect") == 2
    assert whats(result) == {f"connect {OTHER}:80"}


def test_node(world, sandbox):
    if not shutil.which("node", path="/usr/bin"):
        pytest.skip("no Node here")
    code = """
        const http = require("http");
        const get = (url) => http.get(url, (r) => r.on("data", (d) => process.stdout.write(d)))
            .on("error", (e) => console.log(e.code));
        get("http://good.example/"); get("http://203.0.113.11/"); get("http://other.example/");
        """
    result = world.run(sandbox, "--allow", "good.example", "--memory", "1G", "-l", "shell", "-c",
                       f"node -e {json.dumps(code)}".replace("\\n", " ").replace('\\"', "'"))
    assert sorted(result["stdout"].splitlines()) == ["ENETUNREACH", "ENOTFOUND", f"hello from {GOOD}"], result


GO = """
package main

import (
	"fmt"
	"io"
	"net"
)

func main() {
	for _, place := range []string{"good.example:7", "203.0.113.11:80", "other.example:80"} {
		connection, err := net.Dial("tcp", place)
		if err != nil {
			fmt.Println(err)
			continue
		}
		connection.Write([]byte("ping"))
		data := make([]byte, 4)
		io.ReadFull(connection, data)
		fmt.Println(string(data), connection.RemoteAddr())
	}
}
"""


@pytest.fixture(scope="module")
def go_client():
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin:/usr/lib/go/bin")
    if not go:
        pytest.skip("no Go here")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sbtest-go-"))
    folder.chmod(0o755)
    (folder / "client.go").write_text(GO)
    subprocess.run([go, "build", "-o", folder / "client", folder / "client.go"], check=True, cwd=folder,
                   env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"})
    yield folder / "client"
    shutil.rmtree(folder)


def test_static_go(world, sandbox, go_client):
    result = world.run(sandbox, "--allow", "good.example", "-l", "binary", "--file", go_client)
    lines = result["stdout"].splitlines()
    assert lines[0] == f"ping {GOOD}:7", result
    assert "network is unreachable" in lines[1] and "no such host" in lines[2]


JAVA = """
import java.io.*; import java.net.*; import java.nio.channels.*;
public class Client {
    public static void main(String[] words) throws Exception {
        System.out.print(new String(new URL("http://good.example/").openStream().readAllBytes()));
        try { new Socket("203.0.113.11", 80); } catch (IOException e) { System.out.println(e.getMessage()); }
        Selector selector = Selector.open();
        SocketChannel channel = SocketChannel.open();
        channel.configureBlocking(false);
        channel.register(selector, SelectionKey.OP_CONNECT);
        channel.connect(new InetSocketAddress("203.0.113.10", 80));
        System.out.println(selector.select(10000) + " " + channel.finishConnect());
    }
}
"""


@pytest.fixture(scope="module")
def java_client():
    if not shutil.which("javac", path="/usr/bin"):
        pytest.skip("no Java here")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sbtest-java-"))
    folder.chmod(0o755)
    (folder / "Client.java").write_text(JAVA)
    subprocess.run(["/usr/bin/javac", "-nowarn", "-d", folder, folder / "Client.java"], check=True, capture_output=True)
    yield folder
    shutil.rmtree(folder)


def test_java(world, sandbox, java_client):
    settings = [word for path in glob.glob("/etc/java-*-openjdk") for word in ("--volume", f"{path}:{path}")]
    result = world.run(sandbox, "--allow", "good.example", "--memory", "1G", *settings, "--volume", f"{java_client}:/client",
                       "-l", "shell", "-c", "/usr/bin/java -cp /client Client")
    assert result["stdout"].splitlines() == [f"hello from {GOOD}", "Network is unreachable", "1 true"], result


# ---- saying so ----

def test_result_says_by_what_it_is_held(world, sandbox):
    result = run(world, sandbox, "pass", "--allow", GOOD)
    network = next(p for p in result["protections"] if p["name"] == "network")
    assert (network["state"], network["by"]) == ("enforced", "namespace+notify")


def test_local_backend_refuses(sandbox):
    outcome = sandbox.run("--backend", "local", "--allow", "good.example", "-l", "shell", "-c", "true")
    assert outcome.exit_code == 125
    assert "local backend" in outcome.error and "hint:" in outcome.error


def test_sandbox_in_a_sandbox_of_its_kind_is_refused_with_the_reason(sandbox, compile_program):
    """A process has one listener: who has one already cannot have ours."""
    outer = compile_program("listened", """
        #include <fcntl.h>
        #include <linux/filter.h>
        #include <linux/seccomp.h>
        #include <sys/prctl.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        int main(int argc, char **argv)
        {
                struct sock_filter allow = { 0x06, 0, 0, SECCOMP_RET_ALLOW };
                struct sock_fprog program = { 1, &allow };

                prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                int fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
                if (fd < 0 || fcntl(fd, F_SETFD, 0) < 0)
                        return 99;
                execv(argv[1], argv + 1);
                return 98;
        }
        """)
    words = [outer, sandbox.path, "run", "--allow", "good.example", "-l", "shell", "-c", "true"]
    options = {"user": sandbox.uid, "group": sandbox.uid, "extra_groups": []} if sandbox.changes_user else {}
    done = subprocess.run(words, env=sandbox.environment(), capture_output=True, text=True, check=False, **options)
    assert done.returncode == 125, done
    assert "asked about connections" in done.stderr and "hint:" in done.stderr


def test_filter_that_cannot_be_had_is_no_weaker_network(sandbox, compile_program):
    """Filters have a most of instructions together: here some of ours find no more room, whichever they are."""
    filler = compile_program("filled", """
        #include <linux/filter.h>
        #include <linux/seccomp.h>
        #include <stdlib.h>
        #include <sys/prctl.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static int fill(int most)
        {
                static struct sock_filter code[4096];
                int used = 0;

                for (int i = 0; i < 4096; i++)
                        code[i] = (struct sock_filter){ 0x06, 0, 0, SECCOMP_RET_ALLOW };
                for (int length = 4096; length > 0;) {
                        struct sock_fprog program = { length, code };

                        /* The kernel counts four more for each. */
                        if (used + length + 4 <= most && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
                                used += length + 4;
                        else
                                length /= 2;
                }
                return used;
        }
        int main(int argc, char **argv)
        {
                int pipes[2], most = 0;

                prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                if (pipe(pipes) < 0)
                        return 99;
                if (fork() == 0) { /* how much room there is, beside what surrounds us */
                        most = fill(1 << 20);
                        _exit(write(pipes[1], &most, sizeof(most)) != sizeof(most));
                }
                if (read(pipes[0], &most, sizeof(most)) != sizeof(most))
                        return 98;
                wait(NULL);
                fill(most - atoi(argv[1]));
                execv(argv[2], argv + 2);
                return 97;
        }
        """)
    options = {"user": sandbox.uid, "group": sandbox.uid, "extra_groups": []} if sandbox.changes_user else {}
    messages = []
    for free in range(150, 650, 50):
        words = [filler, str(free), sandbox.path, "run", "--json", "--no-warm", "--enforcement", "best-effort",
                 "--allow", "good.example", "-l", "shell", "-c", "true"]
        done = subprocess.run(words, env=sandbox.environment(), capture_output=True, text=True, check=False, **options)
        if done.returncode == 0:
            states = {p["name"]: p["state"] for p in json.loads(done.stdout)["protections"]}
            assert (states["seccomp"], states["network"]) == ("enforced", "enforced"), free
        else:
            assert done.returncode == 125, (free, done)
            messages.append(json.loads(done.stdout)["message"])
    assert [message for message in messages if "apply the system call filter" in message], messages


def test_bytes_are_counted(world, sandbox):
    result = run_held(world, sandbox, f"""
        s = socket.create_connection(("{GOOD}", 7))
        for _ in range(20):
            s.sendall(b"x" * 50000)
            got = 0
            while got < 50000: got += len(s.recv(65536))
        input()  # The counters are looked at now and then, while it is open.
        """, "--allow", GOOD, until=[is_counted(1000000)])
    assert (result["metrics"]["net_rx_bytes"], result["metrics"]["net_tx_bytes"]) == (1000000, 1000000)


def test_end_of_a_connection_is_no_byte(world, sandbox, place):
    """The kernel counts one for it. Exactly as much as is allowed may come."""
    fetch = f"""
        s = socket.create_connection(("{GOOD}", 80))
        s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n"); got = 0
        while part := s.recv(4096): got += len(part)
        print(got)
        """
    size, asked = int(run(world, sandbox, fetch, "--allow", GOOD)["stdout"]), len("GET / HTTP/1.0\r\n\r\n")
    assert size > 0
    policy = sandbox.make_file(place / "policy.yaml", f"version: 1\nnetwork: {{ allow: ['{GOOD}'], bytes: {size + asked} }}\n")
    # Seen more than once: the end comes after the bytes.
    held, until = textwrap.dedent(fetch) + "for _ in range(3): input()\n", [is_counted(size, asked)] * 3
    for flags in (["--allow", GOOD], ["--policy", policy]):
        result = run_held(world, sandbox, held, *flags, until=until)
        assert (result["stdout"], result["metrics"]["net_rx_bytes"]) == (f"{size}\n", size), result


def test_nothing_is_counted_without_a_network(sandbox):
    metrics = sandbox.shell("true")["metrics"]
    assert (metrics["net_connections"], metrics["net_rx_bytes"], metrics["net_tx_bytes"]) == (0, 0, 0)


# ---- UDP ----

def test_udp_needs_a_rule_of_its_own(world, sandbox):
    result = run(world, sandbox, f"""
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        print(attempt(lambda: s.sendto(b"ping", ("{GOOD}", 9))), attempt(lambda: s.connect(("{GOOD}", 9))))
        print(attempt(lambda: s.sendmsg([b"ping"], [], 0, ("{GOOD}", 9))))
        """, "--allow", GOOD)
    assert printed(result) == ["ENETUNREACH ENETUNREACH", "ENETUNREACH"]
    assert whats(result) == {f"send udp {GOOD}:9"}


@pytest.mark.parametrize("rule, host", [(f"{GOOD}:9/udp", GOOD), ("good.example:9/udp", "good.example")])
def test_udp_reaches_what_a_rule_names(world, sandbox, rule, host):
    result = run(world, sandbox, f"""
        address = socket.gethostbyname("{host}")
        for connected in (False, True):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)
            if connected:
                s.connect((address, 9)); s.send(b"ping")
            else:
                s.sendto(b"ping", (address, 9))
            print(s.recvfrom(99))
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)
        s.sendmsg([b"x" * 30000], [], 0, (address, 9)); print(len(s.recv(65536)))
        for other in (("203.0.113.11", 9), (address, 10)):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            print(attempt(lambda: s.connect(other)), attempt(lambda: s.sendto(b"x", other)),
                  attempt(lambda: s.sendmsg([b"x"], [], 0, other)))
        print(attempt(lambda: socket.create_connection((address, 80))))
        """, "--allow", rule)
    lines = printed(result)
    assert lines[:3] == [f"(b'ping', ('{GOOD}', 9))"] * 2 + ["30000"]
    assert lines[3:] == ["ENETUNREACH ENETUNREACH ENETUNREACH"] * 2 + ["ENETUNREACH"]
    assert (result["metrics"]["net_rx_bytes"], result["metrics"]["net_tx_bytes"]) == (30008, 30008)
    assert f"send udp {OTHER}:9" in whats(result)


def test_udp_name_does_not_lead_into_a_private_network(world, sandbox):
    """A rule that names a private address for TCP, or for another port, does not open it for UDP by a name."""
    before = len(world.seen())
    result = run(world, sandbox, f"""
        print(socket.gethostbyname("private.example"))
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        print(attempt(lambda: s.connect(("{PRIVATE}", 9))))
        print(attempt(lambda: s.sendto(b"ping", ("{PRIVATE}", 9)))); s.settimeout(0.2)
        print(attempt(lambda: s.recv(9)))
        """, "--allow", "private.example:9/udp", "--allow", f"{PRIVATE}:80", "--allow", f"{PRIVATE}:11/udp")
    assert printed(result)[:3] == [PRIVATE, "ENETUNREACH", "ENETUNREACH"] and "b'ping'" not in result["stdout"]
    assert not [line for line in world.seen()[before:] if line.startswith("udp")]
    assert f"udp {PRIVATE}:9" in whats(result)


def test_messages_are_sent_and_refused_one_by_one(world, sandbox, compile_program):
    """A batch to an allowed place arrives, one that begins elsewhere is refused; others need no address."""
    program = compile_program("batch", r"""
        #define _GNU_SOURCE
        #include <arpa/inet.h>
        #include <errno.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/socket.h>
        static int batch(int fd, const char *first, const char *second)
        {
                struct sockaddr_in to[2] = { { .sin_family = AF_INET, .sin_port = htons(9) },
                                             { .sin_family = AF_INET, .sin_port = htons(9) } };
                struct iovec part = { "ping", 4 };
                struct mmsghdr both[2] = { { { &to[0], sizeof(to[0]), &part, 1 } },
                                           { { &to[1], sizeof(to[1]), &part, 1 } } };
                int n;
                inet_pton(AF_INET, first, &to[0].sin_addr);
                inet_pton(AF_INET, second, &to[1].sin_addr);
                n = sendmmsg(fd, both, 2, 0);
                return n < 0 ? -errno : n;
        }
        int main(int argc, char **argv)
        {
                int fd = socket(AF_INET, SOCK_DGRAM, 0), pair[2];
                struct iovec part = { "unix", 4 };
                struct msghdr plain = { .msg_iov = &part, .msg_iovlen = 1 };
                char answer[9] = "";
                printf("%d %d\n", batch(fd, argv[1], argv[1]), batch(fd, argv[2], argv[1]) == -ENETUNREACH);
                for (int i = 0; i < 2; i++)
                        printf("%zd\n", recv(fd, answer, sizeof(answer), 0));
                socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
                printf("%zd ", sendmsg(pair[0], &plain, 0));
                printf("%zd %s\n", recv(pair[1], answer, sizeof(answer), 0), answer);
        }
        """)
    result = world.run(sandbox, "--allow", f"{GOOD}:9/udp", program, "--", GOOD, OTHER)
    assert printed(result) == ["2 1", "4", "4", "4 4 unix"]
    assert whats(result) == {f"send udp {OTHER}:9"}


@pytest.mark.parametrize("rule", ["good.example/udp", "good.example:1-9/udp", "203.0.113.0/24:9/udp", "*.sub.example:9/udp"])
def test_udp_rule_without_one_port_of_one_host_is_refused(sandbox, rule):
    outcome = sandbox.run("--allow", rule, "-l", "shell", "-c", "true")
    assert outcome.exit_code == 125 and "bad network destination" in outcome.error


def test_bytes_are_limited(world, sandbox, place):
    policy = sandbox.make_file(place / "policy.yaml", f"version: 1\nnetwork: {{ allow: ['{GOOD}'], bytes: 1M }}\n")
    result = world.python(sandbox, f"""
import socket
s = socket.create_connection(("{GOOD}", 7))
while True:
    s.sendall(b"x" * 50000)
    s.recv(65536)
""", "--policy", policy)
    assert (result["status"], result["signal"], result["_exit"]) == ("signaled", 9, 137), result
    assert [(v["what"], v["why"]) for v in result["violations"]] == [("bytes in and out", "the limit was reached")]


def rated(world, sandbox, place, code, rate, rule=GOOD):
    policy = sandbox.make_file(place / "policy.yaml", f"version: 1\nnetwork: {{ allow: ['{rule}'], rate: {rate} }}\n")
    return world.python(sandbox, PRELUDE + textwrap.dedent(code), "--policy", policy)


def test_receiving_is_slowed_to_the_limit(world, sandbox, place):
    """More than may go at once, from one who sends as fast as it can: it is slowed, goes on, and the run ends well."""
    result = rated(world, sandbox, place, f"""
        s = socket.create_connection(("{GOOD}", 10))
        got, slowed, went_on = 0, False, False
        while got < 48 << 20 or not went_on:
            got += len(s.recv(1 << 20))
            room = s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
            slowed = slowed or room < 10000
            went_on = slowed and room > 100000
        print("done")
        """, rate="32M")
    assert (result["status"], result["stdout"]) == ("ok", "done\n"), (result["message"], result["violations"], result["metrics"])


def test_several_connections_are_slowed_together(world, sandbox, place):
    result = rated(world, sandbox, place, f"""
        import threading
        def talk():
            s = socket.create_connection(("{GOOD}", 7)); got = 0
            for _ in range(20):
                s.sendall(b"x" * 100000); got = 0
                while got < 100000: got += len(s.recv(65536))
        threads = [threading.Thread(target=talk) for _ in range(4)]
        [t.start() for t in threads]; [t.join() for t in threads]
        print("done")
        """, rate="8M")
    assert (result["status"], result["stdout"]) == ("ok", "done\n"), (result["message"], result["violations"], result["metrics"])


def test_run_that_cannot_be_slowed_is_ended(world, sandbox, place):
    """The descriptor is under another number now, where nobody looks for it."""
    result = rated(world, sandbox, place, f"""
        s = socket.create_connection(("{GOOD}", 10)); t = s.dup(); s.close()
        while True: t.recv(1 << 20)
        """, rate="1M")
    assert (result["status"], result["signal"], result["_exit"]) == ("signaled", 9, 137), result
    assert [(v["what"], v["why"]) for v in result["violations"]] == [("bytes a second", "the limit was reached")]


def test_datagrams_beyond_the_rate_get_lost(world, sandbox, place):
    result = rated(world, sandbox, place, f"""
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect(("{GOOD}", 9)); s.settimeout(2)
        got = 0
        for _ in range(300):
            s.send(b"x" * 10000)
            try: got += len(s.recv(65536))
            except TimeoutError: break
        print(0 < got < 2000000)
        """, rate="64K", rule=f"{GOOD}:9/udp")
    assert (result["status"], result["stdout"]) == ("ok", "True\n"), result


def test_sending_is_slowed_to_the_limit(world, sandbox, place):
    """More than may go at once, as fast as it is taken: the kernel holds it up, and the run ends well."""
    policy = sandbox.make_file(place / "policy.yaml", f"version: 1\nnetwork: {{ allow: ['{GOOD}'], rate: 2M }}\n")
    code = f"""
import socket
s = socket.create_connection(("{GOOD}", 9))
for _ in range(34): s.sendall(b"x" * 100000)
s.shutdown(socket.SHUT_WR)
print(len(s.recv(9)))
"""
    result = world.python(sandbox, code, "--policy", policy)
    assert (result["status"], result["stdout"]) == ("ok", "0\n"), result


def test_empty_datagrams_count_by_their_headers(world, sandbox, place):
    policy = sandbox.make_file(place / "policy.yaml", f"version: 1\nnetwork: {{ allow: ['{GOOD}:9/udp'], bytes: 100K }}\n")
    result = world.python(sandbox, f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("{GOOD}", 9))
for _ in range(20000):
    s.send(b"")
    s.recv(1)
""", "--policy", policy)
    assert (result["status"], result["signal"]) == ("signaled", 9), result
    assert [(v["what"], v["why"]) for v in result["violations"]] == [("bytes in and out", "the limit was reached")]
    assert (result["metrics"]["net_rx_bytes"], result["metrics"]["net_tx_bytes"]) == (0, 0)


def test_refused_attempts_are_counted(world, sandbox):
    result = run(world, sandbox, f"""
        for _ in range(3):
            attempt(lambda: socket.getaddrinfo("other.example", 80, socket.AF_INET))
            attempt(lambda: socket.create_connection(("{OTHER}", 81)))
        attempt(lambda: socket.create_connection(("{OTHER}", 82)))
        """, "--allow", GOOD)
    told = {violation["what"]: (violation["count"], violation["why"]) for violation in result["violations"]}
    assert told == {"resolve other.example": (3, "the name is not allowed"),
                    f"connect {OTHER}:81": (3, "not allowed, nor an address of an allowed name"),
                    f"connect {OTHER}:82": (1, "not allowed, nor an address of an allowed name")}


def test_usage_while_it_runs_has_the_network(world, sandbox):
    code = f"""
import socket
s = socket.create_connection(("{GOOD}", 7))
s.sendall(b"x" * 10000); got = 0
while got < 10000: got += len(s.recv(65536))
input()
"""
    events = world.run_held(sandbox, "--allow", GOOD, "-l", "python", "-c", code, until=[is_counted(10000)])
    last = [event for event in events if event["event"] == "usage"][-1]
    assert (last["network_in"], last["network_out"]) == (10000, 10000)


def test_refusals_are_events_and_records(world, sandbox):
    code = f"import socket\ntry: socket.create_connection(('{OTHER}', 80))\nexcept OSError: pass"
    with world.start(sandbox, "-o", "jsonl", "--allow", GOOD, "-l", "python", "-c", code) as process:
        events = [json.loads(line) for line in process.communicate(timeout=60)[0].splitlines()]
    told = [event["what"] for event in events if event["event"] == "violation"]
    assert told == [f"network: connect {OTHER}:80: not allowed, nor an address of an allowed name"]
    record = json.loads(sandbox.call("history", "show", events[-1]["result"]["id"], "--json").stdout)
    assert f"connect {OTHER}:80" in json.dumps(record)


# ---- what it costs those who do not want it, and what is missing ----

def test_program_that_is_not_there_is_told_and_wanted_by_nobody_else(sandbox, place):
    """Without a network nothing of it is started: its program may be missing."""
    copy = place / "bin"
    copy.mkdir(mode=0o755)
    for source in (program_path(), helper_path()):
        shutil.copy2(source, copy / source.name)
    env = {"SANDBOX_INIT": str(copy / "sandbox-init")}
    assert sandbox.run("-l", "shell", "-c", "echo ran", "--no-warm", env=env).stdout == b"ran\n"
    outcome = sandbox.run("--network", "dns", "-l", "shell", "-c", "true", env=env)
    assert outcome.exit_code == 125
    assert "sandbox-network': No such file or directory" in outcome.error and "hint: install it beside" in outcome.error


def test_socket_used_once_more_is_counted_once_more(world, sandbox):
    """A guest that disconnects a socket and connects it again does not get past the counters."""
    result = run_held(world, sandbox, f"""
        import ctypes
        libc = ctypes.CDLL(None)
        s = socket.create_connection(("{GOOD}", 7))
        for _ in range(3):
            s.sendall(b"x" * 1000); got = 0
            while got < 1000: got += len(s.recv(4096))
            input()  # The counters are looked at now and then.
            libc.connect(s.fileno(), bytes(16), 16)
            s.connect(("{GOOD}", 7))
        """, "--allow", GOOD, until=[is_counted(1000), is_counted(2000), is_counted(3000)])
    metrics = result["metrics"]
    assert (metrics["net_connections"], metrics["net_rx_bytes"], metrics["net_tx_bytes"]) == (4, 3000, 3000)


# ---- where nothing can be reached ----

CLOSED = """
def reach(address, family=socket.AF_INET, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as s:
        return attempt(lambda: s.sendto(b"x", address) if kind == socket.SOCK_DGRAM else s.connect(address))
for _ in range(2):
    assert isinstance(reach(("203.0.113.10", 443)), str)
assert isinstance(reach(("2001:db8:2::10", 5), socket.AF_INET6), str)
assert isinstance(reach(("203.0.113.10", 9), kind=socket.SOCK_DGRAM), str)
assert attempt(lambda: socket.getaddrinfo("good.example", 80)) == socket.EAI_AGAIN
print(reach(("127.0.0.1", 80)))
with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
    server.bind("/tmp/socket"); server.listen(); client.connect("/tmp/socket")
"""


@pytest.mark.parametrize("mode, loopback", [("none", "EACCES"), ("localhost", "ECONNREFUSED")])
def test_attempts_without_a_network_are_told(sandbox, mode, loopback):
    result = sandbox.run_json("--network", mode, "-l", "python", "-c", PRELUDE + CLOSED)
    assert (result["status"], result["stdout"]) == ("ok", loopback + "\n"), result
    names = result["violations"].pop(3)
    assert (names["what"], names["why"]) == ("resolve a name", f"network is {mode}") and names["count"] > 0
    assert [(v["kind"], v["what"], v["why"], v["count"]) for v in result["violations"]] == [
        ("network", f"connect {GOOD}:443", f"network is {mode}", 2),
        ("network", f"connect [{GOOD6}]:5", f"network is {mode}", 1),
        ("network", f"send udp {GOOD}:9", f"network is {mode}", 1),
    ] + ([("network", "connect 127.0.0.1:80", "network is none", 1)] if mode == "none" else [])


def test_many_attempts_at_once_are_all_told(sandbox):
    """Each waits for an answer, and none is lost."""
    result = sandbox.run_json("-l", "python", "-c", PRELUDE + """
import threading
def work():
    for _ in range(100): attempt(lambda: socket.socket().connect(("203.0.113.10", 80)))
threads = [threading.Thread(target=work) for _ in range(10)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
    assert result["status"] == "ok", result
    assert [(v["what"], v["count"]) for v in result["violations"]] == [(f"connect {GOOD}:80", 1000)]


def test_many_attempts_do_not_hide_the_limit_that_ended_the_run(sandbox):
    result = sandbox.run_json("-m", "64M", "-l", "python", "-c", PRELUDE + """
for i in range(40):
    with socket.socket() as s: attempt(lambda: s.connect(("203.0.113.%d" % i, 80)))
x = bytearray(1 << 30)
for i in range(0, len(x), 4096): x[i] = 1
""")
    kinds = [v["kind"] for v in result["violations"]]
    assert result["status"] == "memory_limit" and kinds.count("network") == 16 and "memory" in kinds, result


def test_cases_sum_what_went_over_the_network(world, sandbox, place):
    cases = sandbox.make_file(place / "cases.yaml", "cases: [{stdin: a}, {stdin: b}, {stdin: c}]\n")
    result = run(world, sandbox, f"""
        s = socket.create_connection(("{GOOD}", 7))
        s.sendall(b"x" * 1000); got = 0
        while got < 1000: got += len(s.recv(4096))
        time.sleep(1)
        """, "--allow", GOOD, "--cases", cases)
    metrics = result["metrics"]
    assert (metrics["net_connections"], metrics["net_rx_bytes"], metrics["net_tx_bytes"]) == (3, 3000, 3000), result
