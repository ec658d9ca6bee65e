"""Every language: what any program does, and how each of them fails."""

import re

import pytest

from toolchains import CASES, DATA, NAMES, program, programs

COMPILED = [name for name in NAMES if "compile" in DATA[name]]


def test_every_language_has_its_programs():
    """At least two real ones, of a hundred lines or more."""
    for name in NAMES:
        assert name in CASES and program(name, "basics"), name
        lengths = [len(path.read_text().splitlines()) for path in programs(name)]
        assert len(lengths) >= 2 and min(lengths) >= 100, (name, lengths)


def test_hello(language):
    result = language.code(DATA[language.name]["hello"])
    assert (result["status"], result["stdout"], result["stderr"]) == ("ok", "hello\n", ""), result


@pytest.mark.parametrize("language", COMPILED, indirect=True)
def test_the_second_hello_starts_no_compiler(language):
    language.code(DATA[language.name]["hello"])
    result = language.code(DATA[language.name]["hello"])
    assert (result["stdout"], result["compile"]["cached"]) == ("hello\n", True), result["compile"]


def test_the_failing_program(language):
    result = language.code(DATA[language.name]["error"])
    assert result["status"] == "failed" and result["_exit"] == result["exit_code"] != 0, result


def test_arguments(language):
    words = ["a", "two words", "", "*", "-x", "--flag=1", "'\"$HOME\\"]
    result = language.basics("args", *words)
    assert result["stdout"] == "".join(f"[{word}]\n" for word in words), result


def test_standard_input(language):
    result = language.basics("stdin", flags=("--stdin", "-"), input="".join(f"{i}\n" for i in range(1000)))
    assert result["stdout"] == "1000 lines, sum 499500\n", result


def test_files(language):
    result = language.basics("files")
    assert result["stdout"] == "one\ntwo\n", result
    assert (result["files"]["created"], result["files"]["modified"]) == (["made.txt"], [])


def test_the_exit_code(language):
    result = language.basics("exit")
    expected = language.case.get("exit_code", 7)
    assert (result["status"], result["exit_code"], result["_exit"]) == ("failed", expected, expected), result


def test_an_uncaught_error(language):
    result = language.basics("uncaught")
    assert result["status"] in ("failed", "signaled") and result["_exit"] not in (0, 125), result
    assert language.case.get("uncaught", "deliberate") in result["stderr"]
    assert "syntax" not in result["message"]


def test_a_timeout(language):
    result = language.basics("forever", flags=("-t", "300ms"))
    assert (result["status"], result["_exit"]) == ("timeout", 124), result
    assert result["message"] == "Code execution timed out after 0.3s"


def test_a_memory_limit(language):
    """Whether the sandbox ends it, or the runtime, told of the limit, gives up: it is the limit."""
    limit = language.case["memory"]
    result = language.basics("memory", flags=("-m", str(limit)))
    assert (result["status"], result["_exit"]) == ("memory_limit", 137), result
    assert result["message"] == f"Memory limit of {limit} MiB exceeded"
    assert "memory" in [violation["kind"] for violation in result["violations"]]


def test_more_memory_than_there_is(language):
    """What is refused at once ends no process: the runtime does, in its own words and way."""
    if "huge" not in language.case:
        pytest.skip(f"{language.name} has no words of its own for it")
    result = language.code(language.case["huge"], "-m", "256")
    assert (result["status"], result["_exit"]) == ("memory_limit", 137), result
    assert result["signal"] != 9 and result["stderr"], result
    assert result["message"] == "Memory limit of 256 MiB exceeded"


def test_words_about_memory_alone_are_no_limit(sandbox):
    """They count with the exit code of the runtime that says them."""
    code = "import sys\nprint('MemoryError', file=sys.stderr)\nsys.exit(3)\n"
    assert sandbox.python(code)["status"] == "failed"


def test_the_end_of_standard_error_tells_of_memory_in_every_form(sandbox):
    """Also what is passed on byte for byte, and what is behind the limit of the output."""
    code = "import sys\nsys.stderr.write('x' * 300000 + '\\n')\nsys.stderr.flush()\nbytearray(1 << 46)\n"
    flags = ("-l", "python", "-c", code, "--output-limit", "64K", "-m", "64")
    assert sandbox.run(*flags).exit_code == 137
    assert sandbox.run(*flags, "--text").exit_code == 137
    assert sandbox.run_json(*flags)["status"] == "memory_limit"
    cases = sandbox.make_file("cases.yaml", "cases:\n  - name: one\n")
    result = sandbox.run_json(*flags, "--cases", str(cases))
    assert [case["verdict"] for case in result["cases"]] == ["memory_limit"], result["cases"]


def test_unicode(language):
    result = language.basics("unicode", "日本語ß")
    assert result["stdout"] == "Grüße, 世界 🌍 日本語ß 4\n", result


def test_big_output(language):
    result = language.basics("big", flags=("--output-limit", "1M"))
    assert result["status"] == "ok", result["stderr"]
    assert (result["stdout_bytes"], result["stdout_truncated"], len(result["stdout"])) == (40000 * 64, True, 1 << 20)


def test_a_syntax_error(language):
    case = language.case["syntax"]
    result = language.code(case["code"])
    compiled = "compile" in DATA[language.name]
    assert result["status"] == ("compile_error" if compiled else "failed"), result
    assert result["message"].startswith(case["message"]) and "(line " in result["message"], result["message"]
    assert result["_exit"] not in (0, 125)


@pytest.mark.parametrize("language", COMPILED, indirect=True)
def test_a_compile_error(language):
    case = language.case["compile"]
    result = language.code(case["code"])
    assert result["status"] == "compile_error" and result["message"].startswith(case["message"]), result["message"]
    assert result["compile"]["exit_code"] == result["_exit"] != 0
    assert result["compile"]["stderr"] or result["compile"]["stdout"]
