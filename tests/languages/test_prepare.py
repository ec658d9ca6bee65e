"""Toolchains that are made ready once: what that makes is used, and only where it pays."""

import pytest

from toolchains import HERE


@pytest.fixture
def run_cpp(sandbox, missing_languages, place):
    """Compiles with -H, which makes the compiler name every header that it opens; `!` marks a precompiled one."""
    if "c++" in missing_languages:
        pytest.skip(missing_languages["c++"])
    language = (HERE.parents[1] / "languages/cpp.yaml").read_text()
    folder = sandbox.make_directory(place / "languages")
    sandbox.make_file(folder / "cpp.yaml", language.replace('"-I{prepared}", -o', '"-I{prepared}", -H, -o'))
    environment = {"SANDBOX_CACHE_DIR": str(place / "cache")}
    return lambda code: sandbox.run_json("-l", "c++", "--languages", str(folder), "-c", code, env=environment, timeout=300)


def test_the_header_of_everything_is_read_once(run_cpp, place):
    result = run_cpp('#include <iostream>\nint main() { std::cout << "hello\\n"; }\n')
    assert result["stdout"] == "hello\n" and not (place / "cache/prepared").exists(), result
    result = run_cpp('#include <bits/stdc++.h>\nint main() { std::cout << "hello\\n"; }\n')
    assert result["stdout"] == "hello\n", result
    assert "! /prepared/bits/stdc++.h.gch" in result["compile"]["stderr"], result["compile"]
