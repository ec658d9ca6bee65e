"""The workspace: fresh or kept, and the files that a run changed in it, never followed, never read."""

import os
import stat
import subprocess
import sys

import pytest


@pytest.fixture
def workspace(sandbox, place):
    path = place / "workspace"
    path.mkdir()
    return sandbox.own(path)


def in_workspace(sandbox, workspace, code, *flags):
    return sandbox.shell(code, "--workspace", str(workspace), *flags)


def test_a_fresh_workspace_is_empty(sandbox):
    assert sandbox.shell("ls -A")["stdout"] == ""


def test_created_files_of_a_fresh_workspace_are_told(sandbox):
    files = sandbox.shell("echo a > b.txt; mkdir -p d/e; touch d/e/f; touch a.txt")["files"]
    assert files["created"] in (["a.txt", "b.txt", "d/e/f"], ["a.txt", "b.txt", "d", "d/e", "d/e/f"])
    assert files["modified"] == [] and files["deleted"] == []


def test_a_fresh_workspace_does_not_last(sandbox):
    sandbox.shell("touch kept")
    assert sandbox.shell("ls -A")["stdout"] == ""


def test_files_outside_of_the_workspace_are_not_told(sandbox):
    assert sandbox.shell("touch /tmp/x /dev/shm/y")["files"]["created"] == []


def test_a_kept_workspace_is_kept(sandbox, workspace):
    in_workspace(sandbox, workspace, "echo one > file")
    assert in_workspace(sandbox, workspace, "cat file")["stdout"] == "one\n"
    assert (workspace / "file").read_text() == "one\n"


def test_files_of_a_kept_workspace_belong_to_the_caller(sandbox, workspace):
    in_workspace(sandbox, workspace, "echo one > file")
    os.unlink(workspace / "file")
    if not sandbox.is_root:
        in_workspace(sandbox, workspace, "echo one > file")
        assert (workspace / "file").stat().st_uid == sandbox.uid


def test_changes_in_a_kept_workspace_are_told(sandbox, workspace):
    in_workspace(sandbox, workspace, "echo 1 > same; echo 1 > changed; echo 1 > gone; mkdir d; echo 1 > d/in")
    files = in_workspace(sandbox, workspace, "echo 22 > changed; rm gone; echo 1 > new; echo 22 > d/in; cat same")["files"]
    assert files["created"] == ["new"]
    assert [name for name in files["modified"] if name != "d"] == ["changed", "d/in"]
    assert files["deleted"] == ["gone"]


def test_a_change_of_equal_size_is_told(sandbox, workspace):
    in_workspace(sandbox, workspace, "echo 1 > f")
    assert in_workspace(sandbox, workspace, "echo 2 > f")["files"]["modified"] == ["f"]


def test_a_run_that_changes_nothing_tells_nothing(sandbox, workspace):
    in_workspace(sandbox, workspace, "echo 1 > f")
    files = in_workspace(sandbox, workspace, "cat f")["files"]
    assert files["created"] == files["modified"] == files["deleted"] == []


def test_files_of_the_host_can_be_read(sandbox, workspace):
    sandbox.make_file(workspace / "given", "host data")
    assert in_workspace(sandbox, workspace, "cat given")["stdout"] == "host data"


def test_links_are_told_and_not_followed(sandbox, workspace, place):
    outside = place / "outside"
    outside.mkdir()
    (outside / "secret-name").write_text("x")
    result = in_workspace(sandbox, workspace, f"ln -s {outside} link; ln -s / root; ln -s link link2; ln -s self self")
    assert "secret-name" not in str(result["files"])
    assert all("/" not in name for name in result["files"]["created"])


def test_fifos_and_sockets_do_not_hold_the_run_up(sandbox, workspace):
    code = "import os, socket; os.mkfifo('fifo'); socket.socket(socket.AF_UNIX).bind('sock'); open('f', 'w')"
    result = sandbox.python(code, "--workspace", str(workspace))
    assert result["status"] == "ok"
    assert "f" in result["files"]["created"]


def test_a_fifo_left_by_an_earlier_run_does_not_hold_the_next_up(sandbox, workspace):
    in_workspace(sandbox, workspace, "mkfifo fifo")
    assert in_workspace(sandbox, workspace, "true")["status"] == "ok"


def test_sparse_files_are_told_and_not_read(sandbox, workspace):
    result = in_workspace(sandbox, workspace, "truncate -s 50M sparse && echo made")
    assert (result["stdout"], result["files"]["created"]) == ("made\n", ["sparse"])
    assert (workspace / "sparse").stat().st_blocks < 100


@pytest.mark.parametrize("kind", ["fresh", "kept"])
def test_odd_names_are_told_as_valid_json(sandbox, workspace, kind):
    code = "import os\nfor n in (b'new\\nline', b'inv\\xff\\xfe', 'ü'.encode(), b'q\"'): open(n, 'w').close()"
    flags = ["--workspace", str(workspace)] if kind == "kept" else []
    created = sandbox.python(code, *flags)["files"]["created"]
    assert len(created) == 4
    assert "ü" in created and 'q"' in created and any("line" in name for name in created)


def test_the_list_is_capped(sandbox):
    code = "for i in range(5000): open(f'f{i:05}', 'w').close()"
    result = sandbox.python(code)
    assert result["status"] == "ok"
    assert 0 < len(result["files"]["created"]) <= 1000


def test_a_workspace_that_is_a_link_is_refused_or_its_target(sandbox, place, workspace):
    link = place / "link"
    link.symlink_to(workspace)
    outcome = sandbox.run("--json", "-l", "shell", "--workspace", str(link), "-c", "echo 1 > f")
    if outcome.exit_code == 125:
        assert outcome.error.startswith("sandbox: ") and str(link) in outcome.error
        assert not (workspace / "f").exists()
    else:
        assert outcome.exit_code == 0 and (workspace / "f").exists()


def test_a_workspace_that_is_not_there_is_made_for_the_caller_alone(sandbox, place):
    missing = place / "missing"
    assert in_workspace(sandbox, missing, "touch made")["status"] == "ok"
    assert (missing / "made").exists() and missing.stat().st_uid == sandbox.uid
    assert missing.stat().st_mode & 0o077 == 0


def test_a_relative_workspace_is_the_callers(sandbox, place, workspace):
    assert sandbox.shell("touch made", "--workspace", "workspace", cwd=place)["status"] == "ok"
    assert (workspace / "made").exists()


def test_a_set_user_id_bit_in_the_workspace_gives_nothing(sandbox, workspace):
    result = in_workspace(sandbox, workspace, "cp /bin/id suid && chmod 4755 suid; ./suid -u")
    assert result["stdout"].split()[-1] == "1000"


def test_a_kept_workspace_has_no_device(sandbox, workspace):
    in_workspace(sandbox, workspace, "mknod dev c 1 3; mknod disk b 8 0; true")
    kinds = [os.lstat(workspace / name).st_mode for name in os.listdir(workspace)]
    assert not any(stat.S_ISCHR(mode) or stat.S_ISBLK(mode) for mode in kinds)


def test_the_code_is_not_in_the_workspace(sandbox):
    assert sandbox.python("import os; print(__file__, os.listdir('.'))")["stdout"] == "/code/main.py []\n"


def test_deep_directories_are_survived(sandbox, workspace, no_leftovers):
    code = "import os\nfor _ in range(600):\n    os.mkdir('d' * 100); os.chdir('d' * 100)\nopen('bottom', 'w')"
    assert sandbox.python(code, "--workspace", str(workspace))["status"] in ("ok", "disk_limit")


@pytest.mark.parametrize("code", ["open('big', 'ab').write(b'x' * (9 << 20))",
                                  "import subprocess; subprocess.run('head -c 9M /dev/zero >> big', shell=True, check=True)"])
@pytest.mark.parametrize("before", [None, 3 << 20])
def test_one_file_beyond_the_disk_limit_is_told(sandbox, workspace, code, before):
    if before:
        sandbox.make_file(workspace / "big", "y" * before)
    result = sandbox.python(code, "--workspace", str(workspace), "--disk", "5M")
    assert (result["status"], [v["kind"] for v in result["violations"]]) == ("disk_limit", ["disk"]), result
    assert (workspace / "big").stat().st_size == 5 << 20


def test_a_file_that_was_full_before_is_no_disk_limit(sandbox, workspace):
    sandbox.make_file(workspace / "big", "y" * (5 << 20))
    assert sandbox.python("raise SystemExit(3)", "--workspace", str(workspace), "--disk", "5M")["status"] == "failed"


def test_two_runs_may_share_a_workspace(sandbox, workspace):
    first = sandbox.start("run", "-l", "shell", "--stdin", "-", "--workspace", str(workspace), "-c",
                          "echo 1 > a; echo ready; read x", stdin=subprocess.PIPE)
    assert first.stdout.readline() == b"ready\n"
    assert in_workspace(sandbox, workspace, "cat a")["stdout"] == "1\n"
    first.communicate(b"go\n", timeout=60)
    assert first.returncode == 0


def test_a_kept_workspace_survives_a_killed_run(sandbox, workspace):
    in_workspace(sandbox, workspace, "echo 1 > a; sleep 60", "-t", "3s")
    assert (workspace / "a").read_text() == "1\n"


@pytest.mark.parametrize("flags, exit_code", [(["--volume", "/no/such/folder:/x"], 125), (["--check", "block"], 126)])
def test_a_run_that_does_not_begin_leaves_no_new_workspace(sandbox, place, flags, exit_code):
    folder = place / "new"
    outcome = sandbox.run("--workspace", str(folder), *flags, "-l", "python", "-c", 'import os\nos.system("id")')
    assert outcome.exit_code == exit_code and not folder.exists(), outcome


def test_a_run_that_begins_keeps_the_workspace_that_it_made(sandbox, place):
    assert sandbox.run("--workspace", str(place / "new"), "-l", "shell", "-c", "true").exit_code == 0
    assert (place / "new").is_dir()


@pytest.mark.parametrize("kind", ["proc", "sysfs"])
@pytest.mark.parametrize("within", ["", "deeper/with a blank"])
def test_the_machine_cannot_be_handed_in_under_another_name(sandbox, place, kind, within):
    if os.getuid() != 0:
        pytest.skip("only root can mount")
    folder = sandbox.make_directory(place / "data")
    mount = folder / within
    mount.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", kind, "none", str(mount)], check=True)
    try:
        outcome = sandbox.run("--volume", f"{folder}:/data", "-l", "shell", "-c", "ls /data")
    finally:
        subprocess.run(["umount", str(mount)], check=True)
    assert outcome.exit_code == 125 and "cannot be handed in" in outcome.error, outcome
    assert sandbox.run("--volume", f"{folder}:/data", "-l", "shell", "-c", "ls /data").exit_code == 0


# ---- links that one run leaves in the way of the next ----

@pytest.fixture
def outside(sandbox, place):
    """A folder of the host that nobody handed in; what is planted points to it."""
    path = place / "outside"
    path.mkdir()
    return sandbox.own(path)


@pytest.mark.parametrize("root", ["/workspace", "/data"])
@pytest.mark.parametrize("handed_in", ["folder", "file"])
def test_a_link_in_the_way_of_a_volume_is_not_followed(sandbox, workspace, outside, place, root, handed_in):
    """Before the program starts, paths are still the host's."""
    volume, target = place / "volume", workspace / "a/b"
    target.parent.mkdir()
    sandbox.own(target.parent)
    for path in (volume, target):
        path.mkdir() if handed_in == "folder" else path.write_text("handed in")
        sandbox.own(path)
    shared = ["--workspace", str(workspace)] if root == "/workspace" else ["--volume", f"{workspace}:/data:rw"]
    used = sandbox.shell(f"ls -d {root}/a/b", *shared, "--volume", f"{volume}:{root}/a/b")
    assert used["stdout"] == f"{root}/a/b\n", used
    assert sandbox.shell(f"cd {root} && mv a z && ln -s {outside} a", *shared)["status"] == "ok"
    outcome = sandbox.run("-l", "shell", *shared, "--volume", f"{volume}:{root}/a/b", "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (125, b"") and f"{root}/a/b" in outcome.error, outcome
    assert list(outside.iterdir()) == []


def test_a_link_at_the_place_of_a_volume_is_not_followed(sandbox, workspace, outside, place):
    volume = place / "volume"
    volume.mkdir()
    sandbox.own(volume)
    (workspace / "a").symlink_to(outside)
    outcome = sandbox.run("-l", "shell", "--workspace", str(workspace), "--volume", f"{volume}:/workspace/a", "-c", "echo ran")
    assert (outcome.exit_code, outcome.stdout) == (125, b"") and "is not followed: remove it" in outcome.error, outcome
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("source", ["data", "data/deep", "./x/../data", "link/deep"])
@pytest.mark.parametrize("root", ["workspace", "volume"])
def test_a_volume_does_not_come_through_a_link_that_a_program_made(sandbox, workspace, outside, root, source):
    """What lies in a workspace can be handed in once more; what a program put there leads to nothing else."""
    (outside / "deep").mkdir()
    beside = outside.parent / "data"  # where x/../data leads to from outside
    beside.mkdir()
    sandbox.own(beside)
    shared = ["--workspace", str(workspace)] if root == "workspace" else ["--volume", f"{workspace}:/w:rw"]
    for folder in ("data", "data/deep", "x", "link", "link/deep"):
        (workspace / folder).mkdir()
        sandbox.own(workspace / folder)
    flags = [*shared, "--volume", f"{workspace}/{source}:/data:rw"]
    assert sandbox.shell("touch /data/made", *flags)["status"] == "ok"
    home = "/workspace" if root == "workspace" else "/w"
    assert sandbox.shell(f"cd {home}; for i in data x link; do mv $i old-$i; ln -s {outside} $i; done", *shared)["status"] == "ok"
    outcome = sandbox.run("-l", "shell", *flags, "-c", "echo ran; touch /data/planted")
    assert (outcome.exit_code, outcome.stdout) == (125, b"") and "goes through a link" in outcome.error, outcome
    assert [path.name for path in outside.rglob("*")] == ["deep"] and list(beside.iterdir()) == []


def test_a_link_behind_one_of_the_callers_own_is_not_followed(sandbox, workspace, outside, place):
    (place / "current").symlink_to(workspace / "data")
    (workspace / "data").mkdir()
    sandbox.own(workspace / "data")
    flags = ["--workspace", str(workspace), "--volume", f"{place}/current:/data:rw"]
    assert sandbox.shell("touch /data/made", *flags)["status"] == "ok"
    (workspace / "data").rename(workspace / "old")
    (workspace / "data").symlink_to(outside)
    outcome = sandbox.run("-l", "shell", *flags, "-c", "touch /data/planted")
    assert outcome.exit_code == 125 and "goes through a link" in outcome.error, outcome
    assert list(outside.iterdir()) == []


def test_a_link_beside_the_workspace_is_followed(sandbox, workspace, outside, place):
    (place / "beside").symlink_to(outside)
    result = sandbox.shell("touch /data/made", "--workspace", ".", "--volume", "../beside:/data:rw", cwd=workspace)
    assert result["status"] == "ok" and (outside / "made").exists(), result


def test_links_of_the_callers_own_are_followed(sandbox, workspace, place):
    (place / "link").symlink_to(workspace)
    (workspace / "data").mkdir()
    sandbox.own(workspace / "data")
    result = sandbox.shell("touch /data/made", "--workspace", f"{place}/link", "--volume", f"{place}/link/data:/data:rw")
    assert result["status"] == "ok" and (workspace / "data/made").exists(), result


def test_volumes_within_others_are_mounted_in_any_order(sandbox, workspace, place):
    for name in ("outer", "inner"):
        (place / name).mkdir()
        sandbox.own(place / name)
        sandbox.make_file(place / name / "what", name)
    (place / "outer/sub").mkdir()
    sandbox.own(place / "outer/sub")
    volumes = [["--volume", f"{place}/inner:/data/sub"], ["--volume", f"{place}/outer:/data"]]
    for first, second in (volumes, volumes[::-1]):
        assert sandbox.shell("cat /data/what /data/sub/what", *first, *second)["stdout"] == "outerinner"


def test_a_link_in_the_way_of_a_projects_file_is_not_followed(sandbox, workspace, outside, place):
    shared = place / "shared"
    shared.mkdir()
    sandbox.own(shared)
    project = place / "project"
    (project / "sub/l").mkdir(parents=True)
    (project / "main.py").write_text("print('ran')\n")
    (project / "sub/l/evil").write_text("evil\n")
    flags = ["--workspace", str(workspace), "--volume", f"{shared}:/code/sub:rw"]
    assert sandbox.python(f"import os; os.symlink('{outside}', '/code/sub/l')", *flags)["status"] == "ok"
    outcome = sandbox.run("--file", str(project), "--entry", "main.py", *flags)
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
    assert list(outside.iterdir()) == []


def test_a_volume_can_lie_behind_a_link_of_the_systems(sandbox, place):
    """/bin leads to usr/bin on most machines: within the container's own root."""
    volume = sandbox.make_file(place / "hello", "#!/bin/sh\necho hello\n", mode=0o755)
    assert sandbox.shell("/bin/true", "--volume", f"{volume}:/bin/true")["stdout"] == "hello\n"


def test_an_input_does_not_follow_a_link_out_of_the_workspace(sandbox, workspace, outside, place):
    """Also where there is no root of the program's own: Landlock holds by then."""
    given = sandbox.make_file(place / "given", "given")
    (workspace / "conf").symlink_to(outside)
    for backend in ("local", "container"):
        outcome = sandbox.run("-l", "shell", "--backend", backend, "--workspace", str(workspace),
                              "--input-file", f"{given}:conf/x", "-c", "echo ran")
        assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
        assert list(outside.iterdir()) == []


ECHO = ["-l", "sh", "-c", "echo ran"]
PATHS = {
    "collect-to": ["--collect", "*", "--collect-to", "{}", "-l", "sh", "-c", "touch made; echo ran"],
    "collect-to-new": ["--collect", "*", "--collect-to", "{}/new/", "-l", "sh", "-c", "touch made; echo ran"],
    "input-file": ["--input-file", "{}/text", *ECHO],
    "input-folder": ["--input-file", "{}:in", *ECHO],
    "stdin": ["--stdin", "{}/text", *ECHO],
    "log": ["--log", "{}/log", *ECHO],
    "code": ["{}/main.sh"],
    "file": ["--file", "{}/main.sh"],
    "files": ["--file", "{}/main.sh", "--file", "{}/text"],
    "project": ["{}", "--entry", "main.sh"],
    "template": ["--template", "{}/frame.sh", "-c", "echo ran"],
    "set-file": ["--template", "./frame.sh", "-c", "echo ran", "--set-file", "more={}/text"],
    "cases": ["--cases", "{}/cases.yaml", *ECHO],
}


@pytest.mark.parametrize("options", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("root", ["workspace", "volume"])
def test_what_a_call_uses_does_not_lie_behind_a_link_that_a_program_made(sandbox, place, workspace, outside, root, options):
    shared = ["--workspace", "workspace"] if root == "workspace" else ["--volume", "workspace:/w:rw"]
    used = workspace / "used"
    for folder in (outside, used):
        folder.mkdir(exist_ok=True)
        sandbox.own(folder)
        for name, text in (("main.sh", "echo ran"), ("text", "text"), ("frame.sh", "{{code}}"), ("cases.yaml", "- stdin: ''\n")):
            sandbox.make_file(folder / name, text)
    sandbox.make_file(place / "frame.sh", "{{code}} # {{more}}")
    before = sorted(outside.iterdir())
    call = [*[word.format("workspace/used") if word.startswith(("{}", "more=")) else word for word in options], *shared]
    assert sandbox.run(*call, cwd=place).exit_code == 0
    planted = sandbox.run(*shared, "-l", "sh", "-c", f"cd /w 2>/dev/null; mv used old && ln -s {outside} used", cwd=place)
    assert planted.exit_code == 0, planted
    outcome = sandbox.run(*call, cwd=place)
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
    assert "goes through a link in" in outcome.error and "\nhint: name the place itself" in outcome.error, outcome
    assert sorted(outside.iterdir()) == before


@pytest.mark.parametrize("way", ["link", "descriptor"])
def test_what_a_call_uses_may_lie_behind_a_link_of_the_callers_own(sandbox, place, workspace, outside, way):
    text = sandbox.make_file(outside / "text", "text\n")
    (place / "link").symlink_to("outside/text")
    with open(text) as file:
        path, passed = ("link", ()) if way == "link" else (f"/dev/fd/{file.fileno()}", (file.fileno(),))
        result = sandbox.shell("cat", "--workspace", "workspace", "--stdin", path, cwd=place, pass_fds=passed)
    assert result["stdout"] == "text\n", result


SHARED = """
sealed: true
filesystem:
  {workspace}
  mounts:
    - {{ source: shared/sub, target: /sub }}
    {mount}
{block}
"""


@pytest.mark.parametrize("ceiling, plant, tighter", [
    ({"mount": "- { source: shared, target: /shared, mode: rw }"}, "/shared",
     ["-l", "sh", "--volume", "{}/shared:/shared:ro"]),
    ({"workspace": "workspace: shared"}, "/workspace", ["-l", "sh", "--policy", "{}/fresh.yaml"]),
    ({"block": "languages: { sh: { filesystem: { workspace: shared } } }"}, "/workspace", ["-l", "shell"]),
], ids=["volume", "workspace", "language"])
def test_what_programs_could_write_to_by_some_layer_is_never_taken_for_the_callers_own(
        sandbox, place, outside, ceiling, plant, tighter):
    """Whoever may only tighten does not make a link good by asking for less."""
    sandbox.make_directory(place / "shared")
    sandbox.make_directory(place / "shared/sub")
    sandbox.make_file(outside / "secret", "secret")
    text = SHARED.format(**{"workspace": "", "mount": "", "block": "", **ceiling})
    policy = ["--policy", str(sandbox.make_file(place / "ops.yaml", text))]
    sandbox.make_file(place / "fresh.yaml", "filesystem: { workspace: null }\n")
    call = [*policy, *[word.format(place) for word in tighter], "-c", "cat /sub/secret"]
    assert sandbox.run(*call).exit_code == 1
    planted = sandbox.run(*policy, "-l", "sh", "-c", f"cd {plant} && mv sub old && ln -s {outside} sub")
    assert planted.exit_code == 0, planted
    outcome = sandbox.run(*call)
    assert (outcome.exit_code, outcome.stdout) == (125, b"") and "goes through a link" in outcome.error, outcome


# Exchanges its two paths without pause: each is a folder half of the time, and a link the other half.
EXCHANGE = """
import ctypes, os, sys
libc, here, both = ctypes.CDLL(None, use_errno=True), -100, [os.fsencode(path) for path in sys.argv[1:]]
while libc.renameat2(here, both[0], here, both[1], 2) == 0:
    pass
sys.exit(os.strerror(ctypes.get_errno()))
"""


@pytest.fixture
def exchanged(sandbox, workspace, outside):
    """A folder of the workspace that a program of another run exchanges with a link to the outside."""
    (outside / "secret").write_text("secret")
    outside.chmod(0o777)
    (workspace / "data").mkdir()
    (workspace / "data").chmod(0o777)
    (workspace / "link").symlink_to(outside)
    if sandbox.is_root:  # whom the local backend lets write there
        os.chown(workspace / "data", 65534, 65534)
        os.chown(outside, 65534, 65534)
    else:
        sandbox.own(workspace / "data")
    process = subprocess.Popen([sys.executable, "-c", EXCHANGE, workspace / "data", workspace / "link"])
    yield workspace / "data"
    assert process.poll() is None
    process.kill()
    process.wait()


@pytest.mark.parametrize("backend, seen", [("container", "/data"), ("local", "{}")])
def test_a_volume_that_is_exchanged_with_a_link_leads_nowhere_else(sandbox, workspace, outside, exchanged, backend, seen):
    """What was looked at is what is mounted."""
    for _ in range(60):
        outcome = sandbox.run("-l", "shell", "--no-record", "--backend", backend, "--volume", f"{workspace}:/w:rw",
                              "--volume", f"{exchanged}:/data", "-c", f"cat {seen.format(exchanged)}/secret")
        assert outcome.stdout == b"" and outcome.exit_code in (1, 125), outcome


@pytest.mark.parametrize("backend", ["container", "local"])
def test_a_workspace_that_is_exchanged_with_a_link_leads_nowhere_else(sandbox, workspace, outside, exchanged, backend):
    for _ in range(60):
        outcome = sandbox.run("-l", "shell", "--no-record", "--backend", backend, "--volume", f"{workspace}:/w:rw",
                              "--workspace", str(exchanged), "-c", "cat secret; touch planted")
        assert outcome.stdout == b"" and outcome.exit_code in (0, 1, 125), outcome
    assert [path.name for path in outside.iterdir()] == ["secret"]
