"""What the result claims, against what the host's /proc shows of the live guest process."""

import json
import copy
import os
import pathlib
import resource
import subprocess
import time

import pytest

from helpers import processes
from helpers.leftovers import wait_until
from helpers.program import LIMIT_UIDS_FIRST

NAMES = ["user_namespace", "mount_namespace", "pid_namespace", "network", "ipc_namespace", "uts_namespace",
         "cgroup_namespace", "filesystem", "proc", "identity", "capabilities", "no_new_privs", "seccomp", "landlock",
         "descriptors", "session", "core_dumps", "cleanup", "timeout", "cpu_time", "memory", "processes", "disk",
         "open_files", "output"]
NAMESPACES = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"]
DEVICES = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
CAP_KILL = 5
WAIT = "echo started; read line; echo end"


class Guest:
    """A live guest process, seen from outside, and afterwards its result."""

    def __init__(self, sandbox, *flags):
        self.process = sandbox.start("run", "-o", "jsonl", "-l", "shell", "--stdin", "-", *flags, "-c", WAIT,
                                     stdin=subprocess.PIPE)
        for line in self.process.stdout:
            if json.loads(line).get("event") == "stdout":
                break
        # What analyses the program beside it may be among them, and end at any moment.
        self.chain = processes.below(self.process.pid)
        self.pid = next(pid for pid in self.chain if self.link(pid, "exe").endswith("/bash"))

    @staticmethod
    def link(pid, name):
        return processes.link(pid, name)

    def status(self, field, pid=None):
        return processes.status(pid or self.pid, field)

    def keeper(self):
        """The first process of its pid namespace."""
        return next(pid for pid in self.chain if self.status("NSpid", pid)[-1:] == ["1"] and self.link(pid, "ns/pid") ==
                    self.link(self.pid, "ns/pid"))

    def finish(self):
        stdout, _ = self.process.communicate(b"go\n", timeout=60)
        return json.loads(stdout.splitlines()[-1])["result"]


@pytest.fixture
def guest(sandbox):
    live = Guest(sandbox, "-m", "96M", "--processes", "24", "--open-files", "48", "--cpus", "1")
    yield live
    if live.process.poll() is None:
        live.process.kill()
        live.process.communicate()


@pytest.mark.parametrize("name", NAMES)
def test_every_protection_is_enforced_here(sandbox, name):
    found = {p["name"]: p for p in sandbox.shell("true")["protections"]}
    assert found[name]["state"] == "enforced" and found[name]["by"], found.get(name)


def test_the_user_is_unprivileged_on_the_host(sandbox, guest):
    uids = {int(uid) for uid in guest.status("Uid")}
    gids = {int(gid) for gid in guest.status("Gid")}
    assert len(uids) == 1 and len(gids) == 1
    if sandbox.is_root:
        assert min(uids) >= LIMIT_UIDS_FIRST and min(gids) >= LIMIT_UIDS_FIRST
    else:
        assert uids == {sandbox.uid}


def test_the_user_has_no_groups(guest):
    assert guest.status("Groups") in ([], [guest.status("Gid")[0]])


def test_two_runs_of_root_never_share_a_user(sandbox, guest):
    other = Guest(sandbox)
    try:
        assert not sandbox.is_root or other.status("Uid") != guest.status("Uid")
    finally:
        other.finish()


@pytest.mark.parametrize("name", ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
def test_no_capability_is_in_any_set(guest, name):
    assert int(guest.status(name)[0], 16) == 0


def test_a_lower_limit_of_the_callers_own_is_told(sandbox):
    if sandbox.is_root:
        pytest.skip("root raises it")
    result = sandbox.run_json("-l", "shell", "-c", "ulimit -n",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    told = next(p for p in result["protections"] if p["name"] == "open_files")
    assert result["stdout"] == "64\n" and told["state"] == "enforced" and told["detail"].startswith("64, "), told


def test_no_new_privileges_can_be_had(guest):
    assert guest.status("NoNewPrivs") == ["1"]


def test_a_filter_is_in_force(guest):
    assert guest.status("Seccomp") == ["2"]
    assert int(guest.status("Seccomp_filters")[0]) >= 1


@pytest.mark.parametrize("name", NAMESPACES)
def test_each_namespace_is_its_own(guest, name):
    assert guest.link(guest.pid, f"ns/{name}") not in ("", guest.link("self", f"ns/{name}"))


def test_the_time_namespace_is_left_alone(guest):
    assert guest.link(guest.pid, "ns/time") == guest.link("self", "ns/time")


def test_the_guest_is_not_the_first_process(guest):
    assert int(guest.status("NSpid")[-1]) > 1


def test_only_the_three_streams_are_open(guest):
    extra = [guest.link(guest.pid, f"fd/{fd}") for fd in os.listdir(f"/proc/{guest.pid}/fd") if int(fd) > 2]
    assert extra == ["/code/main.sh"]  # Which bash opened itself, to read its script.


def test_the_streams_are_not_the_callers_files(guest):
    links = [guest.link(guest.pid, f"fd/{fd}") for fd in range(3)]
    assert all(link.startswith(("pipe:", "socket:")) or link == "/dev/null" for link in links), links


def test_the_guest_has_a_session_of_its_own(guest):
    fields = pathlib.Path(f"/proc/{guest.pid}/stat").read_text().rsplit(")", 1)[1].split()
    session, terminal = int(fields[3]), int(fields[4])
    assert session != os.getsid(0) and session in guest.chain
    assert terminal == 0


@pytest.mark.parametrize("name, value", [("Max core file size", "0"), ("Max open files", "48")])
def test_the_limits_are_set_hard(guest, name, value):
    for line in pathlib.Path(f"/proc/{guest.pid}/limits").read_text().splitlines():
        if line.startswith(name):
            assert line[len(name):].split()[:2] == [value, value]
            return
    raise AssertionError(name)


def test_the_root_is_not_the_hosts(guest):
    mine, theirs = os.stat("/"), os.stat(f"/proc/{guest.pid}/root/")
    assert (mine.st_dev, mine.st_ino) != (theirs.st_dev, theirs.st_ino)


def mounts(guest):
    for line in pathlib.Path(f"/proc/{guest.pid}/mountinfo").read_text().splitlines():
        left, right = line.split(" - ", 1)
        fields = left.split()
        yield fields[4], set(fields[5].split(",")), fields[6:], right.split()[0]


def test_only_the_places_meant_are_writable(guest):
    writable = {place for place, options, _, _ in mounts(guest) if "rw" in options}
    assert writable <= {"/workspace", "/tmp", "/dev/shm", "/dev/pts", "/proc"} | DEVICES, writable


def test_every_mount_is_without_set_user_id(guest):
    # A mount of one device node holds nothing that could be set-user-id.
    assert [place for place, options, _, _ in mounts(guest) if "nosuid" not in options and place not in DEVICES] == []


def test_every_mount_but_the_devices_is_without_devices(guest):
    bad = [place for place, options, _, _ in mounts(guest)
           if "nodev" not in options and not place.startswith("/dev")]
    assert bad == []


def test_no_mount_is_shared_with_the_host(guest):
    assert not [place for place, _, tags, _ in mounts(guest) if any(tag.startswith(("shared", "master")) for tag in tags)]


def test_no_file_system_of_the_kernel_but_proc_is_there(guest):
    kinds = {kind for place, _, _, kind in mounts(guest) if place not in DEVICES}
    assert not kinds & {"sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "bpf", "devtmpfs"}


def test_the_root_holds_little(guest):
    names = set(os.listdir(f"/proc/{guest.pid}/root"))
    assert names <= {"usr", "bin", "lib", "lib64", "lib32", "libx32", "sbin", "etc", "dev", "proc", "tmp", "code",
                     "workspace", "app", "data"}, names


def test_etc_holds_little(guest):
    names = set(os.listdir(f"/proc/{guest.pid}/root/etc"))
    assert {"passwd", "group", "hosts"} <= names
    assert not names & {"shadow", "gshadow", "sudoers", "ssh", "fstab", "machine-id", "crontab"}


def test_the_hosts_name_is_not_in_etc(guest):
    path = pathlib.Path(f"/proc/{guest.pid}/root/etc/hostname")
    assert not path.exists() or path.read_text().strip() == "sandbox"


def cgroups(pid):
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        yield names, path


def cgroup_value(guest, controller, name):
    for names, path in cgroups(guest.pid):
        base = {"": "/sys/fs/cgroup"}.get(names, f"/sys/fs/cgroup/{names}")
        if controller in names.split(",") or (names == "" and os.path.exists(f"{base}{path}/{name}")):
            return pathlib.Path(f"{base}{path}/{name}").read_text().split()[0]
    return None


@pytest.mark.parametrize("name, files, value", [
    ("memory", ["memory.limit_in_bytes", "memory.max"], 96 << 20), ("processes", ["pids.max"], None)])
def test_the_limits_claimed_of_a_cgroup_are_in_the_cgroup(guest, name, files, value):
    controller = {"processes": "pids"}.get(name, name)
    found = next((seen for file in files if (seen := cgroup_value(guest, controller, file))), None)
    member = [path for names, path in cgroups(guest.pid) if "sandbox-run." in path]
    by = next(p["by"] for p in guest.finish()["protections"] if p["name"] == name)
    if not by.startswith("cgroup"):
        assert by == "monitor"
        return
    assert member
    assert value is None and 24 <= int(found) <= 28 or int(found or 0) == value


def test_the_share_claimed_is_in_the_cgroup(guest):
    quota = cgroup_value(guest, "cpu", "cpu.cfs_quota_us") or cgroup_value(guest, "cpu", "cpu.max")
    period = cgroup_value(guest, "cpu", "cpu.cfs_period_us") or "100000"
    claimed = {p["name"]: p for p in guest.finish()["protections"]}.get("cpus", {})
    if str(claimed.get("by")).startswith("cgroup"):
        assert int(quota) == int(period)


def test_the_helper_cannot_be_inspected_by_the_guest(guest):
    init = guest.keeper()
    assert os.stat(f"/proc/{init}/mem").st_uid == 0 or int(guest.status("Uid", init)[0]) != int(guest.status("Uid")[0])


def test_the_helper_may_do_nothing_more_than_signal_the_guest(guest):
    init = guest.keeper()

    def kept():
        return int(guest.status("CapEff", init)[0], 16) | int(guest.status("CapPrm", init)[0], 16)

    # It stands still until the program is executed, and then goes on beside it: give it that moment.
    give_up = time.monotonic() + 20
    while (kept() & ~(1 << CAP_KILL) or guest.status("NoNewPrivs", init) != ["1"]) and time.monotonic() < give_up:
        time.sleep(0.01)
    assert kept() & ~(1 << CAP_KILL) == 0
    assert guest.status("NoNewPrivs", init) == ["1"]


def test_the_result_claims_what_was_seen(guest):
    result = guest.finish()
    states = {p["name"]: p["state"] for p in result["protections"]}
    assert all(states[name] == "enforced" for name in NAMES), states
    assert result["stdout"] in ("started\nend\n", None, "") or result["stdout"].startswith("started")


def test_host_network_is_said_plainly(sandbox):
    result = sandbox.shell("true", "--network", "host")
    network = [p for p in result["protections"] if p["name"] == "network"]
    assert not network or network[0]["state"] != "enforced" or "host" in json.dumps(network[0]), network


def test_network_namespace_of_host_mode_is_the_hosts(sandbox):
    live = Guest(sandbox, "--network", "host")
    seen = live.link(live.pid, "ns/net")
    live.finish()
    assert seen == live.link("self", "ns/net")


def started(pid):
    """When a process did, as the kernel counts: a number may be another's soon. None where there is none."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def test_the_guest_is_killed_with_its_supervisor(guest):
    chain = {pid: started(pid) for pid in guest.chain}
    guest.process.kill()
    guest.process.communicate()
    wait_until(lambda: not any(started(pid) == when for pid, when in chain.items()), 60, "all processes gone")


@pytest.mark.parametrize("call, protection", [("landlock_restrict_self", "landlock"), ("sethostname", "uts_namespace"),
                                              ("setgroups", "identity")])
def test_a_step_that_did_nothing_is_found_out(sandbox, call, protection):
    """The kernel is made to say yes and to do nothing: the proof must not believe it."""
    if os.getuid() != 0 or sandbox.user != "root":
        pytest.skip("only root may trace the helper, and only root's guests give up groups")
    trace = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:retval=0"]
    done = subprocess.run([*trace, sandbox.path, "run", "--json", "--check", "off", "-l", "shell", "-c", "echo hi"],
                          env=sandbox.environment(), capture_output=True, text=True, timeout=60, extra_groups=[12345])
    result = json.loads(done.stdout)
    assert result["status"] == "refused" and protection in result["message"], result


def test_a_lesser_filter_is_not_taken_for_the_main_one(sandbox, tmp_path):
    """A run in a folder of the host's has two filters before the main one, which then is made to fail."""
    if os.getuid() != 0 or sandbox.user != "root":
        pytest.skip("only root may trace the helper")
    trace = ["strace", "-f", "-o", "/dev/null", "-e", "trace=seccomp", "-e", "inject=seccomp:error=ENOMEM:when=3+"]
    done = subprocess.run([*trace, sandbox.path, "run", "--json", "--check", "off", "--enforcement", "best-effort",
                           "--workspace", tmp_path, "-l", "shell", "-c", "echo hi"],
                          env=sandbox.environment(), capture_output=True, text=True, timeout=60)
    result = json.loads(done.stdout)
    found = next(item for item in result["protections"] if item["name"] == "seccomp")
    assert result["stdout"] == "hi\n" and found["state"] == "missing" and "Out of memory" in found["detail"], result


def test_groups_that_are_kept_are_told(sandbox):
    """Only root can give up groups for a guest."""
    if os.getuid() != 0:
        pytest.skip("only root can give a user more groups")
    outcome = sandbox.run("--json", "-l", "shell", "-c", "id -G", extra_groups=[12345])
    detail = next(item["detail"] for item in outcome.result["protections"] if item["name"] == "identity")
    if sandbox.user == "root":
        assert detail.endswith("no groups") and outcome.result["stdout"] == "1000\n", outcome
    else:
        assert detail.endswith("with 1 supplementary groups of the caller's"), detail


DEVICE_CHECK = """
for name in null zero full random urandom; do stat -c '%n %F %t:%T %a' /dev/$name; done
echo lost > /dev/null; head -c 3 /dev/zero | od -An -tx1; echo x 2>&1 > /dev/full || echo full
head -c 4 /dev/random | wc -c; head -c 4 /dev/urandom | wc -c; touch /dev/null 2>&1; cut -d ' ' -f 5,6 /proc/self/mountinfo | grep '^/dev'
"""


def devices(sandbox, *launcher):
    shadow = copy.copy(sandbox)
    if launcher:
        shadow.path = launcher[0]
    words = [*launcher[1:], str(sandbox.path)] if launcher else []
    outcome = shadow.call(*words, "run", "--json", "--backend", "container", "-l", "shell", "-c", DEVICE_CHECK)
    assert outcome.exit_code == 0, outcome
    return outcome.json["stdout"]


def test_the_devices_work_and_are_the_containers_own_as_root(sandbox):
    found = devices(sandbox)
    for name, minor in (("null", 3), ("zero", 5), ("full", 7), ("random", 8), ("urandom", 9)):
        assert f"/dev/{name} character special file 1:{minor} 666" in found, found
    assert " 00 00 00\n" in found and "full\n4\n4\n" in found, found
    if sandbox.is_root:
        assert "/dev ro,nosuid,noexec,relatime\n" in found and "/dev/null " not in found.rpartition("4\n")[2], found
        assert "Read-only file system" in found, found


def test_where_no_node_may_be_made_the_hosts_are_bound(sandbox):
    if not sandbox.is_root:
        pytest.skip("an ordinary user makes none anyway")
    plain = devices(sandbox)
    bound = devices(sandbox, "/usr/bin/setpriv", "--bounding-set", "-mknod", "--inh-caps", "-mknod")
    assert "/dev/null " in bound.rpartition("4\n")[2], bound
    assert plain.splitlines()[:5] == bound.splitlines()[:5]


TOUCH = "import os\nfor what in (0, '/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom'):\n    try:\n        os.utime(what); print(what)\n    except OSError as e:\n        assert e.errno in (1, 30), e"


@pytest.mark.parametrize("flags", [(), ("--network", "host"), ("--network", "localhost")], ids=["none", "host", "localhost"])
def test_the_hosts_devices_cannot_be_touched(sandbox, flags):
    before = os.stat("/dev/null").st_mtime_ns
    result = sandbox.run_json("--backend", "container", "-l", "python", *flags, "-c", TOUCH)
    assert (result["status"], result["stdout"]) == ("ok", ""), result
    assert os.stat("/dev/null").st_mtime_ns == before


LABELS = """
import ctypes, socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(41, 26, 1); s.setsockopt(41, 67, 1); s.setsockopt(41, 33, 1)  # V6ONLY, TCLASS, the one beside
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
libc = ctypes.CDLL(None, use_errno=True)
for high in (0, 1, 0x7fffffff):  # The kernel looks at the lower half alone.
    for level, option in ((41, 32), (41 | high << 32, 32), (41, 32 | high << 32), (41 | high << 32, 32 | high << 32)):
        r = libc.syscall(NUMBER, s.fileno(), ctypes.c_long(level), ctypes.c_long(option), bytes(32), 32)
        assert (r, ctypes.get_errno()) == (-1, 1), (high, level, option, r, ctypes.get_errno())
print("refused")
"""


def test_labels_of_flows_are_refused(sandbox):
    number = {"x86_64": "54", "aarch64": "208"}[os.uname().machine]
    result = sandbox.run_json("--backend", "container", "-l", "python", "-c", LABELS.replace("NUMBER", number))
    assert result["stdout"] == "refused\n", result


GROUPS = """
import ctypes, socket, struct
four, six = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
for option in (1, 2, 8, 10, 11, 33, 34, 49):  # TOS, TTL, PKTINFO, MTU_DISCOVER, RECVERR, MULTICAST_TTL, _LOOP, _ALL
    four.setsockopt(0, option, 1)
for option in (16, 18, 19, 23, 25, 26, 29, 49, 51, 66, 67):  # hops, loop, MTU, errors, V6ONLY, MULTICAST_ALL, RECVPKTINFO, ...
    six.setsockopt(41, option, 1)
group = struct.pack("i4xH2xI16s104x", 1, socket.AF_INET6, 0, socket.inet_pton(socket.AF_INET6, "ff02::100"))
libc = ctypes.CDLL(None, use_errno=True)
for s, level, options in ((four, 0, (35, 39, 41, 42, 46, 48)), (six, 41, (20, 27, 42, 46, 48))):
    for option in options:
        for high in (0, 1):
            r = libc.syscall(NUMBER, s.fileno(), ctypes.c_long(level | high << 32), ctypes.c_long(option | high << 40), group, len(group))
            assert (r, ctypes.get_errno()) == (-1, 1), (level, option, high, r, ctypes.get_errno())
print("refused")
"""


def test_no_group_is_joined_without_a_network(sandbox):
    """The kernel would go on telling of it when the run has ended, where the next one may see that it does."""
    number = {"x86_64": "54", "aarch64": "208"}[os.uname().machine]
    result = sandbox.run_json("--backend", "container", "-l", "python", "-c", GROUPS.replace("NUMBER", number))
    assert (result["status"], result["stdout"]) == ("ok", "refused\n"), result
