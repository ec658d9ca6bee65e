"""Installation: everything arrives under the prefix, and works from there without the build folder."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from helpers.program import REPOSITORY
from test_library import TEN_LINES, as_user, build_root

pytestmark = pytest.mark.skipif(not (build_root() / "build.ninja").exists(), reason="not in a build folder")


@pytest.fixture(scope="module")
def prefix():
    """A copy installed by the build system under a DESTDIR; yields the prefix inside of it."""
    destination = pathlib.Path(tempfile.mkdtemp(prefix="sbtest-install-"))
    destination.chmod(0o755)
    subprocess.run(["meson", "install", "-C", build_root(), "--no-rebuild"], check=True, capture_output=True,
                   env={**os.environ, "DESTDIR": str(destination)})
    found = next(path.parent.parent for path in destination.rglob("bin/sandbox"))
    yield found
    shutil.rmtree(destination)


def one(prefix, pattern):
    found = list(prefix.rglob(pattern))
    assert found, f"no {pattern} under {prefix}"
    return found[0]


@pytest.mark.parametrize("pattern", ["bin/sandbox", "bin/sandbox-run", "include/sandbox.h", "libsandbox.so", "libsandbox.a",
                                     "pkgconfig/sandbox.pc", "man1/sandbox.1*", "bash-completion/completions/sandbox*",
                                     "zsh/*/_sandbox*"])
def test_a_file_is_installed(prefix, pattern):
    one(prefix, pattern)


@pytest.mark.parametrize("name", ["sandbox-init", "sandbox-history", "sandbox-mcp"])
def test_a_helper_is_installed_and_executable(prefix, name):
    assert os.access(one(prefix, name), os.X_OK)


def test_the_installed_program_finds_its_history(sandbox, prefix):
    before, sandbox.path = sandbox.path, prefix / "bin/sandbox"
    try:
        outcome = sandbox.call("history", "list", "--json", "--limit", "1")
    finally:
        sandbox.path = before
    assert (outcome.exit_code, type(outcome.json)) == (0, list), outcome


def test_the_installed_program_reads_toml(sandbox, place, prefix):
    path = sandbox.make_file(place / "p.toml", "limits.timeout = '6s'\n")
    before, sandbox.path = sandbox.path, prefix / "bin/sandbox"
    try:
        outcome = sandbox.call("policy", "show", "--policy", str(path))
    finally:
        sandbox.path = before
    assert outcome.exit_code == 0 and b"timeout: 6s" in outcome.stdout, outcome


def test_the_proxy_is_installed_beside_the_helper(prefix):
    assert os.access(one(prefix, "sandbox-init").with_name("sandbox-proxy"), os.X_OK)
    assert os.access(one(prefix, "sandbox-init").with_name("sandbox-network"), os.X_OK)


def test_nothing_installed_is_set_user_id_or_writable_by_all(prefix):
    bad = [path for path in prefix.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o6002]
    assert not bad


@pytest.mark.parametrize("name", ["sandbox", "sandbox-run"])
def test_the_installed_program_runs(sandbox, prefix, name):
    before, sandbox.path = sandbox.path, prefix / "bin" / name
    try:
        outcome = sandbox.call("run", "-l", "python", "-c", "print(6 * 7)")
    finally:
        sandbox.path = before
    assert (outcome.exit_code, outcome.stdout) == (0, b"42\n"), outcome


def test_the_manual_page_is_well_formed(prefix):
    page = one(prefix, "man1/sandbox.1*")
    if not shutil.which("man"):
        text = page.read_bytes()
        assert text.startswith((b".", b"'\\\"", b"\x1f\x8b"))
        return
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page], capture_output=True, text=True,
                          env={**os.environ, "MANROFFSEQ": "", "MANWIDTH": "80"})
    assert done.returncode == 0 and "sandbox" in done.stdout and not done.stderr, done.stderr


def test_the_completion_for_bash_completes_commands(prefix):
    script = one(prefix, "bash-completion/completions/sandbox")
    code = (f"source {script}; spec=$(complete -p sandbox); fn=${{spec##*-F }}; fn=${{fn%% *}}; "
            "COMP_WORDS=(sandbox do); COMP_CWORD=1; COMP_LINE='sandbox do'; COMP_POINT=10; "
            "$fn sandbox do sandbox; echo ${COMPREPLY[*]}")
    done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True)
    assert "doctor" in done.stdout.split(), done


def pkg_config(prefix, *args):
    file = one(prefix, "pkgconfig/sandbox.pc")
    destination = str(prefix).removesuffix("/usr/local").removesuffix("/usr")
    env = {**os.environ, "PKG_CONFIG_PATH": str(file.parent), "PKG_CONFIG_SYSROOT_DIR": destination}
    return subprocess.run(["pkg-config", *args, "sandbox"], env=env, capture_output=True, text=True, check=True).stdout.split()


def test_a_program_compiled_against_the_installed_library_runs(sandbox, prefix, place):
    source = place / "program.c"
    source.write_text(TEN_LINES)
    library = one(prefix, "libsandbox.so").parent
    subprocess.run(["gcc", "-o", place / "program", source, *pkg_config(prefix, "--cflags", "--libs")], check=True)
    done = subprocess.run([place / "program", one(prefix, "sandbox-init")], capture_output=True, text=True,
                          env=sandbox.environment({"LD_LIBRARY_PATH": str(library)}), **as_user(sandbox))
    assert (done.returncode, done.stdout) == (0, "42\nok 1\n"), done


def test_a_program_linked_statically_runs(sandbox, prefix, place):
    source = place / "program.c"
    source.write_text(TEN_LINES)
    words = pkg_config(prefix, "--cflags", "--libs", "--static")
    words = [str(one(prefix, "libsandbox.a")) if word == "-lsandbox" else word for word in words]
    subprocess.run(["gcc", "-o", place / "program", source, *words], check=True)
    done = subprocess.run([place / "program", one(prefix, "sandbox-init")], capture_output=True, text=True,
                          env=sandbox.environment(), **as_user(sandbox))
    assert (done.returncode, done.stdout) == (0, "42\nok 1\n"), done


def test_the_version_agrees(sandbox, prefix):
    version = pkg_config(prefix, "--modversion")[0]
    assert version in sandbox.call("--version").stdout.decode()


def test_the_repository_has_both_launchers():
    assert all(os.access(REPOSITORY / name, os.X_OK) for name in ("sandbox", "sandbox-run"))
