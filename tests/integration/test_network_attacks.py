"""Network control: ways around it, each with the refusal it must meet."""

import json
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import textwrap
import time

import pytest

from helpers import processes
from helpers.network_world import ABSTRACT, GOOD, GOOD6, HOST_PORT, LINK6, METADATA, OTHER, PRELUDE, PRIVATE, SILENT, printed, run_python as run
from helpers.program import SLOWNESS, network_path

SOURCE = pathlib.Path(__file__).parent / "network/attack.c"
RULES = ["--allow", f"{GOOD}:80", "--allow", f"{GOOD}:1-10"]


def forbidden(lines):
    return [line for line in lines if line.split()[1] in (OTHER, PRIVATE, METADATA, "192.0.2.1") or line.startswith("udp")]


def test_raw_system_calls_reach_nobody_else(world, sandbox, compile_program):
    program = compile_program("network-attack", SOURCE.read_text(), "-pthread")
    before = len(world.seen())
    result = world.run(sandbox, *RULES, "--timeout", f"{150 * SLOWNESS}s", "--cpu-time", f"{50 * SLOWNESS}s", "-e", f"HOST_PORT={HOST_PORT}",
                       "-l", "binary", "--file", program)
    lines = result["stdout"].splitlines()
    assert lines and lines[-1] == "DONE", result
    assert [line for line in lines if not line.startswith(("REFUSED", "DONE"))] == []
    assert forbidden(world.seen()[before:]) == []
    told = {violation["what"] for violation in result["violations"]}
    assert f"connect {OTHER}:80" in told and f"connect {METADATA}:80" in told


def test_interface_that_nobody_allowed(world, sandbox):
    """The address is allowed, the interface is the guest's idea: neither a new socket nor a given one takes it."""
    before = len(world.seen())
    result = run(world, sandbox, f"""
        import ctypes
        libc = ctypes.CDLL(None)
        print([errno.errorcode.get(socket.socket(socket.AF_INET6).connect_ex(("{LINK6}", 80, 0, i)), "reached") for i in range(1, 9)])
        s = socket.socket(socket.AF_INET6); s.connect(("{GOOD6}", 80))
        libc.connect(s.fileno(), bytes(28), 28)
        print([errno.errorcode.get(s.connect_ex(("{LINK6}", 80, 0, i)), "reached") for i in range(1, 9)])
        """, "--allow", GOOD6, "--allow", LINK6)
    assert printed(result) == [str(["EINVAL"] * 8)] * 2
    assert f"tcp {LINK6} 80" not in " ".join(world.seen()[before:])


def test_unix_sockets_of_the_host(world, sandbox, place):
    """By path and by abstract name. Who is not in a sandbox reaches both."""
    path = str(place / "host.socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        os.chmod(path, 0o777)
        code = PRELUDE + textwrap.dedent(f"""
            for name in ({path!r}, {ABSTRACT!r}):
                s = socket.socket(socket.AF_UNIX); print(attempt(lambda: s.connect(name)))
            """)
        outside = subprocess.run([*world.words(sandbox), "python3", "-c", code], capture_output=True, text=True, check=True)
        result = world.python(sandbox, code, *RULES)
    assert outside.stdout.split() == ["None", "None"]
    assert printed(result) == ["ENOENT", "ECONNREFUSED"]


def test_sockets_that_the_caller_has_open(world, sandbox):
    """What leads out of the caller's own descriptors is not inherited."""
    with socket.socket() as one, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as two:
        code = PRELUDE + f"print([attempt(lambda: os.fstat(fd)) for fd in {[one.fileno(), two.fileno()]}])"
        with world.start(sandbox, "--json", *RULES, "-l", "python", "-c", code, pass_fds=[one.fileno(), two.fileno()]) as process:
            result = json.loads(process.communicate(timeout=60)[0])
    assert printed(result) == ["['EBADF', 'EBADF']"]


def test_name_that_changes_its_answer(world, sandbox):
    """DNS rebinding: first a public address, then private ones."""
    result = run(world, sandbox, """
        seen = []
        for _ in range(4):
            seen.append(attempt(lambda: socket.gethostbyname("changing.example")))
        print(seen[0], [type(one).__name__ for one in seen[1:]])
        print(attempt(lambda: socket.create_connection(("10.9.8.7", 80))))
        """, "--allow", "changing.example")
    lines = printed(result)
    # The name's first answer comes once in the life of its server: later runs see the private ones at once.
    assert "10.9.8.7" not in result["stdout"] and "127.0.0.1" not in result["stdout"], result
    assert lines[1] == "ENETUNREACH"


@pytest.mark.parametrize("text", ["3405803787", "0313.0.0161.013", "0xcb.0x0.0x71.0xb", "203.113.11", "0xcb00710b"])
def test_address_in_another_writing(world, sandbox, text):
    before = len(world.seen())
    result = run(world, sandbox, f"""
        print(attempt(lambda: socket.create_connection(("{text}", 80))))
        """, "--allow", "good.example")
    assert printed(result) != [] and "socket" not in result["stdout"]
    assert forbidden(world.seen()[before:]) == []


def test_names_that_are_no_names(world, sandbox):
    """Questions that a parser could stumble over are answered or dropped; the next one is served."""
    result = run(world, sandbox, """
        import random
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setblocking(False)
        good = b"\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x04good\\x07example\\0\\0\\x01\\0\\x01"
        random.seed(1)
        for i in range(2000):
            query = bytearray(good)
            for _ in range(random.randrange(1, 6)):
                query[random.randrange(len(query))] = random.randrange(256)
            s.sendto(bytes(query[:random.randrange(len(query) + 1)]), ("127.0.0.1", 53))
            if i % 50 == 0:
                try:
                    while True: s.recv(2000)
                except BlockingIOError:
                    pass
        stream = socket.create_connection(("127.0.0.1", 53))
        attempt(lambda: stream.sendall(b"\\xff\\xff" + b"x" * 70000))
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)
        for _ in range(5):
            s.sendto(good, ("127.0.0.1", 53))
            try: print(len(s.recv(2000)) > 40); break
            except TimeoutError: pass
        """, "--allow", "good.example")
    assert printed(result) == ["True"]


def broker_of(process):
    """The process that makes the connections of a run that was started."""
    return next(pid for pid in processes.children(process.pid) if processes.status(pid, "Name") == ["sandbox-network"])


def test_namespace_of_the_guest_holds_nothing_but_its_loopback(world, sandbox):
    if os.geteuid() != 0:
        pytest.skip("what another user's processes see is closed to us")
    with world.start(sandbox, *RULES, "--stdin", "-", "-l", "python", "-c", "print('up', flush=True); input()",
                     stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"up\n"
        here = processes.link(process.pid, "ns/net")
        others = [pid for pid in processes.below(process.pid) if processes.link(pid, "ns/net") not in (here, "")]
        devices = {line.split(":")[0].strip() for pid in others
                   for line in pathlib.Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]}
        process.communicate(b"\n", timeout=60)
    assert others and devices == {"lo"}


def test_broker_has_no_more_rights_than_it_needs(world, sandbox):
    """Root's broker is the guest's user, sees /proc alone and has no capability; nor has an ordinary caller's."""
    code = PRELUDE + f"socket.create_connection(('{GOOD}', 80)); print('up', flush=True); sys.stdin.read()"
    with world.start(sandbox, *RULES, "--stdin", "-", "-l", "python", "-c", code, stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"up\n"
        broker = broker_of(process)
        lines = (line.partition(":") for line in pathlib.Path(f"/proc/{broker}/status").read_text().splitlines())
        status = {name: value.split() for name, _, value in lines}
        root = os.readlink(f"/proc/{broker}/root") if os.geteuid() == 0 else None
        process.communicate(b"", timeout=60)
    assert all(int(status[name][0], 16) == 0 for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")), status
    assert (status["NoNewPrivs"], status["Seccomp"]) == (["1"], ["2"])
    if sandbox.uid == 0:
        assert len(set(status["Uid"] + status["Gid"])) == 1 and status["Uid"][0] != "0" and status["Groups"] == [], status
        assert root == "/proc"
    else:
        assert set(status["Uid"]) == {str(sandbox.uid)}


def test_work_for_the_guest_is_the_guests_cpu_time(world, sandbox):
    """Calls that are refused cost more than they cost the guest: both count."""
    result = world.python(sandbox, PRELUDE + textwrap.dedent(f"""
        while True:
            for _ in range(100):
                with socket.socket() as s: s.connect_ex(("{OTHER}", 80))
            print(time.process_time(), flush=True)
        """), *RULES, "--cpu-time", "1s", "--timeout", f"{50 * SLOWNESS}s")
    assert result["status"] == "cpu_limit", result["message"]
    assert float(printed(result)[-1]) < 0.9, "it had all of the second for itself"


def test_broker_that_is_slow(world, sandbox):
    """A guest waits for an answer; nothing gets through meanwhile, and all is served afterwards."""
    code = PRELUDE + textwrap.dedent(f"""
        import select
        print("up", flush=True)
        while not select.select([0], [], [], 0)[0]:
            for address in ("{OTHER}", "{GOOD}"):
                last = attempt(lambda: socket.create_connection((address, 80)).getpeername()[0])
        print(last)
        """)
    before = len(world.seen())
    with world.start(sandbox, *RULES, "--stdin", "-", "-l", "python", "-c", code, stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"up\n"
        for stopped in (process.pid, broker_of(process)):
            os.kill(stopped, signal.SIGSTOP)
            time.sleep(0.1)  # As long as it is made to sleep; nothing is waited for.
            os.kill(stopped, signal.SIGCONT)
        stdout = process.communicate(b"enough\n", timeout=60)[0]
    assert (process.returncode, stdout) == (0, f"{GOOD}\n".encode())
    assert forbidden(world.seen()[before:]) == []


@pytest.mark.parametrize("number, status", [(signal.SIGSTOP, "timeout"), (signal.SIGKILL, "internal_error")])
def test_limits_hold_while_connections_are_not_made(world, sandbox, number, status):
    """Whatever becomes of the one who makes connections, the clock of the run goes on."""
    with world.start(sandbox, "--json", *RULES, "--timeout", "2s", "-l", "python", "-c",
                     PRELUDE + f"while True: attempt(lambda: socket.create_connection(('{GOOD}', 7)).recv(0))") as process:
        while True:
            try:
                broker = broker_of(process)
                break
            except StopIteration:
                assert process.poll() is None
        os.kill(broker, number)
        result = json.loads(process.communicate(timeout=60)[0])
    assert result["status"] == status, result
    assert not pathlib.Path(f"/proc/{broker}").exists()


@pytest.mark.parametrize("way", ["close", "connect"])
def test_guest_cannot_hold_up_who_serves_it(world, sandbox, way, compile_program):
    program = compile_program("network-hold-up", (SOURCE.parent / "hold_up.c").read_text(), "-pthread")
    result = world.run(sandbox, "--allow", GOOD, "--allow", SILENT, "--timeout", f"{20 * SLOWNESS}s",
                       "-l", "binary", "--file", program, "--", way)
    assert (result["status"], printed(result)) == ("ok", ["served"]), result


def test_supervisor_that_dies_takes_the_guest_along(world, sandbox):
    code = PRELUDE + f"print('up', flush=True)\nwhile True: attempt(lambda: socket.create_connection(('{GOOD}', 7)))"
    with world.start(sandbox, *RULES, "-l", "python", "-c", code) as process:
        assert process.stdout.readline() == b"up\n"
        process.kill()
        assert process.wait(timeout=60) == -signal.SIGKILL


def test_no_room_for_descriptors_is_waited_out():
    """Where nothing more can be opened the program sleeps until it can, and serves what is open."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", 0))
    streams = socket.create_server(("127.0.0.1", 0), backlog=64)
    listener = os.eventfd(0)

    def limit():
        os.dup2(theirs.fileno(), 3)
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))

    with subprocess.Popen([network_path(), str(os.getpid()), "all-names"], preexec_fn=limit, close_fds=False) as program:
        theirs.close()
        socket.send_fds(ours, [struct.pack("=III", 0, 0, 0)], [listener, names.fileno(), streams.fileno()])
        held = [socket.create_connection(streams.getsockname()) for _ in range(16)]
        status = pathlib.Path(f"/proc/{program.pid}/stat")
        fds = pathlib.Path(f"/proc/{program.pid}/fd")
        while len(list(fds.iterdir())) < 20:
            assert program.poll() is None
        deadline = time.monotonic() + 15  # Half of what a silent stream is kept for.
        while status.read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < deadline, "it never rests"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.settimeout(60)
            asker.sendto(b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x09localhost\0\0\x01\0\x01", names.getsockname())
            assert asker.recv(512)[-4:] == bytes([127, 0, 0, 1])
        for one in held:
            one.close()
        with socket.create_connection(streams.getsockname()) as late:
            late.settimeout(60)
            late.sendall(b"\0\x1b\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x09localhost\0\0\x01\0\x01")
            assert late.recv(512)[-4:] == bytes([127, 0, 0, 1])
        ours.close()
        assert program.wait(timeout=60) == 0
    for one in (names, streams):
        one.close()
    os.close(listener)
