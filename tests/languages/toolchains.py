"""The languages under test: what their files say, which are here, and where their programs lie."""

import json
import pathlib

import pytest
import yaml

HERE = pathlib.Path(__file__).parent
CASES = yaml.safe_load((HERE / "cases.yaml").read_text())
DATA = {data["name"]: data
        for data in (yaml.safe_load(path.read_text()) for path in (HERE.parents[1] / "languages").glob("*.yaml"))}
NAMES = sorted(name for name in DATA if name not in ("binary", "wasm"))  # Those are no source text.


def program(language, name):
    """The path of a test program: tests/languages/FOLDER/NAME.EXTENSION."""
    found = (HERE / language.replace("+", "p")).glob(f"{name}.*")
    return next((path for path in found if path.suffix != ".out"), None)


def programs(language):
    """The real programs: all but the one that tries modes."""
    folder = HERE / language.replace("+", "p")
    return sorted(path for path in folder.iterdir() if path.stem != "basics" and path.suffix != ".out")


class Toolchain:
    """One language as one user runs it."""

    def __init__(self, sandbox, name):
        self.sandbox = sandbox
        self.name = name
        self.case = CASES[name]

    def run(self, *flags, words=(), **options):
        # Preparing Go's standard library, the first time, takes longer than any run.
        options.setdefault("timeout", 600)
        return self.sandbox.run_json("-l", self.name, *flags, "--", *words, **options)

    def code(self, text, *flags, **options):
        return self.run("-c", text, *flags, **options)

    def basics(self, mode, *words, flags=(), **options):
        if mode in self.case.get("without", ()):
            pytest.skip(f"{self.name} has no way to do this")
        path = self.sandbox.make_file(f"basics.{self.name}", program(self.name, "basics").read_bytes())
        return self.run("-f", str(path), *flags, words=(mode, *words), **options)


def missing(sandbox):
    """The languages that are not here for this user, with the reason."""
    listed = json.loads(sandbox.call("languages", "--json", timeout=120).stdout)
    return {entry["name"]: entry["reason"] for entry in listed if entry["status"] != "ready"}
