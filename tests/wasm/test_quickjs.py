"""QuickJS's own tests in the JavaScript guest, from the source that the guest was built from.

Left out is what tests the modules of its command line, which the guest does not have: files and workers.
"""

import pytest

from helpers.program import REPOSITORY, wasm_parts

TESTS = REPOSITORY / ".cache/wasm/quickjs/tests"

pytestmark = pytest.mark.skipif(wasm_parts() is None or not TESTS.exists(),
                                reason="the wasm backend is not built here: make wasm")

# A function of its command line. What is not referred to any more goes at once; the one test that asserts something
# about what a collection finds, which a guest cannot ask for, is left out.
STRICT = '"use strict";'
SHIM = STRICT + " var std = { gc() {} };"
COLLECTION = "\ntest_finalization_registry();\n"


@pytest.mark.parametrize("name", ["test_bigint", "test_builtin", "test_closure", "test_language", "test_loop"])
def test_file_of_quickjs(sandbox, place, name):
    if not sandbox.is_root:
        pytest.skip("the same for every user")
    text = (TESTS / f"{name}.js").read_text()
    if name == "test_builtin":
        assert text.startswith(STRICT) and COLLECTION in text
        text = SHIM + text[len(STRICT):].replace(COLLECTION, "\n")
    (place / "main.js").write_text(text + "\nconsole.log('the end');\n")
    (place / "assert.js").write_text((TESTS / "assert.js").read_text())
    result = sandbox.run_json("--backend", "wasm", "-l", "javascript", "--fuel", "99999999999", "--entry", "main.js", str(place))
    assert result["status"] == "ok" and result["stdout"].endswith("the end\n"), result["stderr"]
