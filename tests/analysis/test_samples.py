"""What analysis finds in code: the samples, exactly; and no more than there is in ordinary programs."""

import ast
import pathlib
import subprocess
import sys
import sysconfig
import warnings

import pytest
import yaml

import samples
from conftest import LANGUAGES

ORDINARY = yaml.safe_load((pathlib.Path(__file__).parent / "ordinary.yaml").read_text(encoding="utf-8"))


def test_there_are_enough_samples():
    every = list(samples.load())
    assert len(every) >= 150 and {language for language, _ in every} == set(LANGUAGES)
    assert len({(language, sample["name"]) for language, sample in every}) == len(every)
    assert len(ORDINARY) >= 50


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sample_has_its_findings_and_no_others(check, sandbox, place, language):
    wrong = []
    for index, (_, sample) in enumerate(pair for pair in samples.load() if pair[0] == language):
        policy = samples.policy_text(language, sample)
        flags = ["--policy", str(sandbox.make_file(place / f"{index}.yaml", policy))] if policy else []
        report = check(language, sample["code"], *flags)
        found = samples.findings_of(report)
        if found != sorted(sample["finds"]) or bool(report["syntax_errors"]) != sample.get("errors", False):
            wrong.append((sample["name"], found, sorted(sample["finds"]), report["syntax_errors"]))
    assert not wrong


@pytest.mark.parametrize("language", sorted({program["language"] for program in ORDINARY}))
def test_ordinary_programs_are_not_suspected(check, language):
    wrong = []
    for program in ORDINARY:
        if program["language"] != language:
            continue
        report = check(language, program["code"])
        if report["risk"] not in ("none", "low") or report["syntax_errors"] or report["_exit"] != 0:
            wrong.append((program["code"], report["findings"], report["syntax_errors"]))
    assert not wrong


def imports_of(text):
    """The modules that Python's own parser sees imported."""
    names = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            names.add("." * node.level + (node.module or ""))
    return names


def test_the_standard_library_imports_what_python_says(check, session_program):
    if not session_program.is_root:
        pytest.skip("the same source gives the same report; once is enough")
    modules = sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    assert len(modules) > 100
    wrong = []
    for path in modules:
        report = check("python", path.read_bytes())
        found = {item["name"] for item in report["imports"] if not item["guess"]}
        wanted = imports_of(path.read_text(encoding="utf-8"))
        # A constant argument of __import__ is an import too, which the statement alone does not show.
        if report["state"] != "done" or report["syntax_errors"] or wanted - found or found - wanted - {"imp"}:
            wrong.append((path.name, report["reason"], report["syntax_errors"], wanted ^ found))
    assert not wrong


def test_the_documentation_lists_the_rules():
    tool = pathlib.Path(__file__).resolve().parents[2] / "tools/rule-tables"
    outcome = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout


def test_the_names_of_rules_are_unique_and_of_their_language():
    seen = set()
    for path in (pathlib.Path(__file__).resolve().parents[2] / "rules").glob("*/*.yaml"):
        for rule in yaml.safe_load(path.read_text(encoding="utf-8")):
            assert rule["id"].startswith(path.parent.name + ".") and rule["id"] not in seen
            seen.add(rule["id"])
