"""Static analysis before a run: off, warn, block, trusted."""

import pytest

EVIL = "import json\nimport sys\nimport subprocess\nprint('ran')"


@pytest.fixture
def policy(sandbox, place):
    def make(text):
        return ["--policy", str(sandbox.make_file(place / "policy.yaml", text))]
    return make


def test_blocked_code_never_starts(sandbox, no_leftovers):
    result = sandbox.python(EVIL, "--check", "block")
    assert (result["_exit"], result["status"], result["success"]) == (126, "blocked", False)
    assert result["message"] == "Security policy blocked import: subprocess (line 3)"
    assert result["stdout"] == "" and result["exit_code"] is None and result["execution_time"] == 0
    assert result["violations"] == [{"kind": "analysis", "what": "subprocess", "why": "starts other programs", "count": 1}]
    assert result["analysis"]["mode"] == "block" and result["analysis"]["risk"] == "high"


def test_the_environment_can_ask_for_it(sandbox):
    env = {"SANDBOX_BLOCK_DANGEROUS_IMPORTS": "true"}
    outcome = sandbox.run("-l", "python", "-c", EVIL, env=env)
    assert (outcome.exit_code, outcome.stdout) == (126, b"")
    assert outcome.error == "sandbox: Security policy blocked import: subprocess (line 3)\n"


def test_warnings_are_in_the_result_and_nothing_is_stopped(sandbox):
    result = sandbox.python(EVIL)
    assert (result["_exit"], result["status"], result["stdout"]) == (0, "ok", "ran\n")
    analysis = result["analysis"]
    assert (analysis["mode"], analysis["state"], analysis["risk"]) == ("warn", "done", "high")
    assert [finding["line"] for finding in analysis["findings"]] == [3]
    assert "calls" not in analysis and [item["name"] for item in analysis["imports"]] == ["json", "sys", "subprocess"]


def test_raw_output_stays_the_program_s_own(sandbox):
    outcome = sandbox.run("-l", "python", "-c", EVIL)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, b"ran\n", b"")


def test_raw_output_warns_when_asked(sandbox):
    outcome = sandbox.run("-l", "python", "--check", "warn", "-c", EVIL)
    assert outcome.error == "sandbox: warning: starts other programs: subprocess (line 3)\n"
    assert sandbox.run("-l", "python", "--check", "warn", "-q", "-c", EVIL).stderr == b""


def test_off_looks_at_nothing(sandbox):
    result = sandbox.python(EVIL, "--check", "off")
    assert result["status"] == "ok" and result["analysis"] is None


def test_a_language_without_a_grammar_is_not_analysed(sandbox, compile_program):
    program = str(compile_program("quiet", "int main(void) { return 0; }"))
    result = sandbox.run_json(program)
    assert result["status"] == "ok"
    assert (result["analysis"]["state"], result["analysis"]["risk"]) == ("skipped", None)
    assert result["analysis"]["reason"] == "there is no grammar for the language"
    refused = sandbox.run_json("--check", "block", program)
    assert (refused["_exit"], refused["status"]) == (125, "refused")
    assert refused["message"] == "static analysis of Program: there is no grammar for the language"
    trusted = sandbox.run_json("--check", "block", "--trusted", program)
    assert trusted["status"] == "ok"
    sealed = sandbox.run("--policy", "strict", "--sealed", program)
    assert sealed.exit_code == 125 and sealed.error.splitlines()[1:] == [
        "hint: the policy is sealed: only a language that can be analysed runs"], sealed


def test_trust_is_recorded(sandbox):
    result = sandbox.python(EVIL, "--check", "block", "--trusted")
    assert (result["status"], result["stdout"]) == ("ok", "ran\n")
    assert (result["analysis"]["trusted"], result["analysis"]["state"]) == (True, "trusted")
    events = sandbox.run("-l", "python", "-o", "jsonl", "--check", "block", "--trusted", "-c", EVIL).events
    bypass, = [event for event in events if event["event"] == "bypass"]
    assert bypass["what"] == "static analysis was left out: --trusted"


def test_a_block_is_an_event(sandbox):
    outcome = sandbox.run("-l", "python", "-o", "jsonl", "--check", "block", "-c", EVIL)
    kinds = [event["event"] for event in outcome.events]
    assert kinds == ["start", "violation", "complete"]
    assert outcome.events[1]["what"] == "analysis: subprocess: starts other programs"


def test_the_lists_of_a_policy_decide_alone(sandbox, policy):
    flags = policy("analysis: { mode: block, python: { forbidden_imports: [json] } }")
    assert sandbox.python("import json", *flags)["message"] == "Security policy blocked import: json (line 1)"
    passed = sandbox.python("import subprocess\nprint('ran')", *flags)
    assert (passed["status"], passed["stdout"]) == ("ok", "ran\n")
    assert passed["analysis"]["risk"] == "high"


@pytest.mark.parametrize("rule, code, message", [
    ("forbidden_functions: [eval]", "e = eval", "Security policy blocked function: eval (line 1)"),
    ("forbidden_patterns: ['__import__']", "x = __import__", "Security policy blocked pattern: __import__ (line 1)"),
    ("forbidden_commands: [ls]", "import os\nos.system('ls')", "Security policy blocked command: ls (line 2)"),
])
def test_each_list_blocks_with_its_words(sandbox, policy, rule, code, message):
    flags = policy(f"analysis: {{ mode: block, python: {{ {rule} }} }}")
    assert sandbox.python(code, *flags)["message"] == message


def test_a_rule_that_the_policy_names_is_forbidden(sandbox, policy):
    flags = policy("analysis: { mode: block, python: { forbidden_rules: [python.environment] } }")
    blocked = sandbox.python("import os\nprint(os.environ)", *flags)
    assert (blocked["_exit"], blocked["analysis"]["risk"]) == (126, "high")
    assert [finding["rule"] for finding in blocked["analysis"]["findings"] if finding["policy"]] == ["python.environment"]
    assert blocked["message"] == "Security policy blocked function: os.environ (line 2)"
    assert sandbox.python("import subprocess", *flags)["status"] == "ok"


@pytest.mark.parametrize("mode", ["warn", "block"])
def test_a_name_that_no_rule_has_is_a_mistake(sandbox, policy, mode):
    flags = policy(f"analysis: {{ mode: {mode}, python: {{ forbidden_rules: [python.nothing] }} }}")
    outcome = sandbox.run("-l", "python", *flags, "-c", "print('ran')")
    assert outcome.exit_code == 125 and b"ran" not in outcome.stdout
    assert "the policy names 'python.nothing': no rule has this id" in outcome.error


def test_folders_of_rules_that_the_policy_names(sandbox, policy, place):
    sandbox.make_directory(place / "rules")
    folder = sandbox.make_directory(place / "rules/python")
    sandbox.make_file(folder / "own.yaml", "- { id: team.print, severity: high, sentence: prints, recommendation: none, "
                                           "functions: [print] }\n")
    flags = policy("analysis: { mode: block, rules: [./rules] }")  # from the file's own folder
    assert sandbox.python("print(1)", *flags)["message"] == "Security policy blocked function: print (line 1)"
    assert sandbox.call("check", *flags, "-l", "python", "-c", "print(1)").exit_code == 1
    missing = sandbox.run("-l", "python", *policy(f"analysis: {{ rules: ['{place}/none'] }}"), "-c", "1")
    assert missing.exit_code == 125 and f"analysis.rules: open rules folder '{place}/none'" in missing.error


def test_lists_of_the_shell(sandbox, policy):
    flags = policy("analysis: { mode: block, shell: { forbidden_commands: [rm], forbidden_patterns: ['>/dev/'] } }")
    assert sandbox.shell("'r'm x", *flags)["message"] == "Security policy blocked command: rm (line 1)"
    assert sandbox.shell("echo > /dev/x", *flags)["message"] == "Security policy blocked pattern: >/dev/ (line 1)"
    assert sandbox.shell("echo hi", *flags)["stdout"] == "hi\n"


def test_lists_of_one_language_do_not_concern_another(sandbox, policy):
    flags = policy("analysis: { mode: block, python: { forbidden_imports: [json] } }")
    assert sandbox.shell("rm -f x", *flags)["status"] == "blocked"
    assert sandbox.shell("echo json", *flags)["status"] == "ok"


def test_analysis_of_code_that_does_not_compile(sandbox):
    result = sandbox.run_json("-l", "c", "--check", "block", "-c", "int main(void) { return x; }")
    assert result["status"] == "compile_error" and result["analysis"]["state"] == "done"


def test_a_blocked_program_is_not_compiled(sandbox):
    result = sandbox.run_json("-l", "c", "--check", "block", "-c", 'int main(void) { return system("x"); }')
    assert result["status"] == "blocked" and result["compile"] is None


def test_lines_are_those_of_the_code_in_a_template(sandbox, place):
    template = sandbox.make_file(place / "wrap.py", "x = 1\nif x:\n    {{code}}\n")
    result = sandbox.python("y = 2\nimport socket", "--template", str(template), "--check", "block")
    assert result["message"] == "Security policy blocked import: socket (line 2)"
    finding, = result["analysis"]["findings"]
    assert (finding["file"], finding["line"], finding["column"]) == (None, 2, 8)


def test_cases_of_blocked_code_do_not_run(sandbox, place):
    cases = sandbox.make_file(place / "cases.yaml", "- { stdin: '', expected: 'ran' }\n")
    outcome = sandbox.run("-l", "python", "--json", "--check", "block", "--cases", str(cases), "-c", EVIL)
    assert "blocked" in outcome.stdout.decode() and "ran" not in outcome.json["stdout"]


def test_the_text_form_tells_it(sandbox):
    text = sandbox.run("-l", "python", "--text", "-c", EVIL).stdout.decode()
    assert "analysis: high risk (starts other programs)" in text


def test_a_rule_of_one_s_own_counts_beside_the_built_in_ones(sandbox, place):
    folder = sandbox.make_directory(sandbox.make_directory(place / "rules") / "python")
    sandbox.make_file(folder / "team.yaml", "- { id: team.http, severity: critical, sentence: asks, "
                                            "recommendation: do not, imports: [http] }\n")
    result = sandbox.python("import http.client\nprint('ran')", "--check", "block", "--rules", str(folder.parent))
    assert (result["_exit"], result["stdout"]) == (126, ""), result
    assert {finding["rule"] for finding in result["analysis"]["findings"]} == {"team.http", "python.network"}


def test_many_small_findings_hide_no_forbidden_one(sandbox, policy):
    flags = policy("analysis: { mode: block, python: { forbidden_imports: [zlib] } }")
    code = "import os\n" + "os.getenv('A')\n" * 600 + "import zlib\nprint('ran')"
    result = sandbox.python(code, *flags)
    assert (result["_exit"], result["stdout"]) == (126, ""), result["message"]
    assert result["message"] == "Security policy blocked import: zlib (line 602)"


@pytest.mark.parametrize("language, base, code, lists", [
    ("typescript", "javascript", 'import a from "fs";', "forbidden_imports: [fs]"),
    ("typescript", "javascript", 'import a from "os";', "forbidden_rules: [javascript.system]"),
    ("cpp", "c", "#include <time.h>\nint main() {}", "forbidden_imports: [time.h]")])
def test_lists_of_a_language_count_for_its_dialect(check, policy, language, base, code, lists):
    report = check(language, code, *policy(f"analysis: {{ mode: block, {base}: {{ {lists} }} }}"))
    assert [finding["policy"] for finding in report["findings"]] == [True], report
    assert report["blocked"].startswith("Security policy blocked import: ")
