"""The files of a session: a directory, and no way out of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
import threading
import uuid
import weakref
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Optional, Union

FILE_BYTES_MAX = 64 << 20
FILES_LISTED_MAX = 100_000
DEPTH_MAX = 64
OPEN = os.O_NOFOLLOW | os.O_CLOEXEC


class Workspace:
    """A directory that programs of one sandbox share; a temporary one is removed with it.

    Programs may leave links in it. No path given here follows one, and none leaves the directory.
    """

    def __init__(self, path: Optional[Union[str, os.PathLike[str]]] = None) -> None:
        self.session_id = uuid.uuid4().hex
        self.is_temporary = path is None
        if path is None:
            self.path = Path(tempfile.mkdtemp(prefix="sandbox-session-"))
            self._remove = weakref.finalize(self, _remove_own, str(self.path), os.getpid())
        else:
            self.path = Path(path).resolve()
            self.path.mkdir(parents=True, exist_ok=True)

    @property
    def is_closed(self) -> bool:
        """Whether it was temporary, and is gone."""
        return self.is_temporary and not self._remove.alive

    def close(self) -> None:
        """Removes a temporary directory."""
        if self.is_temporary:
            self._remove()

    @contextlib.contextmanager
    def directory(self) -> Iterator[int]:
        """A descriptor of it."""
        fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield fd
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def _parent(self, name: Union[str, os.PathLike[str]], make: bool = False) -> Iterator[tuple[int, str]]:
        parts = _parts(name)
        with contextlib.ExitStack() as stack:
            fd = stack.enter_context(self.directory())
            for part in parts[:-1]:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=fd)
                fd = os.open(part, os.O_RDONLY | os.O_DIRECTORY | OPEN, dir_fd=fd)
                stack.callback(os.close, fd)
            yield fd, parts[-1]

    def list_files(self) -> list[str]:
        """Files and links, as paths relative to the workspace: FILES_LISTED_MAX at most, DEPTH_MAX deep."""
        found: list[str] = []
        with self.directory() as top:
            _list_below(top, PurePosixPath(), found)
        return sorted(found)

    def read_file(self, name: Union[str, os.PathLike[str]]) -> bytes:
        """The bytes of a file; ValueError where they are more than FILE_BYTES_MAX."""
        with self._parent(name) as (fd, last):
            file = os.open(last, os.O_RDONLY | os.O_NONBLOCK | OPEN, dir_fd=fd)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise ValueError(f"'{name}' is not a file")
                with os.fdopen(file, "rb", closefd=False) as stream:
                    data = stream.read(FILE_BYTES_MAX + 1)
            finally:
                os.close(file)
        if len(data) > FILE_BYTES_MAX:
            raise ValueError(f"'{name}' is larger than {FILE_BYTES_MAX} bytes")
        return data

    def write_file(self, name: Union[str, os.PathLike[str]], data: Union[str, bytes]) -> None:
        """Makes or replaces a file, and the directories above it."""
        raw = data.encode("utf-8") if isinstance(data, str) else data
        with self._parent(name, make=True) as (fd, last):
            # A new file under a name of its own, then renamed: what a link of that name leads to stays as it is.
            temporary = f".{os.getpid()}.{os.urandom(4).hex()}"
            file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN, 0o644, dir_fd=fd)
            try:
                with os.fdopen(file, "wb") as stream:
                    stream.write(raw)
                os.rename(temporary, last, src_dir_fd=fd, dst_dir_fd=fd)
            except BaseException:
                os.unlink(temporary, dir_fd=fd)
                raise

    def delete(self, name: Union[str, os.PathLike[str]]) -> None:
        """Removes a file, a link, or an empty directory."""
        with self._parent(name) as (fd, last):
            if stat.S_ISDIR(os.stat(last, dir_fd=fd, follow_symlinks=False).st_mode):
                os.rmdir(last, dir_fd=fd)
            else:
                os.unlink(last, dir_fd=fd)


def is_empty(folder: int) -> bool:
    """Whether there is nothing in a directory."""
    with os.scandir(folder) as entries:
        return next(entries, None) is None


def _list_below(folder: int, path: PurePosixPath, found: list[str]) -> None:
    below = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                below.append(entry.name)
            elif len(found) < FILES_LISTED_MAX:
                found.append(str(path / entry.name))
    for name in below if len(path.parts) < DEPTH_MAX else ():
        with contextlib.suppress(OSError):  # It may be gone, or a link by now.
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | OPEN, dir_fd=folder)
            try:
                _list_below(fd, path / name, found)
            finally:
                os.close(fd)


def _remove_own(path: str, owner: int) -> None:
    """Removes a directory that this process made, however deep; a copy made by fork() leaves it alone."""
    if owner != os.getpid():
        return
    try:
        shutil.rmtree(path, ignore_errors=True)
    except RecursionError:  # Python's own goes as deep as its stack.
        subprocess.run(["rm", "-rf", "--", path], check=False)


def _parts(name: Union[str, os.PathLike[str]]) -> tuple[str, ...]:
    text = os.fspath(name)
    for prefix in ("/app/", "/workspace/"):  # as the program calls it
        text = text[len(prefix):] if text.startswith(prefix) else text
    path = PurePosixPath(text)
    if not text or path.is_absolute() or ".." in path.parts or "\0" in text or not path.parts:
        raise ValueError(f"'{text}' is not a path inside the workspace")
    return path.parts


class _Sessions:
    """Workspaces of this process that somebody still uses, by the name of their session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: weakref.WeakValueDictionary[str, Workspace] = weakref.WeakValueDictionary()

    def add(self, workspace: Workspace) -> str:
        """From now on the session can be had again by its name."""
        with self._lock:
            self._known[workspace.session_id] = workspace
        return workspace.session_id

    def get(self, session_id: str) -> Workspace:
        """That session's, or a new one's."""
        with self._lock:
            workspace = self._known.get(session_id)
            if workspace is None or workspace.is_closed:
                workspace = Workspace()
                workspace.session_id = session_id
                self._known[session_id] = workspace
            return workspace


sessions = _Sessions()
