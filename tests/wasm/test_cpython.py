"""Files of CPython's own test suite in the Python guest. `make test-wasm` runs all that are listed, `make test` some.

The tests come from the source that the guest was built from. A file passes when every test of it that WASI can run
does; what needs threads, processes, sockets or the real clock is skipped by the suite itself.
"""

import os
import pathlib

import pytest

from helpers.program import REPOSITORY, wasm_parts

LIBRARY = REPOSITORY / ".cache/wasm/cpython/Lib"
NAMES = (pathlib.Path(__file__).parent / "cpython-tests.txt").read_text().split()
FEW = ["test_bool", "test_dict", "test_generators", "test_grammar", "test_json", "test_list", "test_patma", "test_tuple"]

pytestmark = pytest.mark.skipif(wasm_parts() is None or not LIBRARY.exists(),
                                reason="the wasm backend is not built here: make wasm")

PROGRAM = """
import sys, unittest
sys.path.append("/data")
unittest.main(module="test." + sys.argv[1], argv=["test"], verbosity=0)
"""


@pytest.mark.parametrize("name", NAMES if os.environ.get("SANDBOX_WASM_ALL") else FEW)
def test_file_of_the_suite(sandbox, name):
    if not sandbox.is_root:
        pytest.skip("the same for every user")
    result = sandbox.run_json("--backend", "wasm", "-l", "python", "--fuel", "999999999999999", "--timeout", "5m",
                              "--cpu-time", "5m", "--memory", "1G", "--volume", f"{LIBRARY}:/data", "-c", PROGRAM, "--", name,
                              timeout=600)
    assert result["status"] == "ok", result["stderr"][-3000:]
