"""Modules that a parked interpreter has loaded before the program starts."""

import json
import pathlib
import platform
import re
import subprocess
import time

import pytest

from helpers.processes import below
from helpers.warm import lasting_keeper


@pytest.fixture(scope="module")
def policy(session_program):
    """Modules that are everywhere, one that draws random numbers when it is loaded, and one that is nowhere."""
    return session_program.make_file("preload.yaml", "preload: [json, random, ssl, uuid, tempfile, no_such_module, numpy, pandas]\n")


@pytest.fixture(scope="module")
def keeper(session_program, policy):
    keeper = lasting_keeper(session_program, "warm-preload")
    yield keeper.warm_up("--policy", str(policy))
    keeper.stop()


def test_modules_are_there_before_the_program(keeper, sandbox, policy):
    code = "import sys; print([name in sys.modules for name in ('json', 'uuid', 'no_such_module', 'xmlrpc')])"
    assert keeper.warm(code, "--policy", str(policy))["stdout"] == "[True, True, False, False]\n"
    assert keeper.warm(code)["stdout"] == "[False, False, False, False]\n"  # another kind
    assert keeper.run(code, "--policy", str(policy), "--no-warm")["stdout"] == "[False, False, False, False]\n"


def test_the_program_sees_nothing_of_how_they_came(keeper, policy):
    code = ("import os, sys, tempfile; print(sorted(k for k in os.environ if 'SANDBOX' in k or 'THREADS' in k), os.environ['HOME'],"
            " tempfile.gettempdir(), sys.path[0], len(os.listdir('/proc/self/task')))")
    assert keeper.warm(code, "--policy", str(policy))["stdout"] == "[] /workspace /tmp /code 1\n"


RANDOM = {
    "random": "import random; print(random.random(), random.SystemRandom().random())",
    "uuid": "import uuid; print(uuid.uuid4(), uuid.uuid1())",
    "openssl": "import ssl; print(ssl.RAND_bytes(8))",
    "tempfile": "import tempfile; print(tempfile.mktemp())",
    "numpy": "import numpy; print(numpy.random.rand(), numpy.random.default_rng().random())",
    "pandas": "import pandas; print(list(pandas.Series(range(1000)).sample(5)))",
}


@pytest.mark.parametrize("name", RANDOM)
def test_randomness_differs_between_runs(keeper, policy, name):
    module = name if name in ("numpy", "pandas") else "json"
    if keeper.run(f"import {module}", "--policy", str(policy))["status"] != "ok":
        pytest.skip(f"{module} is not installed")
    results = [keeper.warm(RANDOM[name], "--policy", str(policy)) for _ in range(3)]
    assert all(result["status"] == "ok" for result in results), results
    assert len({result["stdout"] for result in results}) == 3


def test_modules_tell_nothing_of_where_they_were_loaded(keeper, sandbox, place):
    """The name of the host, the number of a process there, since when they have waited."""
    policy = sandbox.make_file(place / "modules.yaml", "preload: [logging, platform, socket, threading, numpy, pandas, matplotlib]\n")
    code = ("import json, logging, platform, socket, threading\n"
            "print(json.dumps([platform.node(), socket.gethostname(), threading.main_thread().native_id,\n"
            "                  logging.makeLogRecord({}).relativeCreated < 1000]))")
    keeper.warm_up("--policy", str(policy))
    time.sleep(1)
    assert json.loads(keeper.warm(code, "--policy", str(policy))["stdout"]) == ["sandbox", "sandbox", 2, True]


@pytest.mark.parametrize("name, own", [("uuid.py", True), ("uuid/__init__.py", True), ("uuid.txt", False), ("uuid/notes", False)])
def test_a_module_of_the_programs_own_goes_before_one_that_was_loaded(keeper, sandbox, place, policy, name, own):
    (place / "project" / name).parent.mkdir(parents=True)
    sandbox.make_file(place / "project" / name, "WHO = 'mine'\n")
    sandbox.make_file(place / "project/main.py", "import uuid\nprint(hasattr(uuid, 'WHO'))\n")
    flags = ["--policy", str(policy), str(place / "project")]
    assert keeper.warm(None, *flags)["stdout"] == keeper.run(None, *flags, "--no-warm")["stdout"] == f"{own}\n"


def test_a_patched_module_is_patched_for_one_run(keeper, policy):
    for _ in range(2):
        keeper.warm("import json; json.dumps = lambda x: 'patched'", "--policy", str(policy))
        assert keeper.warm("import json; print(json.dumps(1))", "--policy", str(policy))["stdout"] == "1\n"


def test_the_preset_for_data_has_them_loaded(keeper):
    code = """if True:
        import sys
        loaded = [name in sys.modules for name in ('numpy', 'pandas', 'matplotlib')]
        import pandas, matplotlib.pyplot as plot
        frame = pandas.DataFrame({'a': [1, 2, 3], 'b': list('xyx')}).groupby('b').a.sum()
        plot.bar(frame.index, frame)
        plot.savefig('out.png')
        print(loaded, dict(frame), open('out.png', 'rb').read(4)[1:], plot.matplotlib.get_configdir())
    """
    if keeper.run(code, "--policy", "data")["status"] != "ok":
        pytest.skip("pandas or matplotlib is not installed")
    result = keeper.warm(code, "--policy", "data", "-t", "60s")
    assert result["stdout"] == "[True, True, True] {'x': 4, 'y': 2} b'PNG' /workspace/.config/matplotlib\n", result


@pytest.mark.parametrize("text,why", [
    ("preload: numpy", "must be a list of modules"),
    ("preload: ['a b']", "bad module name 'a b'"),
    ("preload: [../x]", "bad module name '../x'"),
    ("preload: ['']", "bad module name ''"),
    ("preload: [3d]", "bad module name '3d'"),
])
def test_a_bad_list_is_refused(sandbox, place, text, why):
    file = sandbox.make_file(place / "p.yaml", text + "\n")
    outcome = sandbox.run("-l", "python", "--policy", str(file), "-c", "1")
    assert outcome.exit_code == 125 and why in outcome.error, outcome


LARGE_PAGES = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")


def large_pages(pid):
    """The part of its own memory that a parked interpreter has in large pages; None for any other process."""
    try:
        if not pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("python"):
            return None
        sizes = dict(re.findall(r"(\w+): +(\d+) kB", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()))
        return int(sizes["AnonHugePages"]) / int(sizes["Anonymous"])
    except OSError:
        return None


@pytest.mark.skipif(not LARGE_PAGES.exists() or "[never]" in LARGE_PAGES.read_text() or
                    [int(number) for number in platform.release().split(".")[:2]] < [6, 1], reason="the kernel makes no large pages when it is asked")
def test_a_large_interpreter_is_parked_in_large_pages(keeper, policy):
    if keeper.run("import pandas", "--policy", str(policy))["status"] != "ok":
        pytest.skip("pandas is not installed")
    keeper.warm("1")
    keeper.warm("1", "--policy", str(policy))
    sizes = sorted(part for part in map(large_pages, below(keeper.process.pid)) if part is not None)
    assert len(sizes) >= 2 and sizes[-1] > 0.6, sizes
    if "[madvise]" in LARGE_PAGES.read_text():
        assert sizes[0] == 0, "a small one is copied as it is"


WITHOUT_LARGE_PAGES = f'mount --bind "$0" {LARGE_PAGES} && exec "$@"'


@pytest.mark.skipif(not LARGE_PAGES.exists(), reason="the kernel has no large pages")
def test_an_operator_who_wants_no_large_pages_gets_none(keeper, sandbox, place, policy):
    """The kernel would make them all the same when it is asked, so it is not."""
    if not sandbox.is_root:
        pytest.skip("mounting takes root")
    never = sandbox.make_file(place / "enabled", "always madvise [never]\n")
    before = set(below(keeper.process.pid))
    command = ["unshare", "-m", "sh", "-c", WITHOUT_LARGE_PAGES, never, sandbox.path, "run", "--json", "-l", "python", "--policy", policy, "-c", "1"]
    for _ in range(100):
        done = subprocess.run(command, env=sandbox.environment(keeper.env), capture_output=True, check=True, timeout=60)
        if json.loads(done.stdout)["metrics"]["warm"] == "fork":
            break
        time.sleep(0.1)
    else:
        raise AssertionError(done)
    parts = [part for part in map(large_pages, set(below(keeper.process.pid)) - before) if part is not None]
    assert parts and set(parts) == {0}, parts
