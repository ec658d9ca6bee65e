"""Ways out of the workspace that a guest of the wasm backend may try; each is refused, in all surroundings of the worker.

Skipped where engine and guests were not built (`make wasm`).
"""

import pytest

from helpers.program import wasm_parts

pytestmark = pytest.mark.skipif(wasm_parts() is None, reason="the wasm backend is not built: make wasm")

PRELUDE = """
import os
def refused(call, *words):
    try:
        call(*words)
    except OSError as error:
        return
    print("NOT REFUSED", call.__name__, words)
def read(path):
    with open(path) as file:
        return file.read()
def write(path):
    with open(path, "w") as file:
        file.write("x")
os.makedirs("a/b")
write("a/b/file")
"""

ATTACKS = {
    "absolute paths": "for path in ('/etc/passwd', '/proc/self/environ', '/sandbox-wasm', '/wasm/about.json', '//etc/passwd', '/'):\n"
                      "    refused(read, path)\n    refused(write, path)",
    "parents": "for path in ('..', '../x', 'a/../../x', 'a/b/../../../etc/passwd', '/workspace/../x', '/app/../etc/passwd', './../x'):\n"
               "    refused(read, path)\n    refused(write, path)\n    refused(os.mkdir, path)\n    refused(os.stat, path)",
    "relative links": "os.symlink('../..', 'up')\nos.symlink('up/etc', 'etc')\n"
                      "for path in ('up/etc/passwd', 'etc/passwd', 'up/', 'up/.', 'etc/../passwd'):\n"
                      "    refused(read, path)\n    refused(os.stat, path)\n    refused(write, path)",
    "absolute links": "refused(os.symlink, '/etc', 'out')\nrefused(os.symlink, '/', 'a/out')",
    "links made longer": "os.symlink('b', 'a/c')\nos.rename('a/c', 'c')\nos.symlink('../..', 'a/b/d')\n"
                         "refused(os.rename, 'a/b/d/x', 'y')\nos.rename('a/b/d', 'd')\nrefused(read, 'd/etc/passwd')\nrefused(os.listdir, 'd')",
    "link loops": "os.symlink('l2', 'l1')\nos.symlink('l1', 'l2')\nrefused(read, 'l1')\nrefused(os.listdir, 'l1/')",
    "trailing slashes": "os.symlink('../../etc', 'e')\n"
                        "for path in ('e/', 'e//', 'e/.', 'e/./passwd', 'a/b/file/'):\n"
                        "    refused(read, path)\n    refused(os.stat, path)\n    refused(os.rmdir, path)",
    "hard links": "refused(os.link, '/code/main.py', 'm')\nrefused(os.link, '../x', 'm')\nos.symlink('../x', 's')\nos.link('s', 't')\n"
                  "print(os.path.islink('t'), end='')\nrefused(read, 't')",
    "renames": "refused(os.rename, '/code/main.py', 'm.py')\nrefused(os.rename, 'a', '/code/a')\nrefused(os.rename, 'a', '../a')\n"
               "refused(os.rename, 'a', '/lib/a')\nrefused(os.rename, '/lib/library.zip', 'z')",
    "the code": "refused(write, '/code/main.py')\nrefused(os.unlink, '/code/main.py')\nrefused(os.truncate, '/code/main.py', 0)\n"
                "refused(os.utime, '/code/main.py')\nrefused(os.mkdir, '/code/x')\nrefused(os.symlink, 'x', '/code/y')\nopen('/code/main.py').read()",
    "the library": "refused(write, '/lib/library.zip')\nrefused(os.unlink, '/lib/library.zip')\nrefused(write, '/lib/x')\n"
                   "refused(os.mkdir, '/lib/x')\nrefused(read, '/lib/../etc/passwd')",
    "long paths": "refused(read, 'a/' * 3000)\nrefused(read, 'x' * 300)\nrefused(os.symlink, 'x' * 5000, 'y')",
    "many files": "files = []\ntry:\n    while True: files.append(open('a/b/file'))\nexcept OSError:\n    pass\n"
                  "print(len(files) < 2000, end='')\nfiles.clear()\nread('a/b/file')",
    "descriptors": "for number in (3, 4, 5, 100, 1023, 1024, 99999, -1):\n    refused(os.read, number, 1) if number > 2 else None\n"
                   "    refused(os.write, number, b'x')",
    "swapped directories": "import shutil\nos.makedirs('s/t')\nfile = os.open('s/t', os.O_RDONLY)\nos.rename('s/t', 't')\n"
                           "refused(lambda: os.stat('../../etc/passwd', dir_fd=file))\nrefused(lambda: os.open('../../x', os.O_RDONLY, dir_fd=file))",
}


@pytest.fixture(params=["fresh", "kept"])
def options(request, sandbox, place):
    """A workspace in memory, and one of the host's: the worker resolves paths in another way there."""
    if request.param == "fresh":
        return []
    kept = place / "kept"
    kept.mkdir()
    sandbox.own(kept)
    return ["--workspace", str(kept)]


@pytest.mark.parametrize("name", ATTACKS)
def test_guest_stays_in_its_workspace(sandbox, place, options, name):
    (place / "x").write_text("a file above the workspace")
    result = sandbox.run_json("--backend", "wasm", *options, "-l", "python", "-c", PRELUDE + ATTACKS[name])
    assert result["status"] == "ok" and result["stdout"].replace("True", "") == "", (result["stdout"], result["stderr"])
    assert (place / "x").read_text() == "a file above the workspace"
    assert sorted(path.name for path in place.iterdir()) == (["kept", "x"] if options else ["x"])


def test_disk_limit(sandbox):
    result = sandbox.run_json("--backend", "wasm", "--disk", "2M", "-l", "python", "-c",
                              "with open('big', 'wb') as file:\n    for _ in range(64): file.write(bytes(1 << 20))")
    assert result["status"] == "disk_limit"
