"""One hostile program: its folder, its expectation, how it is prepared and judged."""

import base64
import json
import os
import pathlib
import shutil
import tempfile
import time

import yaml

from helpers.compiler import compile_static
from helpers.program import REPOSITORY, SLOWNESS, reachable_by_all, remove_tree

HERE = pathlib.Path(__file__).resolve().parent
ATTACKS = pathlib.Path(os.environ.get("SANDBOX_ATTACK_DIR", REPOSITORY / "build/attacks"))
LANGUAGES = {".py": "python", ".sh": "shell", ".c": "c", ".js": "javascript", ".java": "java"}
DEFAULT_FLAGS = {"-t": f"{10 * SLOWNESS:g}s", "-m": "128M", "--processes": "32", "--disk": "16M"}
KNOWN_KEYS = {"reason", "flags", "expect", "arch", "inherit", "stdin", "setup", "caller_env", "form", "mode",
              "workspace", "max_seconds", "output_max", "kernel_memory"}
KNOWN_EXPECTATIONS = {"status", "refused", "stdout_contains", "stdout_not_contains", "output_any", "exit_code", "users"}
OWNED_ID = "#include <stdio.h>\n#include <unistd.h>\nint main(void)\n{\n        printf(\"%d\\n\", geteuid());\n}\n"
EVIL_TOOL = "#!/bin/sh\necho EVIL ran >&2\ncat @CANARY_TMP@ && echo ESCAPED read >&2\nexit 1\n"


def names():
    return sorted(path.parent.name for path in HERE.glob("*/case.yaml"))


class Case:
    def __init__(self, name):
        self.name = name
        self.folder = HERE / name
        self.data = yaml.safe_load((self.folder / "case.yaml").read_text())
        self.expect = self.data["expect"]
        self.attack = next(self.folder.glob("attack.*"))
        unknown = (set(self.data) - KNOWN_KEYS) | (set(self.expect) - KNOWN_EXPECTATIONS)
        if unknown or not self.data["reason"]:
            raise ValueError(f"{name}: unknown keys {unknown}, or no reason")

    def applies(self, user):
        machine = self.data.get("arch")
        return user in self.expect["users"] and (machine is None or machine == os.uname().machine)

    def lacks_its_language(self, program):
        """Not every machine has these, and an emulated one takes minutes for them."""
        if self.attack.suffix not in (".js", ".java"):
            return False
        listed = json.loads(program.call("languages", "--json", timeout=120).stdout)
        ready = {entry["name"] for entry in listed if entry["status"] == "ready"}
        return SLOWNESS > 1 or LANGUAGES[self.attack.suffix] not in ready

    def compiled(self):
        """The attack as a static program, compiled once and kept beside the build."""
        output = ATTACKS / self.name
        sources = max(self.attack.stat().st_mtime, (HERE / "attack.h").stat().st_mtime)
        if not output.exists() or output.stat().st_mtime < sources:
            ATTACKS.mkdir(parents=True, exist_ok=True)
            compile_static(self.attack, output, f"-I{HERE}")
        return output

    def code(self, place, variables):
        """Writes or compiles the program; returns the flags that name it."""
        kind = self.attack.suffix
        if kind == ".c" and self.data.get("mode") != "source":
            program = self.compiled()
            if not reachable_by_all(program):
                program = shutil.copy2(program, place / "attack")
            return ["-l", "binary", str(program)]
        prelude = HERE / f"prelude{kind}"
        text = (prelude.read_text() if prelude.exists() else "") + self.attack.read_text()
        for name, value in variables.items():
            text = text.replace(f"@{name}@", value)
        path = place / self.attack.name
        path.write_text(text)
        return ["-l", LANGUAGES[kind], str(path)]

    def flags(self):
        given = [str(flag) for flag in self.data.get("flags", [])]
        for at, flag in enumerate(given):
            if flag in ("-t", "--cpu-time"):
                given[at + 1] = f"{float(given[at + 1].removesuffix('s')) * SLOWNESS:g}s"
        for flag, value in DEFAULT_FLAGS.items():
            if flag not in given:
                given += [flag, value]
        return given

    def _setup_setuid_volume(self, place, program, variables):
        folder = place / "suid"
        folder.mkdir(mode=0o755)
        compile_static(OWNED_ID, folder / "id").chmod(0o4755)
        shutil.copy("/bin/bash", folder / "sh")
        (folder / "sh").chmod(0o4755)
        return ["--volume", f"{folder}:/suid:ro"]

    def _setup_evil_toolchain(self, place, program, variables):
        folder = place / "evil"
        folder.mkdir(mode=0o755)
        for name in ("cc1", "as", "ld", "collect2"):
            (folder / name).write_text(EVIL_TOOL.replace("@CANARY_TMP@", variables["CANARY_TMP"]))
            (folder / name).chmod(0o755)
        return ["--volume", f"{folder}:/evil:ro"]

    def prepare(self, place, program, world):
        """All flags of the run, in an order that the command line takes."""
        variables = world.variables()
        flags = self.flags()
        for step in self.data.get("setup", []):
            flags += getattr(self, f"_setup_{step}")(place, program, variables)
        for name, value in variables.items():
            flags += ["-e", f"{name}={value}"]
        if self.data.get("workspace"):
            folder = place / "workspace"
            folder.mkdir()
            program.own(folder)
            flags += ["--workspace", str(folder)]
        if self.data.get("stdin") == "file":
            flags += ["--stdin", str(program.make_file(place / "input", "input\n", 0o666))]
        form = self.data.get("form", "json")
        return ["-o", form, *flags, *self.code(place, variables)]

    def run(self, program, world, **more_env):
        place = pathlib.Path(tempfile.mkdtemp(prefix="attack-", dir=program.directory))
        place.chmod(0o755)
        inherited = []
        try:
            args = self.prepare(place, program, world)
            environment = {name: value.replace("@TOKEN@", world.token)
                           for name, value in self.data.get("caller_env", {}).items()} | more_env
            if self.data.get("inherit"):
                inherited = [os.open("/", os.O_RDONLY), os.open(world.files["CANARY_TMP"], os.O_RDWR)]
            started = time.monotonic()
            outcome = program.run(*args, env=environment, pass_fds=inherited)
            seconds = time.monotonic() - started
            changed_input = self.data.get("stdin") and (place / "input").read_bytes() != b"input\n"
        finally:
            for fd in inherited:
                os.close(fd)
            remove_tree(place)
        faults = self.faults(outcome, seconds)
        return outcome, faults + (["the file behind standard input was changed"] if changed_input else [])

    def is_beyond_the_monitor(self, outcome):
        """Memory of the kernel's own is counted by control groups alone; the result says who counts."""
        if not self.data.get("kernel_memory"):
            return False
        by = {protection["name"]: protection["by"] for protection in outcome.json["protections"]}
        return by["memory"] == "monitor"

    def _streams(self, outcome):
        if self.data.get("form") == "text":
            return outcome.stdout.decode("utf-8", "replace"), None
        result = outcome.json
        streams = [result["stdout"], result["stderr"]]
        if result["encoding"] == "base64":
            streams = [base64.b64decode(text).decode("utf-8", "replace") for text in streams]
        return "\n".join(streams), result

    def faults(self, outcome, seconds):
        """What does not match the expectation, as sentences."""
        try:
            text, result = self._streams(outcome)
        except ValueError:
            return ["the answer is not JSON"]
        expect = self.expect
        # What static analysis quotes is the source, which holds both words.
        told = {key: value for key, value in (result or {}).items() if key != "analysis"}
        everything = text + json.dumps(told) + outcome.stderr.decode("utf-8", "replace")
        found = [f"said {word}" for word in ("ESCAPED", "UNEXPECTED") if word in everything]
        found += [f"'{what}' was not refused" for what in expect.get("refused", [])
                  if f"REFUSED {what}" not in text]
        found += [f"output lacks '{part}'" for part in expect.get("stdout_contains", []) if part not in text]
        found += [f"output has {part!r}" for part in expect.get("stdout_not_contains", []) if part in text]
        if "output_any" in expect and not any(part in everything for part in expect["output_any"]):
            found.append(f"output has none of {expect['output_any']}")
        if result and result["status"] not in expect["status"]:
            found.append(f"status is {result['status']} ({result['message']}), not of {expect['status']}")
        if "exit_code" in expect and outcome.exit_code != expect["exit_code"]:
            found.append(f"exit code is {outcome.exit_code}, not {expect['exit_code']}")
        if seconds > self.data.get("max_seconds", 60) * SLOWNESS:
            found.append(f"took {seconds:.1f} s")
        if len(outcome.stdout) > self.data.get("output_max", 1 << 24):
            found.append(f"the answer has {len(outcome.stdout)} bytes")
        return found
