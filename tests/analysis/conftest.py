"""What the tests of static analysis share."""

import json

import pytest

from helpers.program import analyze_path

# What is enough of a language for its source to be analysed where this build cannot run it.
STUB = 'name: {0}\ntitle: {0}\nextensions: [.{0}-stub]\npaths: [/lib]\nfile: program\nrun: ["{{file}}", "{{args}}"]\n'
LANGUAGES = ["c", "cpp", "go", "java", "javascript", "python", "rust", "shell", "typescript"]


@pytest.fixture(scope="session", autouse=True)
def analysis_is_built():
    if not analyze_path():
        pytest.fail("static analysis is not built: tools/bootstrap grammars && make")


@pytest.fixture(scope="session")
def languages_folder(session_program):
    """Flags that make every analysed language known."""
    rows = json.loads(session_program.call("languages", "--json").stdout)
    known = {name for row in rows for name in (row["name"], *row.get("aliases", []))}
    known |= {"cpp"} if "c++" in known else set()
    folder = session_program.make_directory("stub-languages")
    for name in set(LANGUAGES) - known:
        session_program.make_file(folder / f"{name}.yaml", STUB.format(name))
    return ["--languages", str(folder)]


@pytest.fixture
def check(sandbox, languages_folder):
    """Analyses code and returns the report, the exit code added."""
    def call(language, code, *flags, **options):
        outcome = sandbox.call("check", "-l", language, "--json", *languages_folder, *flags, "-", input=code, **options)
        assert outcome.exit_code in (0, 1), outcome
        return {**outcome.json, "_exit": outcome.exit_code}
    return call
