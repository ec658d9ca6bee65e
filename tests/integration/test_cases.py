"""Cases: one program, many inputs, a verdict each."""

import json
import os
import signal

import pytest

SUM = "a, b = input().split()\nprint(int(a) + int(b))\n"
JUDGED = """import os, sys
word = sys.stdin.readline().strip()
if word == 'loop':
    while True: pass
if word == 'sleep':
    import time; time.sleep(60)
if word == 'memory':
    block = bytearray(10 ** 9)
if word == 'raise':
    raise ValueError
if word == 'signal':
    os.kill(os.getpid(), 11)
if word == 'exit':
    sys.exit(3)
if word == 'much':
    print('x' * 3_000_000)
print(word, *sys.argv[1:])
"""


def write(sandbox, place, cases, name="cases.json"):
    text = cases if isinstance(cases, str) else json.dumps(cases)
    return str(sandbox.make_file(place / name, text))


def judge(sandbox, place, cases, *flags, code=JUDGED, exit_code=None):
    result = sandbox.run_json("-l", "python", "--cases", write(sandbox, place, cases), *flags, "-c", code)
    if exit_code is not None:
        assert result["_exit"] == exit_code, result
    return result


def verdicts(result):
    return [case["verdict"] for case in result["cases"]]


def refuse(sandbox, place, cases, *words, name="cases.json", flags=()):
    outcome = sandbox.run("-l", "python", "--cases", write(sandbox, place, cases, name), *flags, "-c", JUDGED)
    assert outcome.exit_code == 125, outcome
    assert outcome.stdout == b"", outcome
    lines = outcome.error.splitlines()
    assert lines[0].startswith("sandbox: ") and len(lines) <= 2, outcome
    for word in words:
        assert word in outcome.error, outcome


def test_every_verdict(sandbox, place, no_leftovers):
    cases = [{"stdin": "a", "expected": "a"},
             {"stdin": "a", "expected": "b"},
             {"stdin": "sleep", "limits": {"timeout": "500ms"}},
             {"stdin": "loop", "limits": {"cpu_time": "300ms"}},
             {"stdin": "memory", "limits": {"memory": "64M"}},
             {"stdin": "raise"},
             {"stdin": "signal"},
             {"stdin": "exit"},
             {"stdin": "exit", "exit_code": 3},
             {"stdin": "a", "exit_code": 3},
             {"stdin": "much", "expected": "x"}]
    result = judge(sandbox, place, cases, exit_code=1)
    assert verdicts(result) == ["accepted", "wrong_answer", "timeout", "timeout", "memory_limit", "runtime_error",
                                "runtime_error", "runtime_error", "accepted", "wrong_answer", "output_limit"]
    assert [case["status"] for case in result["cases"]][2:8] == ["timeout", "cpu_limit", "memory_limit", "failed",
                                                                 "signaled", "failed"]
    assert [case["number"] for case in result["cases"]] == list(range(1, 12))
    assert (result["status"], result["success"]) == ("failed", False)
    assert result["message"].startswith("2 of 11 cases accepted; case 2: wrong_answer"), result["message"]


def test_all_accepted_is_success_and_exit_0(sandbox, place):
    result = judge(sandbox, place, [{"stdin": f"{n} {n}", "expected": str(2 * n)} for n in range(20)], code=SUM,
                   exit_code=0)
    assert (result["status"], result["success"]) == ("ok", True)
    assert result["message"] == "20 of 20 cases accepted"
    assert all(case["execution_time"] > 0 and case["memory_used"] > 0 for case in result["cases"])
    assert result["execution_time"] == pytest.approx(sum(case["execution_time"] for case in result["cases"]), abs=1e-4)


def test_a_wrong_answer_says_where(sandbox, place):
    cases = [{"stdin": "a", "expected": "a\nb"}, {"stdin": "x\x1b[31m", "expected": "y" * 5000}, {"stdin": "a", "expected": ""}]
    first, second, third = judge(sandbox, place, cases)["cases"]
    assert first["difference"] == {"line": 2, "expected": "b", "got": None}
    assert second["difference"]["got"] == "x\\x1b[31m"
    assert second["difference"]["expected"].endswith("yyy...") and len(second["difference"]["expected"]) < 200
    assert third["difference"] == {"line": 1, "expected": None, "got": "a"}
    assert third["message"] == "line 1: expected no more output, got 'a'"
    assert third["stdout"] == "a\n"


def test_the_four_ways_to_compare(sandbox, place):
    def one(compare, expected, **more):
        return {"stdin": "1.50  2", "expected": expected, "compare": compare, **more}
    cases = [one("exact", "1.50  2\n"), one("exact", "1.50  2"), one("trimmed", "1.50  2  \n\n"),
             one("trimmed", "1.50 2"), one("tokens", "1.50\n2"), one("tokens", "1.5 2"), one("float", "1.5 2.0"),
             one("float", "1.51 2"), one("float", "1.51 2", tolerance=0.02)]
    assert verdicts(judge(sandbox, place, cases)) == [
        "accepted", "wrong_answer", "accepted", "wrong_answer", "accepted", "wrong_answer", "accepted",
        "wrong_answer", "accepted"]


def test_arguments_of_a_case_follow_those_of_the_command(sandbox, place):
    path = write(sandbox, place, [{"args": ["b c", "ü"], "expected": "a b c ü"}, {"expected": "a"}])
    outcome = sandbox.run("-l", "python", "--cases", path, "-c", "import sys; print(*sys.argv[1:])", "--", "a")
    assert outcome.exit_code == 0, outcome


def test_yaml_with_defaults_and_files(sandbox, place):
    (place / "data").mkdir()
    sandbox.make_file(place / "data" / "1.in", "3 4\n")
    sandbox.make_file(place / "data" / "1.out", "7\n")
    path = write(sandbox, place, "limits: { timeout: 10s }\ncompare: tokens\ncases:\n"
                                 "  - { name: from files, stdin_file: data/1.in, expected_file: ./data/1.out }\n"
                                 "  - { stdin: 1 2, expected: 3 }\n", "cases.yaml")
    code = sandbox.make_file(place / "sum.py", SUM)
    outcome = sandbox.run("--cases", "cases.yaml", "--jobs", "1", str(code), cwd=place)
    lines = outcome.stdout.decode().splitlines()
    assert outcome.exit_code == 0, outcome
    assert lines[0].startswith("case 1 (from files): accepted, ") and lines[1].startswith("case 2: accepted, ")
    assert lines[2] == "2 of 2 cases accepted"
    assert sandbox.run("--cases", path, str(code)).exit_code == 0


def test_verdicts_come_as_they_are_reached(sandbox, place, no_leftovers):
    path = write(sandbox, place, [{"stdin": "sleep"}, {"stdin": "a", "expected": "a"}])
    process = sandbox.start("run", "-l", "python", "--jobs", "2", "--cases", path, "-t", "100s", "-c", JUDGED)
    assert process.stdout.readline().startswith(b"case 2: accepted")
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=45)
    assert process.returncode == 130, (stdout, stderr)
    assert stdout.startswith(b"case 1: cancelled"), (stdout, stderr)


def test_a_signal_ends_every_case_and_begins_no_other(sandbox, place, no_leftovers):
    path = write(sandbox, place, [{"stdin": "a"}] + [{"stdin": "sleep"}] * 50)
    process = sandbox.start("run", "-l", "python", "-o", "jsonl", "--jobs", "4", "--cases", path, "-t", "100s",
                            "-c", JUDGED)
    assert [json.loads(process.stdout.readline())["event"] for _ in range(2)] == ["start", "case"]
    process.terminate()
    stdout, _ = process.communicate(timeout=45)
    assert process.returncode == 143
    result = json.loads(stdout.splitlines()[-1])["result"]
    assert result["status"] == "cancelled" and len(result["cases"]) == 51
    assert verdicts(result) == ["accepted"] + ["cancelled"] * 50


def test_events_of_cases(sandbox, place):
    path = write(sandbox, place, [{"stdin": "a", "expected": "a", "name": "one"}, {"stdin": "b", "expected": "c"}])
    outcome = sandbox.run("-l", "python", "-o", "jsonl", "--cases", path, "-c", JUDGED)
    kinds = [event["event"] for event in outcome.events]
    assert kinds == ["start", "case", "case", "complete"], outcome
    by_number = {event["number"]: event for event in outcome.events[1:3]}
    assert (by_number[1]["verdict"], by_number[1]["name"]) == ("accepted", "one")
    result = outcome.events[-1]["result"]
    assert result["id"] == outcome.events[0]["id"]
    for case in result["cases"]:
        assert case.items() <= by_number[case["number"]].items()


def test_the_text_report_has_the_cases_in_order(sandbox, place):
    path = write(sandbox, place, [{"stdin": str(n), "expected": "1"} for n in range(6)])
    outcome = sandbox.run("-l", "python", "--text", "--cases", path, "-c", JUDGED)
    report = outcome.stdout.decode().split("--- cases ---\n")[1].splitlines()
    assert [line.split(":")[0] for line in report[:6]] == [f"case {n}" for n in range(1, 7)]
    assert outcome.exit_code == 1


def test_a_program_is_compiled_once(sandbox, place, no_leftovers):
    code = sandbox.make_file(place / "sum.c", '#include <stdio.h>\nint main(void) { int a, b; '
                             'if (scanf("%d %d", &a, &b) != 2) return 9; printf("%d\\n", a + b); return 0; }\n')
    path = write(sandbox, place, [{"stdin": f"{n} 1", "expected": str(n + 1)} for n in range(8)] + [{"exit_code": 9}])
    result = sandbox.run_json("--no-cache", "--cases", path, str(code))
    assert result["_exit"] == 0, result
    assert result["compile"]["status"] == "ok" and result["compile"]["execution_time"] > 0


def test_a_project_is_judged(sandbox, place):
    project = place / "project"
    project.mkdir()
    sandbox.make_file(project / "__main__.py", "import helper\nprint(helper.double(int(input())))\n")
    sandbox.make_file(project / "helper.py", "def double(n): return 2 * n\n")
    path = write(sandbox, place, [{"stdin": str(n), "expected": str(2 * n)} for n in range(6)])
    result = sandbox.run_json("-l", "python", "-f", str(project), "--entry", "__main__.py", "--cases", path)
    assert result["_exit"] == 0, result


def test_a_compile_error_is_the_verdict_of_all(sandbox, place):
    path = write(sandbox, place, [{}, {"name": "two"}])
    result = sandbox.run_json("-l", "c", "--cases", path, "-c", "int main(void) { return nothing; }")
    assert (result["status"], result["_exit"]) == ("compile_error", 1)
    assert verdicts(result) == ["compile_error"] * 2
    assert "nothing" in result["compile"]["stderr"]
    assert all(case["message"].startswith("C compile error: ") and case["message"].endswith("(line 1)") for case in result["cases"])


def test_a_refusal_is_the_verdict_of_all(sandbox, place):
    if sandbox.is_root:
        pytest.skip("root makes control groups, which hold every limit")
    path = write(sandbox, place, [{}, {}])
    result = sandbox.run_json("-l", "shell", "--cases", path, "--cpus", "0.5", "-c", "true")
    assert (result["status"], result["_exit"]) == ("refused", 125), result
    assert verdicts(result) == ["refused"] * 2
    assert "hint: " in result["_stderr"]


def test_cases_with_a_workspace_run_one_after_another(sandbox, place):
    shared = place / "shared"
    shared.mkdir()
    sandbox.own(shared)
    path = write(sandbox, place, [{"expected": str(n)} for n in range(1, 9)])
    code = ("import os, pathlib\nassert not os.path.exists('lock')\nopen('lock', 'w').close()\n"
            "p = pathlib.Path('count'); n = int(p.read_text()) + 1 if p.exists() else 1\n"
            "p.write_text(str(n)); print(n)\nos.remove('lock')\n")
    result = sandbox.run_json("-l", "python", "--jobs", "4", "--workspace", str(shared), "--cases", path, "-c", code)
    assert result["_exit"] == 0, result


def test_cases_see_nothing_of_one_another(sandbox, place):
    path = write(sandbox, place, [{"expected": "[]"}] * 6)
    code = "import os; print(os.listdir('.')); open('left', 'w').write('x')"
    assert sandbox.run_json("-l", "python", "--cases", path, "-c", code)["_exit"] == 0


def test_a_template_goes_with_cases(sandbox, place):
    path = write(sandbox, place, [{"stdin": "2", "expected": "4"}, {"stdin": "x"}])
    result = sandbox.run_json("-l", "python", "--template", "call", "--set", "function=main", "--cases", path,
                              "-c", "def main():\n    return 2 * int(input())")
    assert verdicts(result) == ["accepted", "runtime_error"]
    assert 'File "/code/main.py", line 2, in main' in result["cases"][1]["stderr"]
    assert result["template"]["name"] == "call"


def test_output_that_is_no_text_is_judged_and_shown(sandbox, place):
    path = write(sandbox, place, [{"expected": "x"}])
    result = sandbox.run_json("-l", "shell", "--cases", path, "-c", r"printf '\377\0\n'")
    assert (verdicts(result), result["cases"][0]["encoding"]) == (["wrong_answer"], "base64")
    assert sandbox.run("-l", "shell", "--cases", path, "-c", r"printf '\033[31m\377'").stdout.isascii()


@pytest.mark.parametrize("cases, words", [
    ("", ["not JSON"]),
    ("[]", ["there are no cases"]),
    ("{}", ["no list 'cases'"]),
    ("[1]", ["case 1", "must be a mapping"]),
    ("[{}, {\"stdn\": 1}]", ["case 2", "'stdn'", "hint:"]),
    ("[{\"stdin\": 1, \"stdin\": 2}]", ["duplicate"]),
    ("[{\"limits\": {\"timeout\": \"soon\"}}]", ["case 1", "limits.timeout"]),
    ("[{\"limits\": {\"tmeout\": \"1s\"}}]", ["case 1", "tmeout"]),
    ("[{\"limits\": {\"timeout\": 0}}]", ["case 1", "limits.timeout"]),
    ("[{\"compare\": \"fuzzy\"}]", ["modes"]),
    ("[{\"stdin_file\": \"/etc/passwd\"}]", ["case 1", "absolute"]),
    ("[{\"expected_file\": \"../x\"}]", ["case 1", "upward"]),
    ("[{\"expected_file\": \"a/../../x\"}]", ["case 1"]),
    ("[{\"stdin_file\": \"no-such\"}]", ["case 1", "No such file"]),
    ("[{\"stdin_file\": \".\"}]", ["case 1", "not a regular file"]),
    ("[" * 100000, ["JSON"]),
    ("[{\"args\": \"x\"}]", ["list of texts"]),
    ("\xff", ["UTF-8"]),
])
def test_a_bad_file_runs_nothing(sandbox, place, cases, words):
    data = cases.encode("latin-1")
    sandbox.make_file(place / "cases.json", data)
    outcome = sandbox.run("-l", "python", "--cases", str(place / "cases.json"), "-c", JUDGED)
    assert outcome.exit_code == 125 and outcome.stdout == b"", outcome
    assert outcome.error.startswith("sandbox: option '--cases': ") or "case" in outcome.error, outcome
    for word in words:
        assert word in outcome.error, outcome


def test_hostile_yaml_is_refused_with_its_place(sandbox, place):
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\ncases: [*b]\n"
    refuse(sandbox, place, bomb, "cases.yaml:1:4: anchors", name="cases.yaml")
    refuse(sandbox, place, "- { stdin: a }\n- { limits: { memory: lots } }\n", "cases.yaml:2:15: case 2: limits.memory",
           name="cases.yaml")


def test_a_link_out_of_the_folder_is_refused(sandbox, place):
    os.symlink("/etc/hostname", place / "link")
    os.symlink("/etc", place / "folder")
    refuse(sandbox, place, [{"stdin_file": "link"}], "symbolic link")
    refuse(sandbox, place, [{"stdin_file": "folder/hostname"}], "case 1")
    os.mkfifo(place / "fifo")
    refuse(sandbox, place, [{"stdin_file": "fifo"}], "not a regular file")


@pytest.mark.parametrize("flags, words", [
    (["--jobs", "0"], ["--jobs"]), (["--jobs", "257"], ["--jobs"]), (["--jobs", "x"], ["--jobs"]),
    (["--jobs", "-1"], ["--jobs"]), (["--jobs", "99999999999"], ["--jobs"]),
    (["--stdin", "/dev/null"], ["--stdin"]), (["--collect", "*", "--collect-to", "."], ["--collect"]),
])
def test_options_that_do_not_go_with_cases(sandbox, place, flags, words):
    refuse(sandbox, place, [{}], *words, flags=flags)


def test_jobs_go_with_cases_alone(sandbox):
    outcome = sandbox.run("--jobs", "2", "-l", "python", "-c", "1")
    assert outcome.exit_code == 125 and "--jobs" in outcome.error


def test_an_unknown_language_runs_no_case(sandbox, place):
    outcome = sandbox.run("-l", "cobol", "--cases", write(sandbox, place, [{}]), "-c", "1")
    assert outcome.exit_code == 125 and "no such language" in outcome.error and outcome.stdout == b"", outcome


def test_many_cases_at_once_leave_nothing(sandbox, place, no_leftovers):
    path = write(sandbox, place, [{"expected": "x"}] * 200)
    result = sandbox.run_json("-l", "shell", "--jobs", "8", "--cases", path, "-c", "echo x")
    assert result["message"] == "200 of 200 cases accepted", result["message"]


def test_a_reader_that_goes_away_ends_the_cases(sandbox, place, no_leftovers):
    path = write(sandbox, place, [{"stdin": "a"}, {"stdin": "b"}] + [{"stdin": "sleep"}] * 20)
    process = sandbox.start("run", "-l", "python", "--jobs", "1", "--cases", path, "-t", "2s", "-c", JUDGED)
    assert process.stdout.readline().startswith(b"case 1: accepted")
    process.stdout.close()
    assert process.wait(timeout=45) == 125
    assert b"write standard output" in process.stderr.read()
    process.stderr.close()


def test_a_workspace_of_the_language_alone_is_shared_in_turn_too(sandbox, place):
    shared = place / "shared"
    shared.mkdir()
    sandbox.own(shared)
    policy = sandbox.make_file(place / "policy.yaml", f"languages: {{ shell: {{ filesystem: {{ workspace: {shared} }} }} }}\n")
    path = write(sandbox, place, [{}] * 8)
    result = sandbox.run_json("-l", "shell", "--jobs", "4", "--policy", str(policy), "--cases", path, "-c",
                              "mkdir lock && sleep 0.05 && rmdir lock")
    assert result["_exit"] == 0, result


def test_a_case_cannot_widen_a_sealed_policy(sandbox, place):
    policy = sandbox.make_file(place / "policy.yaml", "version: 1\nsealed: true\nlimits: { timeout: 5s }\n")
    flags = ["--policy", str(policy)]
    refuse(sandbox, place, [{}, {"limits": {"timeout": "50s"}}], "case 2", "timeout", flags=flags)
    path = write(sandbox, place, [{"stdin": "sleep", "limits": {"timeout": "300ms"}}])
    result = sandbox.run_json("-l", "python", *flags, "--cases", path, "-c", JUDGED)
    assert verdicts(result) == ["timeout"]
