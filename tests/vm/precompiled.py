"""Test programs compiled on the host, for the machine, where a compiler takes ten times as long.

On the host `prepare` compiles every attack into build/test-programs. In the machine this file is a
pytest plugin (-p precompiled) that hands those out and compiles only what is not among them.
"""

import hashlib
import pathlib
import shutil
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = TESTS.parent / "build/test-programs"
ESCAPE = TESTS / "escape"

sys.path.insert(0, str(TESTS))
from helpers import compiler  # noqa: E402

compile_really = compiler.compile_static


def program_for(source, flags):
    """Where the program of this source and these flags is kept."""
    text = source if isinstance(source, str) else pathlib.Path(source).read_text()
    parts = [text, *map(str, flags), *(header.read_text() for header in sorted(ESCAPE.glob("*.h")))]
    return PROGRAMS / hashlib.sha256("\0".join(parts).encode()).hexdigest()


def compile_static(source, output, *flags):
    kept = program_for(source, flags)
    if not kept.exists():
        return compile_really(source, output, *flags)
    shutil.copyfile(kept, output)
    pathlib.Path(output).chmod(0o755)
    return pathlib.Path(output)


def prepare():
    """Compiles what is not there yet, and removes what no attack needs any more."""
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    flags = [f"-I{ESCAPE}"]
    wanted = {program_for(source, flags): source for source in sorted(ESCAPE.glob("*/attack.c"))}
    for old in set(PROGRAMS.iterdir()) - set(wanted):
        old.unlink()
    for program, source in wanted.items():
        if not program.exists() and "mode: source" not in (source.parent / "case.yaml").read_text():
            compile_really(source, program.with_suffix(".new"), *flags)
            program.with_suffix(".new").rename(program)


def pytest_configure():
    compiler.compile_static = compile_static
