"""Real programs in every language, with the output they must have."""

import pytest

from toolchains import HERE, NAMES, program, programs

CASES = [pytest.param(name, path.stem, id=f"{name}-{path.stem}") for name in NAMES for path in programs(name)]


def expected_output(path):
    """The program's own, or that of all programs of this name."""
    own = path.with_suffix(".out")
    return (own if own.exists() else HERE / f"{path.stem}.out").read_text()


@pytest.mark.parametrize("name,stem", CASES)
def test_a_real_program_prints_what_it_must(sandbox, missing_languages, name, stem):
    if name in missing_languages:
        pytest.skip(missing_languages[name])
    path = program(name, stem)
    copy = sandbox.make_file(f"{stem}.{name}", path.read_bytes())
    result = sandbox.run_json("-l", name, "-f", str(copy), "--stdin", "-", timeout=600,
                              input=(HERE / "document.json").read_text())
    assert (result["status"], result["stderr"]) == ("ok", ""), (result["message"], result["compile"])
    assert result["stdout"] == expected_output(path)
