"""docs/LANGUAGES.md says what the language files say, and its examples print what it says."""

import subprocess

import pytest
import yaml

from toolchains import HERE, NAMES

ROOT = HERE.parents[1]
EXAMPLES = yaml.safe_load((HERE / "examples.yaml").read_text())


def test_the_page_is_up_to_date():
    done = subprocess.run(["/usr/bin/env", "python3", ROOT / "tools/gen-language-docs", "--check"], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_language_has_an_example():
    assert sorted(EXAMPLES) == NAMES


def test_the_language_file_of_the_page_works(sandbox, place):
    page = (ROOT / "docs/LANGUAGES.md").read_text()
    folder = place / "languages"
    folder.mkdir()
    sandbox.make_file(folder / "upper.yaml", page.split("```yaml\n")[1].split("```")[0])
    assert sandbox.run("--languages", str(folder), "-l", "shout", "-c", "loud").stdout == b"LOUD"
    table = sandbox.call("languages", "--languages", str(folder)).stdout.decode()
    assert any(line.startswith("upper ") and line.endswith("ready") for line in table.splitlines()), table


@pytest.mark.parametrize("name", NAMES)
def test_the_example_prints_what_the_page_says(sandbox, missing_languages, place, name):
    if name in missing_languages:
        pytest.skip(missing_languages[name])
    example = EXAMPLES[name]
    path = sandbox.make_file(place / example["file"], example["code"])
    flags = ["-l", example["language"]] if "language" in example else []
    outcome = sandbox.run(*flags, "--stdin", "-", str(path), "--", *example.get("arguments", []),
                          input=example.get("stdin", ""), timeout=600)
    assert (outcome.exit_code, outcome.stdout.decode()) == (0, example["output"]), outcome
