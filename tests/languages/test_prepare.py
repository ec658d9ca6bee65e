"""Toolchains that are made ready once: what that makes is used, and only where it pays."""

import os
import time

import pytest

from toolchains import HERE


@pytest.fixture
def run_cpp(sandbox, missing_languages, place):
    """Compiles with -H, which makes the compiler name every header that it opens; `!` marks a precompiled one."""
    if "c++" in missing_languages:
        pytest.skip(missing_languages["c++"])
    language = (HERE.parents[1] / "languages/cpp.yaml").read_text()
    folder = sandbox.make_directory(place / "languages")
    sandbox.make_file(folder / "cpp.yaml", language.replace('"-I{prepared}", -o', '"-I{prepared}", -H, -o'))
    environment = {"SANDBOX_CACHE_DIR": str(place / "cache")}
    return lambda code: sandbox.run_json("-l", "c++", "--languages", str(folder), "-c", code, env=environment, timeout=300)


def test_the_header_of_everything_is_read_once(run_cpp, place):
    result = run_cpp('#include <iostream>\nint main() { std::cout << "hello\\n"; }\n')
    assert result["stdout"] == "hello\n" and not (place / "cache/prepared").exists(), result
    result = run_cpp('#include <bits/stdc++.h>\nint main() { std::cout << "hello\\n"; }\n')
    assert result["stdout"] == "hello\n", result
    assert "! /prepared/bits/stdc++.h.gch" in result["compile"]["stderr"], result["compile"]


@pytest.fixture
def run_readied(sandbox, place):
    """A language whose toolchain is ready as soon as a word is written down; other words are another toolchain."""
    folder = sandbox.make_directory(place / "languages")
    shell = (HERE.parents[1] / "languages/sh.yaml").read_text()

    def run(word):
        prepare = f"\nprepare:\n  command: [/bin/sh, -c, 'echo {word} >$1/word', sh, '{{prepared}}']\n  paths: [/bin, /lib, /lib64, /usr]\n"
        sandbox.make_file(folder / "sh.yaml", shell + prepare)
        return sandbox.run_json("-l", "sh", "--languages", str(folder), "-c", "cat /prepared/word",
                                env={"SANDBOX_CACHE_DIR": str(place / "cache")})["stdout"].strip()
    return run


def test_toolchains_that_nobody_uses_are_removed(sandbox, run_readied, place):
    prepared = place / "cache/prepared"
    month = time.time() - 31 * 24 * 3600

    def age():
        for entry in prepared.iterdir():
            os.utime(entry, (month, month))

    def kept():
        return sorted((entry / "word").read_text().strip() for entry in prepared.iterdir() if entry.is_dir())

    assert run_readied("one") == "one" and run_readied("two") == "two" and kept() == ["one", "two"]
    half = next(entry for entry in prepared.iterdir() if entry.is_dir())
    sandbox.make_directory(prepared / f"{half.name}.new.01")
    age()
    assert run_readied("two") == "two" and run_readied("three") == "three"
    assert kept() == ["three", "two"], "used a moment ago, and new"
    assert not list(prepared.glob("*.new.*"))
