"""The checker of leftovers notices each kind of thing that a run could leave."""

import os
import pathlib
import shutil
import subprocess

import pytest

from helpers import leftovers

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="plants what only root can make")


def found(before, kind):
    return [thing for thing in leftovers.leftovers(before, deadline=0.3) if thing.startswith(kind)]


def test_a_process_with_the_helpers_name_is_noticed(tmp_path):
    program = tmp_path / "sandbox-init"
    shutil.copy("/bin/sleep", program)
    before = leftovers.snapshot()
    with subprocess.Popen([program, "60"]) as process:
        try:
            assert leftovers.wait_until(lambda: found(before, "process"), what="process seen")
        finally:
            process.kill()
    assert not leftovers.leftovers(before)


@root_only
def test_a_process_of_a_sandbox_user_is_noticed():
    before = leftovers.snapshot()
    with subprocess.Popen(["sleep", "60"], user=0x70000123) as process:
        try:
            assert found(before, "process")
        finally:
            process.kill()


@root_only
def test_a_zombie_is_noticed_unless_it_is_the_first_processs(monkeypatch):
    real = leftovers._status
    before = leftovers.snapshot()
    with subprocess.Popen(["true"], user=0x70000123) as process:
        leftovers.wait_until(lambda: real(process.pid, b"State:") == "Z", what="its end")
        assert found(before, f"process {process.pid} ")
        monkeypatch.setattr(leftovers, "_status",
                            lambda pid, field: "1" if (pid, field) == (str(process.pid), b"PPid:") else real(pid, field))
        assert not found(before, f"process {process.pid} ")


@root_only
def test_a_network_namespace_is_noticed():
    before = leftovers.snapshot()
    with subprocess.Popen(["unshare", "--net", "sleep", "60"]) as process:
        try:
            assert leftovers.wait_until(lambda: found(before, "namespace net"), what="namespace seen")
        finally:
            process.kill()


@root_only
def test_a_control_group_is_noticed():
    hierarchies = [path for path in pathlib.Path("/sys/fs/cgroup").iterdir() if (path / "cgroup.procs").exists()]
    base = hierarchies[0] if hierarchies else pathlib.Path("/sys/fs/cgroup")
    planted = base / "sandbox-run.planted"
    before = leftovers.snapshot()
    planted.mkdir()
    try:
        assert found(before, "cgroup")
    finally:
        planted.rmdir()


def test_a_file_is_noticed():
    before = leftovers.snapshot()
    planted = pathlib.Path("/dev/shm/sandbox-planted")
    planted.touch()
    try:
        assert found(before, "file")
    finally:
        planted.unlink()


@root_only
def test_a_mount_is_noticed(tmp_path):
    before = leftovers.snapshot()
    subprocess.run(["mount", "-t", "tmpfs", "none", tmp_path], check=True)
    try:
        assert found(before, "mount")
    finally:
        subprocess.run(["umount", tmp_path], check=True)
