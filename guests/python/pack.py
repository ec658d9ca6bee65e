"""Packs Python's library into one archive of byte code: pack.py LIB BUILD LAUNCH ARCHIVE.

LIB is the source's Lib, BUILD where the guest was built (its _sysconfigdata is added), LAUNCH the module that
runs programs. Entries are stored without compression and without times, so that the same input gives the same
archive.
"""

import importlib.util
import pathlib
import sys
import zipfile

# What needs threads, processes, sockets, a screen or the network, or serves the tests and the build alone.
LEFT_OUT = {"test", "idlelib", "tkinter", "turtledemo", "ensurepip", "venv", "lib2to3", "__pycache__", "site-packages",
            "pydoc_data", "turtle.py", "antigravity.py", "multiprocessing", "dbm", "curses", "sqlite3", "ctypes"}


def add(archive, name, source, optimize=-1):
    code = compile(source, "/lib/library.zip/" + name, "exec", dont_inherit=True, optimize=optimize)
    data = importlib._bootstrap_external._code_to_timestamp_pyc(code)
    info = zipfile.ZipInfo(name + "c", (1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    archive.writestr(info, bytes(data), zipfile.ZIP_STORED)


def main(library, build, launch, target):
    library = pathlib.Path(library)
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(library.rglob("*.py")):
            name = path.relative_to(library)
            if not LEFT_OUT & set(name.parts):
                add(archive, name.as_posix(), path.read_bytes())
        for path in sorted(pathlib.Path(build).glob("build/lib.*/_sysconfigdata*.py")):
            add(archive, path.name, path.read_bytes())
        add(archive, "sandbox_launch.py", pathlib.Path(launch).read_bytes())


main(*sys.argv[1:])
