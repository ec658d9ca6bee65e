"""The world outside of an attack: what it must not read, change, reach or kill, and the check that it did not."""

import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import tempfile


class World:
    """Canary files, listeners and a victim of one user; `check` says what was touched."""

    def __init__(self, program):
        self.program = program
        self.token = "canary" + secrets.token_hex(16)
        self.name = "sbtest-world-" + secrets.token_hex(4)
        self.home = "/root" if program.is_root else str(program.home)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sbtest-world-"))
        self.folder.chmod(0o755)
        program.own(self.folder)
        self.files = {"CANARY_TMP": self.folder / "canary", "CANARY_HOME": pathlib.Path(self.home, self.name),
                      "CANARY_VAR": pathlib.Path("/var/tmp", self.name)}
        for path in self.files.values():
            program.make_file(path, self.token + "\n")
        program.make_file(self.folder / f"name-{self.token}", "")
        self.states = {path: self._state(path) for path in self.files.values()}
        self._listen()
        self.victim = None
        self.start_victim()

    def _listen(self):
        tcp = socket.create_server(("127.0.0.1", 0))
        self.port = tcp.getsockname()[1]
        self.socket_path = self.folder / "socket"
        self.sockets = {"tcp": tcp}
        for label, kind, address in (("abstract stream", socket.SOCK_STREAM, "\0" + self.name),
                                     ("abstract dgram", socket.SOCK_DGRAM, "\0" + self.name),
                                     ("path", socket.SOCK_STREAM, str(self.socket_path))):
            sock = socket.socket(socket.AF_UNIX, kind)
            sock.bind(address)
            if kind == socket.SOCK_STREAM:
                sock.listen()
            self.sockets[label] = sock
        self.socket_path.chmod(0o777)
        for sock in self.sockets.values():
            sock.setblocking(False)

    def start_victim(self):
        user = {"user": self.program.uid, "group": self.program.uid} if self.program.changes_user else {}
        self.victim = subprocess.Popen(["sleep", "infinity"], **user)

    @staticmethod
    def _state(path):
        info = os.stat(path)
        return path.read_bytes(), info.st_mtime_ns, info.st_mode, info.st_uid, info.st_nlink

    def variables(self):
        """What an attack is told: where things are, never what is in them."""
        return {**{name: str(path) for name, path in self.files.items()}, "CANARY_DIR": str(self.folder),
                "HOST_PORT": str(self.port), "HOST_ABSTRACT": self.name, "HOST_SOCKET": str(self.socket_path),
                "VICTIM_PID": str(self.victim.pid), "HOST_PID": str(os.getpid())}

    def _reached(self):
        for label, sock in self.sockets.items():
            try:
                if sock.type == socket.SOCK_DGRAM:
                    sock.recv(64)
                else:
                    sock.accept()[0].close()
            except BlockingIOError:
                continue
            yield f"the {label} listener was reached"

    def _victim_harm(self):
        if self.victim.poll() is not None:
            status = self.victim.returncode
            self.start_victim()
            return [f"the victim ended with {status}"]
        fields = pathlib.Path(f"/proc/{self.victim.pid}/status").read_text()
        return ["the victim was stopped"] if "State:\tT" in fields else []

    def harm(self, output):
        """Everything that the attack did to the world, as sentences."""
        found = [f"{path} was changed" for path, state in self.states.items() if self._state(path) != state]
        found += list(self._reached()) + self._victim_harm()
        if self.token.encode() in output:
            found.append("a canary was read: its token is in the output")
        return found

    def close(self):
        self.victim.kill()
        self.victim.wait()
        for sock in self.sockets.values():
            sock.close()
        for path in self.files.values():
            path.unlink(missing_ok=True)
        shutil.rmtree(self.folder)
