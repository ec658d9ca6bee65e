"""Source that is made to hurt a parser: it is bounded, and told."""

import random
import resource

import pytest

from conftest import LANGUAGES

DEEP = 4_000
HOSTILE = {
    "nested parentheses": b"(" * DEEP,
    "balanced parentheses": b"(" * DEEP + b")" * DEEP,
    "nested brackets": b"[" * DEEP,
    "nested braces": b"{" * DEEP,
    "nested calls": b"f(" * DEEP + b"1" + b")" * DEEP,
    "nested substitutions": b"$(" * DEEP,
    "nested templates": b"`${" * 5_000,
    "unclosed strings": b"\"" * DEEP,
    "a chain of members": b"a." * DEEP + b"b",
    "a chain of sums": b"x = " + b"\"a\" + " * DEEP + b"\"a\"",
    "deep indentation": b"".join(b" " * depth + b"if x:\n" for depth in range(600)),
    "many aliases": b"a = eval\nb = a\na = b\n" * 500,
    "code in code": b"eval(\"eval('eval(1)')\")\n" * 300,
    "doubled variables": b"x=a\n" + b"x=$x$x\n" * 60 + b"$x y\n" * 100,
    "a line of a megabyte": b"x = '" + b"a" * 1_000_000 + b"'",
    "raw texts that nothing ends": b"#define A R\"x(" * DEEP,
    "directives full of comments": b"# /**/ \"/*\" '/*\n" * DEEP,
    "NUL bytes": b"import os\0\nx = 1\0\n" * 500,
    "bytes that are no text": b"x = \"\xff\xfe\xc0\x80\"\n" * 500,
    "noise": random.Random(1).randbytes(10_000),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_source_is_analysed_or_skipped(check, sandbox, no_leftovers, language):
    if not sandbox.is_root and language != "python":
        pytest.skip("the parser has no rights to lose: one language is enough for the other user")
    for name, code in HOSTILE.items():
        report = check(language, code)
        assert report["state"] in ("done", "skipped"), name
        assert (report["reason"] is None) == (report["state"] == "done"), name


def test_what_an_import_stands_beside_does_not_hide_it(check):
    for name, junk in HOSTILE.items():
        report = check("python", b"import socket\n" + junk)
        if report["state"] == "done" and "NUL" not in name:
            assert "python.socket" in {finding["rule"] for finding in report["findings"]}, name


@pytest.mark.parametrize("language, code", [
    ("python", "q{chain}\nimport socket\n"),
    ("javascript", "q{chain};\nrequire('net');\n"),
    ("rust", "fn main() {{ q{chain}; std::process::Command::new(\"ls\"); }}\n"),
])
def test_a_chain_of_methods_is_analysed(check, language, code):
    """Each link asks for the object before it twice: that must not double the work."""
    report = check(language, code.format(chain=".where(1)" * 300))
    assert (report["state"], report["reason"]) == ("done", None)
    assert report["findings"]


def test_too_large_source_is_skipped_and_blocks(check, sandbox, place):
    large = sandbox.make_file(place / "large.py", "x = 1\n" * 1_700_000)
    outcome = sandbox.call("check", "--json", str(large))
    assert (outcome.exit_code, outcome.json["state"], outcome.json["reason"]) == (1, "skipped", "too large")
    blocked = sandbox.run_json("--check", "block", str(large))
    assert (blocked["_exit"], blocked["status"]) == (126, "blocked")
    assert blocked["message"] == "Security policy blocked the code: it could not be analysed: too large"


def test_a_query_with_millions_of_matches_hides_no_other(check):
    """Each two commands of the pipeline fit the pattern of a fork bomb, but for their names."""
    code = "f() { " + "|".join(["g", "h"] * 3000) + "; }\nb() { " + "g|" * 50 + "b|b; }\n:(){ :|:& };:\n"
    report = check("shell", code)
    assert report["state"] == "done"
    assert [item["line"] for item in report["findings"] if item["rule"] == "shell.fork-bomb"] == [2, 3]


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_a_long_macro_hides_nothing(check, language):
    report = check(language, "#define A f(" + "1 + " * 20_000 + "fork())\nint main(void) { return A; }\n")
    assert (report["state"], [item["rule"] for item in report["findings"]]) == ("done", ["c.fork"])


def test_source_that_takes_too_long_is_skipped_and_blocks(sandbox, place, no_leftovers):
    slow = sandbox.make_file(place / "slow.py", "a." * 1_500_000 + "b")
    # A smaller limit than its own counts as well, and saves time here.
    blocked = sandbox.run_json("--check", "block", str(slow),
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (2, 2)))
    assert (blocked["_exit"], blocked["status"]) == (126, "blocked")
    assert (blocked["analysis"]["state"], blocked["analysis"]["reason"]) == ("skipped", "it takes too much time")


def test_the_parser_may_do_nothing_but_compute():
    """Its system calls, but those for memory and the report, end before the first byte is read."""
    import os
    import shutil
    import subprocess
    import tempfile
    from helpers.program import analyze_path, program_path
    if not shutil.which("strace") or os.geteuid() != 0:
        pytest.skip("needs strace and root")
    with tempfile.NamedTemporaryFile() as log:
        subprocess.run(["strace", "-f", "-o", log.name, program_path(), "check", "-l", "python", "-c", "import os"],
                       check=True, capture_output=True, timeout=60)
        lines = open(log.name, encoding="utf-8", errors="replace").read().splitlines()
    confined = [number for number, line in enumerate(lines) if "PR_SET_SECCOMP" in line]
    assert analyze_path() and len(confined) == 1
    pid = lines[confined[0]].split()[0]
    calls = {line.split()[1].split("(")[0] for line in lines[confined[0] + 1:] if line.startswith(pid + " ")}
    assert calls <= {"write", "mmap", "munmap", "mremap", "brk", "madvise", "mprotect", "exit_group", "+++", "<..."}
