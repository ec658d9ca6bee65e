"""`sandbox check`: forms, exit codes, policies, folders of rules."""

import json
import pathlib
import re
import shutil

import pytest

RULES = pathlib.Path(__file__).resolve().parents[2] / "rules"
RULE = """- id: own.print
  severity: medium
  sentence: prints
  recommendation: be quiet
  functions: [print]
- id: own.while
  severity: critical
  sentence: loops
  recommendation: do not
"""
QUERY = '((while_statement) @loop (#set! rule "own.while"))\n'


@pytest.fixture
def rules(sandbox, place):
    """A folder of rules as given."""
    def make(yaml=RULE, queries=QUERY, language="python"):
        folder = place / "rules" / language
        folder.mkdir(parents=True, exist_ok=True)
        sandbox.make_file(folder / "own.yaml", yaml)
        if queries is not None:
            sandbox.make_file(folder / "own.scm", queries)
        return str(place / "rules")
    return make


def test_clean_code_exits_with_zero(sandbox):
    outcome = sandbox.call("check", "-l", "python", "-c", "print(1)")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, b"risk: none\n", b"")


def test_the_text_shows_the_line_and_a_caret(sandbox, place):
    code = sandbox.make_file(place / "a.py", "x = 1\n\tprint('é', eval(x))\n")
    outcome = sandbox.call("check", str(code))
    assert outcome.exit_code == 1
    lines = outcome.stdout.decode().splitlines()
    assert lines[0] == f"{code}:2:14: high: runs text as code: eval [python.eval]"
    assert lines[1] == "     print('é', eval(x))"
    assert lines[2] == " " * 16 + "^~~~~~~"
    assert lines[3].startswith("    for values use")
    assert lines[-1].startswith("risk: high (runs text as code)")


@pytest.mark.parametrize("level, code", [("low", 1), ("medium", 1), ("high", 0), ("critical", 0), ("none", 0)])
def test_fail_on_sets_the_level_of_the_exit_code(sandbox, level, code):
    outcome = sandbox.call("check", "-l", "python", "--fail-on", level, "-c", "import multiprocessing")
    assert outcome.exit_code == code, outcome


def test_the_report_says_where_and_what(check):
    report = check("python", "import json\nimport subprocess\nsubprocess.run(['ls'])\n")
    assert report["language"] == "python" and report["state"] == "done" and report["risk"] == "high"
    assert report["reasons"] == ["starts other programs"]
    first = report["findings"][0]
    assert (first["rule"], first["kind"], first["what"]) == ("python.process", "import", "subprocess")
    assert (first["line"], first["column"], first["end_column"]) == (2, 8, 18)
    assert first["source"] == "import subprocess" and first["recommendation"] and not first["guess"]
    assert [item["name"] for item in report["imports"]] == ["json", "subprocess"]
    assert [item["name"] for item in report["calls"]] == ["subprocess.run"]
    assert [item["name"] for item in report["commands"]] == ["ls"]


def test_syntax_errors_have_a_place(check):
    report = check("python", "x = 1\ndef f(:\n")
    assert [(error["line"], error["column"]) for error in report["syntax_errors"]][:1] == [(2, 1)] or \
        report["syntax_errors"][0]["line"] == 2


def test_the_language_comes_from_the_name_or_the_first_line(sandbox, place):
    code = sandbox.make_file(place / "script", "#!/bin/bash\nrm x\n")
    assert sandbox.call("check", "--json", str(code)).json["language"] == "shell"


def test_a_project_is_analysed_file_by_file(sandbox, place):
    folder = place / "project"
    folder.mkdir()
    sandbox.own(folder)
    sandbox.make_file(folder / "main.py", "import helper\n")
    sandbox.make_file(folder / "helper.py", "import math\nimport socket\n")
    project = ["-l", "python", "--entry", "main.py", "--file", str(folder)]
    outcome = sandbox.call("check", "--json", *project)
    findings = outcome.json["findings"]
    assert [(item["file"], item["line"], item["rule"]) for item in findings] == [("helper.py", 2, "python.socket")]
    text = sandbox.call("check", *project).stdout.decode()
    assert text.startswith("helper.py:2:8: high: ")
    blocked = sandbox.run_json("--check", "block", *project)
    assert blocked["message"] == "Security policy blocked import: socket (helper.py, line 2)"


@pytest.mark.parametrize("flags, words", [
    (["-o", "xml"], "option '--output': no such form 'xml'"),
    (["-o", "json", "--json"], "more than one of '--output', '--json'"),
    (["--fail-on", "some"], "option '--fail-on': no such level 'some'"),
    (["--rules", "missing"], "open rules folder 'missing': No such file or directory"),
    (["--policy", "./missing"], "./missing"),
    (["-l", "cobol"], "no such language: 'cobol'"),
    (["--", "x"], "nothing runs: arguments have no meaning here"),
])
def test_bad_usage_is_one_line(sandbox, flags, words):
    language = [] if "-l" in flags else ["-l", "python"]
    outcome = sandbox.call("check", *language, "-c", "x", *flags)
    assert outcome.exit_code == 125 and words in outcome.error.splitlines()[0] and not outcome.stdout, outcome


def test_a_language_without_a_grammar_says_so(sandbox):
    outcome = sandbox.call("check", "--json", str(sandbox.path))
    assert outcome.exit_code == 1, outcome
    report = outcome.json
    assert (report["state"], report["risk"]) == ("skipped", None)
    assert report["reason"] == "there is no grammar for the language"
    assert "--trusted" not in outcome.error
    text = sandbox.call("check", str(sandbox.path))
    assert text.exit_code == 1 and b"there is no grammar for the language" in text.stdout, text


def test_several_files_are_named_as_a_project(sandbox):
    outcome = sandbox.call("check", "a.py", "b.py")
    assert outcome.exit_code == 125 and outcome.error.splitlines() == [
        "sandbox: one source at a time: unexpected 'b.py'",
        "hint: check each file by itself; those of one project are named with '--file' each"]


def test_a_build_without_analysis_says_so_and_blocks(sandbox):
    env = {"SANDBOX_ANALYZE": "/no/such/program"}
    outcome = sandbox.call("check", "-l", "python", "-c", "print(1)", env=env)
    assert outcome.exit_code == 125 and "static analysis is not installed" in outcome.error
    assert "hint: in the source tree: tools/bootstrap grammars && make" in outcome.error
    refused = sandbox.run_json("-l", "python", "--check", "block", "-c", "print(1)", env=env)
    assert (refused["_exit"], refused["status"]) == (125, "refused")
    warned = sandbox.run_json("-l", "python", "-c", "print(1)", env=env)
    assert warned["status"] == "ok" and warned["analysis"]["state"] == "skipped"
    assert warned["analysis"]["reason"] == "static analysis is not installed"


def test_a_parser_that_falls_is_a_skipped_analysis(sandbox, no_leftovers):
    env = {"SANDBOX_ANALYZE": "/bin/true"}
    blocked = sandbox.run_json("-l", "python", "--check", "block", "-c", "print(1)", env=env)
    assert (blocked["_exit"], blocked["status"]) == (126, "blocked")
    assert blocked["analysis"]["reason"] == "the parser fell over it"


# ---- rules ----

def test_further_rules_are_used(sandbox, rules):
    outcome = sandbox.call("check", "-l", "python", "--json", "--rules", rules(), "-c", "while 1:\n  print(2)")
    assert [(item["rule"], item["severity"], item["line"]) for item in outcome.json["findings"]] == \
        [("own.while", "critical", 1), ("own.print", "medium", 2)]


def test_a_finding_of_several_lines_is_told_in_one(sandbox, rules):
    outcome = sandbox.call("check", "-l", "python", "--json", "--rules", rules(), "-c", "while 1:\n    print(2)")
    assert "while 1: print(2)" in {finding["what"] for finding in outcome.json["findings"]}


def test_further_rules_block(sandbox, rules):
    folder = rules()
    blocked = sandbox.run_json("-l", "python", "--check", "block", "--rules", folder, "-c", "while 1: break")
    assert (blocked["_exit"], blocked["message"]) == (126, "Security policy blocked code: while 1: break (line 1)")
    warned = sandbox.run_json("-l", "python", "--rules", folder, "-c", "while 1: break")
    assert warned["status"] == "ok" and warned["analysis"]["risk"] == "critical"


@pytest.mark.parametrize("name", ["team.print", "python.print"])
def test_where_a_rule_comes_from_counts_and_not_its_name(sandbox, rules, place, name):
    """Where the policy has lists, built-in rules are advice; those of a folder are not, whatever they are called."""
    policy = sandbox.make_file(place / "lists.yaml", "analysis: { mode: block, python: { forbidden_imports: [zlib] } }\n")
    yaml = f"- {{id: {name}, severity: high, sentence: prints, recommendation: be quiet, functions: [print]}}\n"
    result = sandbox.run_json("-l", "python", "--policy", policy, "--rules", rules(yaml, None), "-c", "print(1)")
    assert result["_exit"] == 126 and [item["own"] for item in result["analysis"]["findings"]] == [True], result
    result = sandbox.run_json("-l", "python", "--policy", policy, "--rules", rules(yaml, None), "-c", "eval('1')")
    assert result["_exit"] == 0 and [item["own"] for item in result["analysis"]["findings"]] == [False], result


@pytest.mark.parametrize("language, count, code", [
    ("python", 3, "import os\ndef f():\n  while True:\n    # on and on\n    a = 1; os.fork(); pid = os.fork()\n"
                  "while 1: os.fork()\nwhile a: os.fork()\nfor x in y: os.fork()\n'while True: os.fork()'"),
    ("python", 1, "# first\n# coding: rot13\n# coding: hex\nx"),
    ("python", 1, "# coding: utf-7\nx"),
    ("python", 0, "x = 1\n# coding: rot13\n"),
    ("shell", 5, "f() { f | f & }; :(){ :|cat|:& };:\ng() { f | g; }\necho x > /dev/sda > /dev/null; cat < '/proc/sys/x'\n"
                 "exec 3<>/dev/tcp/1/2"),
    ("c", 5, "int main(void) { while (1) fork(); for (;;) { int i = 0; fork(); vfork(); if (i) fork(); } while (0) g();\n"
             "asm(\"nop\"); for (;;) ; while (1) { /* here */ fork(); } }"),
    ("cpp", 1, "void f() { while (true) fork(); }"),
    ("rust", 3, "extern \"C\" { fn f(); }\nfn main() { unsafe { f(); unsafe { f() } } }"),
])
def test_queries_find_what_the_library_finds(rules, check, language, count, code):
    """The queries that are built in are not read by the library; those of a folder are."""
    name = {"cpp": "c"}.get(language, language)
    queries = (RULES / name / "rules.scm").read_text()
    ids = sorted(set(re.findall(rf'rule "{name}\.([^"]+)"', queries)))
    folder = rules("".join(f"- {{id: own.{rule}, severity: low, sentence: it does, recommendation: do not}}\n" for rule in ids),
                   queries.replace(f'"{name}.', '"own.'), language=name)
    findings = check(language, code, "--rules", folder)["findings"]
    by_us, by_library = (sorted((item["line"], item["column"], rule) for item in findings for rule in ids
                                if item["rule"] == f"{prefix}.{rule}") for prefix in (name, "own"))
    assert by_us == by_library and len(by_us) == count, (by_us, by_library)


def test_rules_of_another_language_do_nothing(sandbox, rules):
    outcome = sandbox.call("check", "-l", "shell", "--json", "--rules", rules(), "-c", "echo")
    assert outcome.json["findings"] == []


@pytest.mark.parametrize("yaml, queries, words", [
    ("- id: x\n", None, "own.yaml:1:3: a rule needs id, severity, sentence and recommendation"),
    ("rules: []\n", None, "own.yaml:1:1: must be a list of rules"),
    ("- id: [x]\n", None, "own.yaml:1:7: 'id' must be a text"),
    ("- {id: x, severity: bad, sentence: a, recommendation: b}\n", None,
     "own.yaml:1:21: 'severity' must be low, medium, high or critical"),
    ("- {id: x, sevrity: low}\n", None, "own.yaml:1:11: unknown key 'sevrity'"),
    ("- {id: x, functions: eval}\n", None, "own.yaml:1:22: 'functions' must be a list of texts"),
    ("- id: {\n", None, "own.yaml:2:1: "),
    (RULE, "((no_such_node) @x (#set! rule \"own.while\"))", "own.scm:1:3: the language has no such kind of node"),
    (RULE, "((while_statement) @x)", "own.scm:1:1: the pattern does not say (#set! rule \"id\")"),
    (RULE, "((while_statement) @x (#set! rule \"other\"))", "own.scm:1:1: no rule has this id"),
    (RULE, "((while_statement) @x (#frob? @x \"y\") (#set! rule \"own.while\"))", "own.scm:1:1: unknown predicate"),
    (RULE, "((while_statement) @x (#match? @x \"(\") (#set! rule \"own.while\"))",
     "own.scm:1:1: not a regular expression"),
    (RULE, "\n((while_statement @x", "own.scm:2:"),
], ids=lambda text: (text or "none")[-24:])
def test_a_wrong_rule_is_told_with_its_place(sandbox, rules, yaml, queries, words):
    folder = rules(yaml, queries)
    for command in (["check"], ["run"], ["run", "--check", "block"]):
        outcome = sandbox.call(*command, "-l", "python", "--rules", folder, "-c", "print('ran')")
        assert outcome.exit_code == 125 and words in outcome.error.splitlines()[0], outcome
        assert b"ran" not in outcome.stdout


def test_a_folder_without_rules_is_a_mistake(sandbox, place):
    outcome = sandbox.call("check", "-l", "python", "--rules", str(place), "-c", "x")
    assert outcome.exit_code == 125 and "has no LANGUAGE/NAME.yaml in it" in outcome.error


def test_predicates_of_queries(sandbox, rules):
    queries = ('((call function: (_) @f) (#resolves? @f "json.*") (#set! rule "own.while"))\n\n'
               '((string) @s (#match? @s "^.secret") (#not-match? @s "public") (#set! rule "own.print"))\n\n'
               '((identifier) @i (#any-of? @i "left" "right") (#not-eq? @i "right") (#set! rule "own.print"))\n')
    code = "import json as j\nj.loads('secret')\nx = 'secret public'\nleft = right = 1\n"
    outcome = sandbox.call("check", "-l", "python", "--json", "--rules", rules(queries=queries), "-c", code)
    assert [(item["rule"], item["line"]) for item in outcome.json["findings"]] == \
        [("own.while", 2), ("own.print", 2), ("own.print", 4)]


def test_a_paragraph_with_a_condition_is_read_only_where_it_holds(sandbox, rules):
    queries = '; if: fork spoon\n((no_such_node) @x (#set! rule "own.while"))\n'
    folder = rules(queries=queries)
    assert sandbox.call("check", "-l", "python", "--rules", folder, "-c", "knife").exit_code == 0
    assert sandbox.call("check", "-l", "python", "--rules", folder, "-c", "spoon").exit_code == 125


@pytest.mark.parametrize("code, is_read", [
    ("plate\nspoon\nx", True), ("plate\nx\nspoon", False), ("spoon", False), ("x\n\nplate\n", False),
])
def test_all_conditions_of_a_paragraph_must_hold(sandbox, rules, code, is_read):
    queries = '; if: plate\n; if at the top: fork spoon\n((no_such_node) @x (#set! rule "own.while"))\n'
    outcome = sandbox.call("check", "-l", "python", "--rules", rules(queries=queries), "-c", code)
    assert outcome.exit_code == (125 if is_read else 0), outcome


# ---- SARIF ----

def test_sarif_has_what_the_standard_requires(sandbox, place):
    code = sandbox.make_file(place / "a b.py", "x = '𝄞é'; eval(x)\nimport subprocess\n")
    log = sandbox.call("check", "-o", "sarif", str(code)).json
    assert log["version"] == "2.1.0" and re.fullmatch(r"https://.*sarif-schema-2\.1\.0\.json", log["$schema"])
    run, = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "sandbox-run" and re.fullmatch(r"\d+\.\d+\.\d+", driver["semanticVersion"])
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids) and run["columnKind"] == "utf16CodeUnits"
    assert [invocation["executionSuccessful"] for invocation in run["invocations"]] == [True]
    assert len(run["results"]) == 2
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"] and result["level"] in ("note", "warning", "error")
        assert result["message"]["text"]
        location, = result["locations"]
        place_in_file = location["physicalLocation"]
        assert place_in_file["artifactLocation"]["uri"] == "file://" + str(code).replace(" ", "%20")
        region = place_in_file["region"]
        assert 1 <= region["startLine"] and 1 <= region["startColumn"] < region["endColumn"]
    # The clef is two code units of UTF-16.
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["startColumn"] == 12


def test_sarif_of_what_was_not_analysed_says_so(sandbox):
    outcome = sandbox.call("check", "-l", "python", "-o", "sarif", "-", input="x = 1\n" * 800_000)
    assert outcome.exit_code == 1
    invocation, = outcome.json["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [(item["level"], item["message"]["text"]) for item in invocation["toolExecutionNotifications"]] == \
        [("error", "not analysed: too large")]


def test_sarif_has_errors_of_syntax(sandbox, place):
    code = sandbox.make_file(place / "wrong.py", "x = 1\ny = (\n")
    invocation, = sandbox.call("check", "-o", "sarif", str(code)).json["runs"][0]["invocations"]
    notification, = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"].startswith("syntax: ") and "byte 1 of the line" in notification["message"]["text"]
    place_in_file = notification["locations"][0]["physicalLocation"]
    assert place_in_file["artifactLocation"]["uri"] == f"file://{code}" and place_in_file["region"] == {"startLine": 2}


def test_the_source_cannot_steer_the_terminal(sandbox):
    code = "eval('\x1b]0;title\x07\x9b31m')  # \x1b[31m"
    outcome = sandbox.call("check", "-l", "python", "-", input=code)
    assert outcome.exit_code == 1 and b"\x1b" not in outcome.stdout and b"\x9b" not in outcome.stdout


def test_every_built_in_query_can_be_read(check):
    """The paragraphs of queries are read only where their words stand: here all do."""
    assert check("python", "# coding: x fork Process utf-7 coding= while\n")["state"] == "done"
    assert check("shell", "echo '|/dev/ /proc/ /sys/ /dev/tcp /dev/udp'\n")["state"] == "done"
    assert check("c", "/* asm fork */\n")["state"] == "done"
    assert check("cpp", "/* asm fork */\n")["state"] == "done"
    assert check("rust", "// unsafe extern\n")["state"] == "done"
