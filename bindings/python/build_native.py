"""Makes sandbox._ffi from include/sandbox.h: the header is the only description of the library.

In a source tree of the project the library is built there, if need be, and linked in statically,
so that a wheel carries it. Elsewhere pkg-config says where it is installed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
BUILD = Path(os.environ.get("SANDBOX_BUILD_DIR", TREE / "build"))
HELPERS = ("init/sandbox-init", "analysis/sandbox-analyze", "proxy/sandbox-proxy", "network/program/sandbox-network",
           "park/sandbox-park.so", "wasm/sandbox-wasm")
# What `make wasm` builds, once; without them the backend wasm says what is missing.
WASM_PARTS = ("about.json", "libwasmtime.so", "javascript.cwasm", "python.cwasm", "python.zip")
LIBRARIES = ("jansson", "yaml", "md", "pthread")


def in_tree() -> bool:
    """Whether this is the project's own tree, and not a source distribution."""
    return (TREE / "include/sandbox.h").exists() and (TREE / "meson.build").exists()


def helpers() -> list[Path]:
    """The programs that the library starts."""
    return [BUILD / "src" / name for name in HELPERS] if in_tree() else []


def wasm_parts() -> list[Path]:
    """The engine of the backend wasm and its guests, where they are built."""
    return [path for path in (BUILD / "wasm" / name for name in WASM_PARTS) if in_tree() and path.exists()]


def build_library() -> None:
    """Builds the library of the tree, as far as it is not built or older than its sources."""
    command = ["ninja", "-C", str(BUILD)] if (BUILD / "build.ninja").exists() else ["make", "-C", str(TREE)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def pkg_config(*options: str) -> list[str]:
    """What pkg-config knows of an installed library."""
    try:
        done = subprocess.run(["pkg-config", *options, "sandbox"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        message = ("libsandbox is not installed: install it with 'make install' of sandbox-run, "
                   "or build this package in its source tree")
        raise SystemExit(message) from error
    return shlex.split(done.stdout)


def declarations(header: str) -> str:
    """The header as cffi reads it: without comments, directives and linkage."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    text = re.sub(r'#ifdef __cplusplus.*?#endif', "", text, flags=re.DOTALL)
    text = re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.MULTILINE)
    return text.replace("SBX_API ", "")


def make() -> FFI:
    """The description of the extension module."""
    builder = FFI()
    if in_tree():
        build_library()
        include = TREE / "include"
        library = str(BUILD / "src/libsandbox.a")
        settings = {"include_dirs": [str(include), str(HERE)], "extra_objects": [library], "depends": [library],
                    "libraries": list(LIBRARIES)}
    else:
        include = Path(pkg_config("--variable=includedir")[0])
        settings = {"include_dirs": [str(HERE)], "extra_compile_args": pkg_config("--cflags"),
                    "extra_link_args": pkg_config("--libs")}
    builder.cdef(declarations((include / "sandbox.h").read_text()))
    builder.cdef(declarations((HERE / "outcome.h").read_text()))
    builder.cdef('extern "Python" void sandbox_python_on_event(const sbx_event *, void *);'
                 'extern "Python" void sandbox_python_on_wait(void *);')
    builder.set_source("sandbox._ffi", (HERE / "outcome.c").read_text(), py_limited_api=True, **settings)
    return builder


ffibuilder = make()
