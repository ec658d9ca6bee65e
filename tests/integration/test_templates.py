"""Templates: code and values put into a program, and lines of errors found back."""

import json
import re
import subprocess

import pytest

SUM = "def add(a, b):\n    return a + b\n"


def has_language(sandbox, name):
    listed = json.loads(sandbox.call("languages", "--json").stdout)
    return any(one["name"] == name and one["status"] == "ready" for one in listed)


def call(sandbox, *flags, code=SUM, function="add", **options):
    return sandbox.run("-l", "python", "--template", "call", "--set", f"function={function}", *flags, "-c", code,
                       **options)


def refuse(outcome, *words):
    assert outcome.exit_code == 125, outcome
    assert outcome.stdout == b"", outcome
    lines = outcome.error.splitlines()
    assert lines[0].startswith("sandbox: ") and len(lines) <= 2, outcome
    for word in words:
        assert word in outcome.error, outcome


# ---- built in ----

def test_a_function_is_called_with_arguments_in_json(sandbox):
    outcome = call(sandbox, "--set", 'args=["a\\"b\\\\", "\\u00fc\\n"]')
    assert outcome.exit_code == 0, outcome
    assert json.loads(outcome.stdout) == 'a"b\\ü\n'


def test_a_coroutine_is_awaited_and_keyword_arguments_are_passed(sandbox):
    outcome = call(sandbox, "--set", 'kwargs={"a": [1], "b": [null, true]}', code="async def add(a, b): return a + b")
    assert json.loads(outcome.stdout) == [1, None, True], outcome


@pytest.mark.parametrize("value", ['[]); import os; os.system("id"', "[1", "", "__import__('os')"])
def test_arguments_that_are_no_json_never_become_code(sandbox, value):
    refuse(call(sandbox, "--set", f"args={value}"), "value of 'args'", "not JSON")


@pytest.mark.parametrize("value", ["add(", "add;x", "a b", "1", "", "add\n"])
def test_a_function_must_be_a_name(sandbox, value):
    refuse(call(sandbox, function=value), "value of 'function'", "not a name")


def test_unit_tests_pass_and_fail_with_lines_of_the_tests(sandbox, place):
    tests = ("class T(unittest.TestCase):\n    def test_right(self): self.assertEqual(add(1, 2), 3)\n"
             "    def test_wrong(self):\n        self.assertEqual(add(1, 2), 4)\n")
    path = sandbox.make_file(place / "tests.py", tests)
    outcome = sandbox.run("-l", "python", "--template", "unittest", "--set-file", f"tests={path}", "-c", SUM)
    assert outcome.exit_code == 1, outcome
    assert 'File "/code/main.py", line 4 of tests, in test_wrong' in outcome.error, outcome
    assert "test_right (__main__.T" in outcome.error
    sandbox.make_file(path, tests.replace("4)", "3)"))
    outcome = sandbox.run("-l", "python", "--template", "unittest", "--set-file", f"tests={path}", "-c", SUM)
    assert outcome.exit_code == 0, outcome


def test_a_statement_is_timed(sandbox):
    outcome = sandbox.run("-l", "python", "--template", "timing", "--set", "statement=add('a', \"b\")",
                          "--set", "number=10", "--set", "repeat=3", "-c", SUM)
    figures = json.loads(outcome.stdout)
    assert (figures["number"], figures["repeat"]) == (10, 3)
    assert 0 < figures["best"] <= figures["median"] <= figures["worst"]


def javascript(sandbox, *flags):
    if not has_language(sandbox, "javascript"):
        pytest.skip("JavaScript is not installed here, or not in this build")
    return sandbox.run("-l", "javascript", *flags)


def test_a_javascript_function_is_called(sandbox):
    outcome = javascript(sandbox, "--template", "call", "--set", "function=add",
                         "--set", 'args=["a`${1}", "\\u2028"]', "-c", "async function add(a, b) { return a + b }")
    assert outcome.exit_code == 0, outcome
    assert json.loads(outcome.stdout) == "a`${1}\u2028"


def test_javascript_assertions_pass_and_fail(sandbox):
    code = "const add = (a, b) => a + b;"
    outcome = javascript(sandbox, "--template", "assert", "-c", code, "--set",
                         "tests=test('right', () => assert.equal(add(1, 2), 3));\n"
                         "test('wrong', async () => assert.equal(add(1, 2), 4));")
    assert outcome.exit_code == 1, outcome
    assert "ok - right\n1 passed, 1 failed\n" in outcome.stdout.decode(), outcome
    assert "not ok - wrong" in outcome.error and "tests:2:" in outcome.error, outcome


def test_javascript_is_timed_and_its_lines_are_found(sandbox):
    outcome = javascript(sandbox, "--template", "timing", "--set", "number=10", "--set", "statement=f()",
                         "-c", "function f() {}\n")
    assert json.loads(outcome.stdout)["number"] == 10, outcome
    outcome = javascript(sandbox, "--template", "call", "--set", "function=f",
                         "-c", "\n\nfunction f() { throw new Error('x') }\n")
    assert "at f (/code/main.js:3:" in outcome.error, outcome


# ---- lines ----

FORMS = [["-o", "raw"], ["-o", "json"], ["-o", "jsonl"]]


def words_of(outcome, form):
    """Standard error of the program, as the form gives it."""
    if form[1] == "raw":
        return outcome.error
    if form[1] == "json":
        return outcome.json["stderr"]
    pieces = "".join(event["data"] for event in outcome.events if event["event"] == "stderr")
    assert pieces == outcome.events[-1]["result"]["stderr"]
    return pieces


@pytest.mark.parametrize("form", FORMS)
def test_lines_are_those_of_the_code_in_every_form(sandbox, form, place):
    template = sandbox.make_file(place / "wrap.py", "import sys\n\ndef run():\n    {{code}}\n\nrun()\n")
    outcome = sandbox.run(*form, "--template", str(template), "-c", "x = 1\nif x:\n    raise ValueError('here')\n")
    words = words_of(outcome, form)
    assert 'File "/code/main.py", line 3, in run' in words, outcome
    assert 'File "/code/main.py", line 6 of template wrap, in <module>' in words, outcome


def test_a_syntax_error_is_told_by_the_line_of_the_code(sandbox, place):
    template = sandbox.make_file(place / "wrap.py", "one = 1\ntwo = 2\n{{code}}\nthree = (\n")
    result = sandbox.run_json("--template", str(template), "-c", "ok = 1\ndef f(:\n    pass\n")
    assert result["message"] == "Python syntax error: invalid syntax (line 2)", result
    assert 'File "/code/main.py", line 2\n' in result["stderr"]
    result = sandbox.run_json("--template", str(template), "-c", "ok = 1\n")
    assert result["message"].endswith("(line 4 of template wrap)"), result


def test_a_compile_error_is_told_by_the_line_of_the_code(sandbox, place):
    template = sandbox.make_file(place / "wrap.c", "#include <stdio.h>\nint main(void) {\n  {{code}}\n  return 0;\n}\n")
    result = sandbox.run_json("--template", str(template), "-c", 'puts("a");\nputs(nothing);\n')
    assert result["status"] == "compile_error", result
    assert re.fullmatch(r"C compile error: .nothing. undeclared .* \(line 2\)", result["message"]), result["message"]
    assert "/code/main.c:2:6: error:" in result["compile"]["stderr"]
    assert "\n    2 |   puts(nothing);" in result["compile"]["stderr"]
    outcome = sandbox.run("--template", str(template), "-c", "}")
    assert "template wrap:4" in outcome.error, outcome


def test_lines_are_those_of_the_code_in_a_local_run_too(sandbox):
    outcome = call(sandbox, "--backend", "local", "--enforcement", "best-effort", "--set", "args=[1, null]")
    assert '/code/main.py", line 2, in add' in outcome.error, outcome
    assert '/code/main.py", line 5 of template call, in <module>' in outcome.error, outcome


def test_lines_come_while_the_program_runs(sandbox, place):
    template = sandbox.make_file(place / "wrap.sh", "# one\n{{code}}\n")
    process = sandbox.start("run", "--template", str(template), "-t", "60s", "--stdin", "-", "-c",
                            "nothing-here\nread answer\necho end >&2", stdin=subprocess.PIPE)
    line = process.stderr.readline().decode()
    assert "main.sh: line 1: nothing-here" in line, line
    process.stdin.write(b"go\n")
    process.stdin.close()
    assert process.stderr.readline() == b"end\n"
    assert process.wait(timeout=30) == 0
    process.stdout.close()
    process.stderr.close()


def test_much_on_standard_error_arrives_whole(sandbox, place, no_leftovers):
    template = sandbox.make_file(place / "wrap.py", "import sys\n{{code}}\n")
    code = "for i in range(20000): print('x' * 30, i, file=sys.stderr)\nsys.stderr.write('end without newline')"
    outcome = sandbox.run("--template", str(template), "-c", code)
    lines = outcome.error.splitlines()
    assert len(lines) == 20001 and lines[-1] == "end without newline"
    assert lines[12345].endswith(" 12345")


def test_a_reader_that_goes_away_ends_the_run(sandbox, place, no_leftovers):
    template = sandbox.make_file(place / "wrap.sh", "{{code}}\n")
    process = sandbox.start("run", "--template", str(template), "-t", "100s", "-c",
                            "while :; do echo words; done >&2")
    assert process.stderr.readline() == b"words\n"
    process.stderr.close()
    assert process.wait(timeout=30) == 125
    process.stdout.close()


def test_a_signal_ends_a_run_whose_reader_does_not_read(sandbox, place, no_leftovers):
    template = sandbox.make_file(place / "wrap.sh", "{{code}}\n")
    process = sandbox.start("run", "--template", str(template), "-t", "100s", "-c",
                            "echo words >&2; while :; do echo words; done >&2")
    assert process.stderr.read(1) == b"w"
    process.terminate()
    assert process.wait(timeout=30) == 143
    process.stdout.close()
    process.stderr.close()


def test_the_result_says_which_template_it_was(sandbox):
    result = json.loads(call(sandbox, "--json", "--set", "args=[1, 2]").stdout)
    assert result["template"]["name"] == "call"
    assert result["template"]["code_line"] == 1
    assert result["template"]["lines"] > 5
    assert sandbox.python("print(1)")["template"] is None


# ---- templates of one's own ----

GREET = """name: greet
language: python
placeholders:
  who: { as: string, default: world }
  times: { as: number, default: "1" }
program: |
  {{code}}
  for _ in range({{times}}):
      print(greeting({{who}}))
"""
GREETING = "def greeting(name): return 'hello ' + name"


def test_a_template_file_has_defaults_and_quotes_values(sandbox, place):
    path = str(sandbox.make_file(place / "greet.yaml", GREET))
    assert sandbox.run("--template", path, "-c", GREETING).stdout == b"hello world\n"
    outcome = sandbox.run("--template", path, "--set", "who=\"+__import__('os').name+\"\\", "--set", "times=2",
                          "-c", GREETING)
    assert outcome.stdout.decode() == "hello \"+__import__('os').name+\"\\\n" * 2, outcome


def test_code_from_a_file_and_from_standard_input_is_wrapped(sandbox, place):
    path = str(sandbox.make_file(place / "greet.yaml", GREET))
    code = sandbox.make_file(place / "g.py", GREETING)
    assert sandbox.run("--template", path, str(code)).stdout == b"hello world\n"
    assert sandbox.run("--template", path, input=GREETING).stdout == b"hello world\n"


def test_a_large_file_is_wrapped_whole(sandbox, place):
    template = sandbox.make_file(place / "wrap.py", "{{code}}\nprint(value)\n")
    code = sandbox.make_file(place / "large.py", "# " + "x" * 900_000 + "\nvalue = 7\n")
    assert sandbox.run("--template", str(template), str(code)).stdout == b"7\n"


@pytest.mark.parametrize("flags, words", [
    (["--template", "no-such"], ["no such template: 'no-such'", "hint:", "unittest (python)"]),
    (["--template", "./no-such.yaml"], ["no-such.yaml", "No such file"]),
    (["--template", "/"], ["is a directory"]),
    (["--template", "/dev/zero"], ["not a regular file"]),
    (["--template", ""], []),
    (["--template", "call"], ["no value for 'function'", "hint:"]),
    (["--template", "unittest"], ["no value for 'tests'"]),
    (["--template", "call", "--set", "function=f", "--set", "functoin=g", "--set", "x=y"],
     ["no placeholder 'functoin', 'x'", "hint:"]),
    (["--template", "call", "--set", "function=f", "--set", "function=g"], ["given twice"]),
    (["--template", "call", "--set", "function"], ["K=V"]),
    (["--template", "call", "--set", "=f"], ["K=V"]),
    (["--template", "call", "--set", "code=f"], ["the code itself"]),
    (["--template", "call", "--set-file", "function=no-such-file"], ["No such file"]),
    (["--template", "assert", "--set", "tests=x"], ["is for javascript, the code is python"]),
    (["--set", "a=b"], ["no '--template'"]),
    (["--set-file", "a=b"], ["no '--template'"]),
])
def test_a_mistake_is_an_error_that_names_it(sandbox, flags, words):
    refuse(sandbox.run("-l", "python", *flags, "-c", "1"), *words)


def test_a_name_for_several_languages_asks_which(sandbox):
    refuse(sandbox.run("--template", "call", "--set", "function=f", "-c", "1"), "which language?", "python")
    outcome = sandbox.run("--template", "call-python", "--set", "function=f", "-c", "def f(): return 1")
    assert outcome.stdout == b"1\n", outcome


@pytest.mark.parametrize("text, words", [
    ("program: nothing\n", "no place for the code"),
    ("program: '{{code}}'\nextra: 1\n", "t.yaml:2:1: unknown key 'extra'"),
    ("program: &a '{{code}}'\n", "anchors"),
    ("a: [[[[[[[[[[1]]]]]]]]]]\n", "deep"),
    ("program: '{{code}}'\nprogram: '{{code}}'\n", "repeated key"),
    ("", "empty"),
    ("\x00", "t.yaml"),
    ("program: '{{code}}'\nlanguage: cobol\n", "no such language: 'cobol'"),
])
def test_a_broken_template_is_refused(sandbox, place, text, words):
    path = sandbox.make_file(place / "t.yaml", text)
    refuse(sandbox.run("--template", str(path), "-c", "1"), words)


def test_a_project_cannot_be_put_into_a_template(sandbox, place):
    (place / "p").mkdir()
    sandbox.make_file(place / "p" / "__main__.py", "print(1)")
    refuse(sandbox.run("--template", "call-python", "--set", "function=f", "-f", str(place / "p")), "not a project")


def test_the_templates_are_listed(sandbox):
    listed = json.loads(sandbox.call("templates", "--json").stdout)
    assert {("unittest", "python"), ("assert", "javascript"), ("call", "python"), ("call", "javascript"),
            ("timing", "python")} <= {(one["name"], one["language"]) for one in listed}
    table = sandbox.call("templates").stdout.decode().splitlines()
    assert table[0].split()[:3] == ["NAME", "LANGUAGE", "VALUES"] and len(table) == len(listed) + 1
    assert sandbox.call("templates", "x").exit_code == 125
