"""Images of the tests' own container engines, made from this machine's files: no registry is needed."""

import io
import os
import pathlib
import subprocess
import tarfile
import tempfile

PROGRAMS = ("python3", "sh", "bash", "perl", "lua5.4", "gawk", "cat", "ls", "id", "env", "sleep", "true", "head", "rm", "mkdir",
            "touch", "ln", "dd", "seq", "sort", "wc", "tr", "uname", "awk", "basename", "chmod", "comm", "cp", "cut", "date", "dirname",
            "echo", "expr", "find", "grep", "join", "mkfifo", "mktemp", "mv", "nl", "paste", "printf", "rev", "sed", "tac", "tee", "uniq", "xargs")
SEARCHED = ("/usr/local/bin", "/usr/bin", "/bin")
TREES = ("/usr/lib/python3.11", "/usr/lib/x86_64-linux-gnu/perl-base", "/usr/lib/locale/C.utf8")
SKIPPED = ("__pycache__", "test", "dist-packages", "config-3.11-x86_64-linux-gnu", "ensurepip")


def _libraries(program):
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout.splitlines()
    return {word for line in lines for word in line.split() if word.startswith("/") and "/../" not in word}


def _compiler_parts(language="c"):
    """A compiler and all that it reads: programs, trees, files."""
    folder = pathlib.Path(subprocess.run(["gcc", "-print-libgcc-file-name"], capture_output=True, text=True, check=True).stdout.strip()).parent
    library, include = pathlib.Path("/usr/lib/x86_64-linux-gnu"), pathlib.Path("/usr/include")
    parts = [*folder.glob("cc1"), *folder.glob("collect2"), *folder.glob("lto-wrapper"), *folder.glob("*.o"), *folder.glob("libgcc*"), *folder.glob("liblto_plugin.so"),
             *library.glob("*crt*.o"), library / "libc.so", library / "libc_nonshared.a", library / "libm.so",
             *(library / f"lib{name}.a" for name in ("dl", "rt", "util", "pthread")),
             *(f"/lib/x86_64-linux-gnu/{name}" for name in ("libm.so.6", "libmvec.so.1", "libgcc_s.so.1"))]
    trees = [folder / "include", pathlib.Path(TREES[-1]), *(include / name for name in ("linux", "asm-generic", "x86_64-linux-gnu"))]
    if language == "c++":
        parts += [*folder.glob("cc1plus"), *folder.glob("libstdc++*"), library / "libstdc++.so.6"]
        trees.append(include / "c++")
    headers = [path for path in include.iterdir() if path.suffix == ".h"]
    return ((*PROGRAMS, "gcc", "cc", "g++", "as", "ld"), [str(tree) for tree in trees if tree.exists()],
            [str(path) for path in [*parts, *headers] if os.path.exists(path)])


def compiler_image():
    """The same with a compiler for C and all that it reads."""
    return machine_image(*_compiler_parts())


def _rust_parts(tool):
    """One of rustup's lies where it is found in an image."""
    programs, trees, files = _compiler_parts()
    root = os.path.dirname(os.path.dirname(tool))
    if root == "/usr":
        # Its own library lies in /lib there, which is no link to /usr/lib as it is here, and it looks beside that.
        return (*programs, "rustc"), [*trees, "/usr/lib/rustlib"], files, (("/usr/lib/rustlib", "/lib/rustlib"),)
    return programs, trees, files, ((tool, "/usr/local/bin/rustc"), (f"{root}/lib", "/usr/local/lib"))


def _java_parts(tool):
    root = os.path.dirname(os.path.dirname(tool))
    settings = [f"/etc/{name}" for name in os.listdir("/etc") if name.startswith("java-")]
    return PROGRAMS, [TREES[-1], *settings], [], [(f"{root}/{name}", f"/usr/lib/jvm/default-java/{name}") for name in ("bin", "conf", "lib")]


def _existing(*names):
    return [name for name in names if os.path.exists(name)]


# What a language needs beside its tool: programs, trees, files, and what is moved. Where its tool is may matter.
TOOLCHAINS = {
    "c": lambda tool: (*_compiler_parts(), ()),
    "c++": lambda tool: (*_compiler_parts("c++"), ()),
    "go": lambda tool: (PROGRAMS, [], [], [(os.path.dirname(os.path.dirname(os.path.realpath(tool))), "/usr/local/go")]),
    "rust": _rust_parts,
    "java": _java_parts,
    "javascript": lambda tool: ((*PROGRAMS, "node"), _existing("/usr/share/nodejs/undici", TREES[-1]), [], ()),
    "typescript": lambda tool: ((*PROGRAMS, "node"), _existing(*(f"{place}/share/nodejs/{name}" for place in ("/usr", "/usr/local") for name in ("typescript", "@types", "undici-types")), TREES[-1]), [], ()),
    "ruby": lambda tool: ((*PROGRAMS, "ruby"), _existing("/usr/lib/ruby", "/usr/lib/x86_64-linux-gnu/ruby", "/usr/share/ruby-rubygems",
                                                    "/usr/share/rubygems-integration", "/var/lib/gems", TREES[-1]), [], ()),
    "perl": lambda tool: (PROGRAMS, _existing("/usr/share/perl", "/usr/lib/x86_64-linux-gnu/perl", *TREES[1:]), [], ()),
    "php": lambda tool: ((*PROGRAMS, "php"), _existing("/usr/lib/php", "/etc/php", "/usr/share/php", "/usr/share/zoneinfo", TREES[-1]), [], ()),
    "tcl": lambda tool: ((*PROGRAMS, "tclsh"), _existing("/usr/share/tcltk", TREES[-1]), _existing("/lib/x86_64-linux-gnu/libgcc_s.so.1"), ()),
    "scheme": lambda tool: ((*PROGRAMS, "guile"), _existing("/usr/share/guile", "/usr/lib/x86_64-linux-gnu/guile", TREES[-1]), [], ()),
    "make": lambda tool: (PROGRAMS + ("make",), [TREES[-1]], [], ()),
}


def toolchain_image(language, tool):
    """A file with the image of a language whose tool is there."""
    out = tempfile.TemporaryFile()
    write_image(out, *TOOLCHAINS[language](tool))
    out.seek(0)
    return out


def machine_image(programs=PROGRAMS, trees=TREES, more=(), moved=()):
    """A tar of programs of this machine with the libraries that they need, and of what lies elsewhere in it."""
    out = io.BytesIO()
    write_image(out, programs, trees, more, moved)
    return out.getvalue()


def write_image(out, programs, trees, more=(), moved=()):
    found = [path for name in programs for place in SEARCHED[1:] if os.path.exists(path := f"{place}/{name}")]
    found += more
    files = set(found)
    for path in found:
        files |= _libraries(path)
    for tree in [*trees, *(source for source, _ in moved)]:
        files |= _libraries(tree) if os.path.isfile(tree) else set()
        for library in pathlib.Path(tree).rglob("*.so"):
            files |= _libraries(str(library))
    names = set()

    def once(item):
        """An engine takes no name twice."""
        is_left_out = item.name in names or os.path.basename(item.name) in SKIPPED
        names.add(item.name)
        return None if is_left_out else item

    with tarfile.open(fileobj=out, mode="w") as tar:
        for path in sorted(files):
            tar.add(os.path.realpath(path), arcname=path.lstrip("/"), filter=once)
        for source, place in [*((tree, tree) for tree in trees), *moved]:
            tar.add(source, arcname=place.lstrip("/"), filter=once)
