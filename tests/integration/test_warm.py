"""Warm starts: a run in a container that was ready, as a copy of a parked interpreter, is a run like any other."""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

from helpers.warm import Keeper, lasting_keeper


@pytest.fixture(scope="module")
def keeper(session_program):
    keeper = lasting_keeper(session_program, "warm")
    yield keeper.warm_up()
    keeper.stop()


def test_a_warm_run_says_so(keeper):
    result = keeper.warm("print(6 * 7)")
    assert (result["stdout"], result["status"], result["backend"]) == ("42\n", "ok", "container")


def test_every_protection_of_a_cold_run_holds_in_a_warm_one(keeper, sandbox):
    states = [{p["name"]: p["state"] for p in result["protections"]} for result in (keeper.warm("1"), sandbox.python("1"))]
    assert states[0] == states[1]


def test_no_warm_starts_the_language_itself(keeper):
    result = keeper.run("print(6 * 7)", "--no-warm")
    assert (result["stdout"], result["metrics"]["warm"]) == ("42\n", "none")


@pytest.mark.parametrize("value", ["0", ""])
def test_a_run_that_is_not_to_wait_starts_the_language_itself(sandbox, value):
    assert sandbox.python("1", env={"SANDBOX_WARM_WAIT": value})["metrics"]["warm"] == "none"


PROGRAMS = {
    "hello": "print('hello')",
    "stderr": "import sys; print('to stderr', file=sys.stderr)",
    "exit code": "import sys; sys.exit(7)",
    "exit text": "import sys; print('out'); sys.exit('a reason')",
    "exit none": "import sys; sys.exit()",
    "exit large": "import sys; sys.exit(1000)",
    "hard exit": "import os; print('lost?', flush=True); os._exit(3)",
    "uncaught": "def f(x):\n    return 1 / x\nprint('before')\nf(0)",
    "chained": "try:\n    int('x')\nexcept ValueError as e:\n    raise KeyError('k') from e",
    "group": "raise ExceptionGroup('g', [ValueError(1), KeyError(2)])" if hasattr(__builtins__, "ExceptionGroup") else "raise ValueError",
    "syntax error": "print(1)\nprint(",
    "indentation error": "if 1:\nprint(1)",
    "encoding": "# -*- coding: latin-1 -*-\nprint('ok')",
    "unicode": "print('h\u00e9llo \u4e16\u754c \U0001f600')",
    "names": "print(__name__, __file__, __doc__, __package__, __spec__, type(__loader__).__name__, __builtins__.__name__)",
    "namespace": "print(sorted(n for n in globals() if n != '__annotations__'))",
    "main module": "import sys; x = 5; print(sys.modules['__main__'].x, sys.modules['__main__'].__dict__ is globals())",
    "arguments": "import sys; print(sys.argv, sys.path[0])",
    "pickle": "import pickle\nclass C: pass\nprint(type(pickle.loads(pickle.dumps(C()))).__name__)",
    "excepthook": "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\n1/0",
    "atexit": "import atexit\natexit.register(print, 'first registered')\natexit.register(print, 'last registered')\nprint('end')",
    "atexit error": "import atexit\natexit.register(lambda: 1/0)",
    "thread": "import threading, time\ngo = threading.Event()\n"
              "threading.Thread(target=lambda: (go.wait(), time.sleep(.05), print('thread done'))).start()\nprint('main done')\ngo.set()",
    "daemon": "import threading, time\nthreading.Thread(target=lambda: time.sleep(60), daemon=True).start()\nprint('done')",
    "unclosed file": "f = open('out.txt', 'w'); f.write('kept')",
    "unclosed in a list": "import builtins\nbuiltins.kept = [open('out.txt', 'w')]; builtins.kept[0].write('kept too')",
    "finalizer": "class C:\n    def __del__(self): print('gone')\nc = C()",
    "generator": "def g():\n    try:\n        yield 1\n    finally:\n        print('closed')\nx = g(); next(x)",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "abort": "import os; os.abort()",
    "interrupt": "raise KeyboardInterrupt",
    "recursion": "import sys\nsys.setrecursionlimit(200)\ndef f(): f()\nf()",
    "input": "print(input().upper())",
    "environment": "import os; print(sorted(os.environ.items()))",
    "order of the environment": "import os; print(list(os.environ.items()), os.environb == {os.fsencode(k): os.fsencode(v) for k, v in os.environ.items()})",
    "words of the command": "import sys; print(sys.argv, sys.orig_argv, sys.path)" if hasattr(sys, "orig_argv") else "1",
    "referrers": "import gc; x = ['seen']; print(any(r is globals() for r in gc.get_referrers(x)), gc.is_tracked(globals()))",
    "long program": "# a long way\n" * 5000 + "print('the end')",
    "no text": "print(1)\n\f\n# \ufeff\nprint(2)",
    "putenv": "import os, subprocess; os.environ['A'] = 'b'; subprocess.run(['/bin/sh', '-c', 'echo $A']); os.unsetenv('A')",
    "child": "import subprocess; print(subprocess.run(['/bin/echo', 'child'], capture_output=True).stdout)",
    "fork": "import os\npid = os.fork()\nif pid == 0:\n    print('in child', flush=True); os._exit(0)\nos.waitpid(pid, 0); print('in parent')",
    "multiprocessing": "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))",
    "asyncio": "import asyncio\nasync def f():\n    await asyncio.sleep(0); return 5\nprint(asyncio.run(f()))",
    "imports": "import json, re, math, datetime, collections, hashlib; print(json.dumps({'a': math.pi}), hashlib.sha256(b'').hexdigest())",
    "ctypes": "import ctypes, os; print(ctypes.CDLL(None).getpid() == os.getpid())",
    "identity": "import os; print(os.getpid() > 1, os.getuid(), os.getgid(), os.getcwd(), os.umask(0), os.getsid(0) == os.getpid())",
    "limits": "import resource as r; print([r.getrlimit(x) for x in (r.RLIMIT_NOFILE, r.RLIMIT_CORE, r.RLIMIT_FSIZE, r.RLIMIT_CPU)])",
    "descriptors": "import os; print(sorted(os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))",
    "signals": "import signal; print([(s.name, str(signal.getsignal(s))[:20]) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)], signal.pthread_sigmask(0, []))",
    "flags": "import sys; print(sys.flags.isolated, sys.flags.optimize, sys.dont_write_bytecode, sys.stdout.encoding, sys.getfilesystemencoding(), sys.executable)",
    "locale": "import locale; print(locale.getlocale(), locale.getpreferredencoding())",
    "inspect": "import inspect\ndef f(): return 1\nprint(inspect.getsource(f))",
    "broken pipe": "import sys; sys.stdout.close()",
    "proc": "print(open('/proc/self/comm').read(), open('/proc/1/comm').read())",
    "streams": "import sys; print(*(f'{s} {s.buffer} {s.name} {s.mode} {s.seekable()} {s.isatty()} {s.line_buffering} {s.errors} {s.newlines}'"
               " for s in (sys.stdin, sys.stdout, sys.stderr)), sep='\\n')",
    "output in another coding": "import io, sys; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8'); print('h\u00e9llo')",
    "output detached": "import io, sys; print(1); sys.stdout = io.TextIOWrapper(sys.stdout.detach(), encoding='utf-8'); print(2)",
    "output reconfigured": "import sys; sys.stdout.reconfigure(encoding='utf-8-sig'); print(1)",
    "output elsewhere": "import sys; sys.stdout.write('kept'); sys.stdout = open('/dev/null', 'w')",
    "output by another writer": "import codecs, sys; print(1); sys.stdout = codecs.getwriter('utf-8')(sys.stdout.buffer); print(2)",
    "output of the beginning": "import sys; sys.stdout = sys.stderr; sys.__stdout__.write('kept')",
    "output in two places": "import sys\nclass Tee:\n    def __init__(self, s): self.s = s\n    def write(self, t): self.s.write(t)\n"
                            "    def flush(self): pass\nsys.stdout = Tee(sys.stdout)\nprint(1)",
    "no output": "import sys; del sys.stdout, sys.__stdout__; sys.stderr = None",
    "output of C": "import ctypes; ctypes.CDLL(None).puts(b'kept')",
    "input from the beginning": "import sys\nif sys.stdin.seekable(): sys.stdin.seek(0)\nprint(sys.stdin.read(), sys.stdin.buffer.read())",
    "exit beyond a word": "import sys; sys.exit(2**70 + 3)",
    "exit below zero": "import sys; sys.exit(-2)",
    "no such encoding": "# coding: foo\nprint(1)",
    "not of the encoding": "print(1)\n# \udcff",
    "places of the user": "import site; print(site.USER_BASE, site.USER_SITE, site.getuserbase(), site.ENABLE_USER_SITE)",
    "names of the machine": "import os, platform, socket, threading; print(platform.node(), socket.gethostname(), os.uname()[1], "
                            "threading.main_thread().native_id == threading.get_native_id() == os.getpid())",
}


def comparable(value):
    """Without addresses, which differ in any two runs, and without the one frame of the launcher that a warm program has above it."""
    text = re.sub(r"0x[0-9a-f]+", "0x", json.dumps(value))
    return re.sub(r"repeated \d+ more times", "repeated", text)


@pytest.mark.parametrize("own", [["-e", "EXTRA=1"], []], ids=["own", "expected"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_warm_and_cold_give_the_same(keeper, sandbox, name, own):
    code = PROGRAMS[name]
    flags = ["--stdin", "/etc/hostname", *own, "-t", "20s"]
    warm, cold = keeper.warm(code, *flags), sandbox.python(code, *flags)
    for key in ("status", "exit_code", "signal", "stdout", "stderr", "message", "files"):
        assert comparable(warm[key]) == comparable(cold[key]), (key, warm[key], cold[key])


def test_what_most_runs_are_told_was_expected(keeper):
    """Whatever it is told makes no difference to a run but that of time: what it expects is made before it starts."""
    code = ("import os, sys\nlauncher = sys._getframe(1).f_globals\n"
            "words = [sys.executable, *sys.argv, *map('='.join, os.environ.items())]\n"
            "told = b'2\\x00' b'7\\x00' + b''.join(os.fsencode(word) + b'\\x00' for word in words)\n"
            "print(launcher['is_it'](told, launcher['expect']()))")
    assert keeper.warm(code)["stdout"] == "True\n"
    assert keeper.warm(code, "-e", "EXTRA=1")["stdout"] == "False\n"
    assert keeper.warm(code, after=["--", "argument"])["stdout"] == "False\n"


def test_arguments_and_standard_input_arrive(keeper, sandbox):
    outcome = sandbox.run("-l", "python", "--stdin", "-", "-c", "import sys; print(sys.argv[1:], sys.stdin.read())", "--", "a b", "",
                          env=keeper.env, input="text")
    assert outcome.stdout == b"['a b', ''] text\n", outcome


def test_variables_that_an_interpreter_reads_when_it_starts_count(keeper):
    code = "import sys; print(sys.flags.utf8_mode, '/extra' in sys.path)"
    assert keeper.warm(code)["stdout"] == "0 False\n"
    assert keeper.warm(code, "-e", "PYTHONPATH=/extra", "-e", "PYTHONUTF8=1")["stdout"] == "1 True\n"
    assert keeper.warm(code)["stdout"] == "0 False\n"


PACKAGE_MAINS = {
    "names": "import sys\nfrom . import part\nimport part as neighbour\n"
             "print(part.word, __name__, __package__, __spec__.name, __file__, sys.argv, sys.path[:3], neighbour.word,\n"
             "      sorted(n for n in globals() if n[:2] == '__' and n != '__annotations__'))",
    "uncaught": "from . import part\ndef f():\n    part.word / 0\nf()",
    "exit": "import sys\nfrom .part import word\nsys.exit(word)",
    "syntax error": "from . import part\nprint(",
    "no such part": "from . import nothing",
}


@pytest.mark.parametrize("folder", ["parcel", "json"])
@pytest.mark.parametrize("name", PACKAGE_MAINS)
def test_a_package_runs_warm_as_it_does_cold(keeper, sandbox, place, name, folder):
    """Also one with the name of a module that the waiting interpreter may have loaded."""
    for path, text in {"__init__.py": "", "__main__.py": PACKAGE_MAINS[name], "part.py": "word = 'made'\n"}.items():
        (place / folder).mkdir(exist_ok=True)
        (place / folder / path).write_text(text)
    cold = sandbox.run_json(str(place / folder), "--", "a", "b")
    for _ in range(200):
        warm = sandbox.run_json(str(place / folder), "--", "a", "b", env=keeper.env)
        if warm["metrics"]["warm"] == "fork":
            break
        time.sleep(0.05)
    assert (cold["metrics"]["warm"], warm["metrics"]["warm"]) == ("none", "fork")
    for key in ("status", "exit_code", "stdout", "stderr", "message", "files"):
        assert comparable(warm[key]) == comparable(cold[key]), (key, warm[key], cold[key])
    assert name != "names" or warm["stdout"].startswith(f"made __main__ {folder} {folder}.__main__ "), warm


# ---- one run never sees another ----

TRACES = {
    "a global": ("import builtins; builtins.left = 1", "import builtins; print(hasattr(builtins, 'left'))", "False"),
    "a patched module": ("import os; os.getcwd = lambda: 'patched'", "import os; print(os.getcwd())", "/workspace"),
    "a new module": ("import sys, types; sys.modules['left'] = types.ModuleType('left')", "import sys; print('left' in sys.modules)", "False"),
    "a file": ("open('left', 'w'); open('/tmp/left', 'w'); open('/dev/shm/left', 'w')",
               "import os; print([os.path.exists(p) for p in ('left', '/tmp/left', '/dev/shm/left')])", "[False, False, False]"),
    "the environment": ("import os; os.environ['LEFT'] = '1'; os.putenv('LEFT', '1')", "import os; print(os.environ.get('LEFT'))", "None"),
    "the directory": ("import os; os.chdir('/tmp')", "import os; print(os.getcwd())", "/workspace"),
    "the mask": ("import os; os.umask(0o777)", "import os; print(oct(os.umask(0)))", "0o22"),
    "a handler": ("import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN)", "import signal; print(signal.getsignal(signal.SIGUSR1))", "0"),
    "a limit": ("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))",
                "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 10)", "True"),
    "a descriptor": ("import os; os.dup2(1, 50)", "import os; print('50' in os.listdir('/proc/self/fd'))", "False"),
    "shared memory": ("import ctypes; ctypes.CDLL(None).shmget(77, 4096, 0o1666)", "import ctypes; print(ctypes.CDLL(None).shmget(77, 4096, 0o666))", "-1"),
    "a process": ("import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(60)",
                  "import os; print(len([p for p in os.listdir('/proc') if p.isdigit()]))", "2"),
    "a thread": ("import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
                 "import threading; print(threading.active_count())", "1"),
    "an exit function": ("import atexit; atexit.register(print, 'left')", "print('clean')", "clean"),
    "a locale": ("import locale; locale.setlocale(locale.LC_ALL, 'C')", "import locale; print(locale.setlocale(locale.LC_CTYPE))", "C.UTF-8"),
    "an abstract socket": ("import socket, os\ns = socket.socket(socket.AF_UNIX); s.bind('\\0left'); s.listen()",
                           "import socket\ntry:\n    socket.socket(socket.AF_UNIX).connect('\\0left')\nexcept OSError as e:\n    print(e.errno)", "111"),
    "random numbers": ("import random; random.seed(1); random.random = lambda: 7", "import random; print(random.random() == 7, random.Random(1).random() == random.random())", "False False"),
    "an import hook": ("import sys; sys.meta_path.insert(0, None); sys.path_hooks.clear()", "import colorsys; print(colorsys.__name__)", "colorsys"),
    "a warning filter": ("import warnings; warnings.simplefilter('error')", "import warnings; print(any(f[0] == 'error' for f in warnings.filters))", "False"),
    "the recursion limit": ("import sys; sys.setrecursionlimit(77)", "import sys; print(sys.getrecursionlimit())", "1000"),
    "a trace function": ("import sys; sys.setprofile(lambda *a: None)", "import sys; print(sys.getprofile(), sys.gettrace())", "None None"),
    "a blocked signal": ("import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])", "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))", "set()"),
    "a timer": ("import signal; signal.setitimer(signal.ITIMER_REAL, 50)", "import signal; print(signal.getitimer(signal.ITIMER_REAL))", "(0.0, 0.0)"),
    "the priority": ("import os; os.nice(5)", "import os; print(os.nice(0))", str(os.nice(0))),
    "the name": ("import ctypes; ctypes.CDLL(None).prctl(15, b'left', 0, 0, 0)", "print(open('/proc/self/comm').read().startswith('left'))", "False"),
    "standard streams": ("import sys; sys.stdout = sys.stderr = None", "import sys; print(sys.stdout.fileno(), sys.stderr.fileno())", "1 2"),
    "a semaphore": ("import ctypes; ctypes.CDLL(None).semget(78, 1, 0o1666)", "import ctypes; print(ctypes.CDLL(None).semget(78, 1, 0o666))", "-1"),
    # One that is on its way to nobody, in a socket that is itself on its way, ends when the kernel gets to it.
    "a terminal": ("import os, socket\na, b = socket.socketpair()\nm, s = os.openpty()\n"
                   "socket.send_fds(a, [b'x'], [m, s, a.fileno(), b.fileno()])",
                   "import os; print(os.listdir('/dev/pts'), os.ttyname(os.openpty()[1]))", "['ptmx'] /dev/pts/0"),
    "the folder of terminals": ("import os\nfor act in (lambda p: os.utime(p, (1, 2)), lambda p: os.chmod(p, 0)):\n"
                                "    for path in ('/dev/pts', '/dev/pts/ptmx', '/dev', '/dev/null', '/code', '/code/main.py'):\n"
                                "        try:\n            act(path)\n        except OSError:\n            pass",
                                "import os\nprint(*(os.stat(p).st_mode & 0o777 for p in ('/dev/pts', '/dev/pts/ptmx', '/dev', '/dev/null', '/code')),\n"
                                "      any(os.stat(p).st_mtime == 2 for p in ('/dev/pts', '/dev/pts/ptmx', '/dev', '/dev/null', '/code')))",
                                "493 438 493 438 493 False"),
    "labels of flows": ("import socket, struct\ns = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n"
                        "try:\n    s.setsockopt(41, 32, struct.pack('16s4xBBHHH4x', b'words to the next', 0, 255, 1, 0, 60))\nexcept OSError:\n    pass",
                        "try:\n    print(len(open('/proc/self/net/ip6_flowlabel').readlines()) < 2)\nexcept OSError:\n    print(True)", "True"),
    "times of the empty input": ("import os\ntry:\n    os.utime(0)\nexcept OSError:\n    pass",
                                 "import os\nbefore = os.fstat(0).st_mtime_ns\ntry:\n    os.utime(0)\nexcept OSError:\n    pass\n"
                                 "print(os.fstat(0).st_mtime_ns == before)", "True"),
    "collected garbage": ("import gc; gc.disable(); gc.set_threshold(1)", "import gc; print(gc.isenabled(), gc.get_threshold()[0] > 1)", "True True"),
}


@pytest.mark.parametrize("name", TRACES)
def test_nothing_of_a_run_is_in_the_next(keeper, name):
    before, after, expected = TRACES[name]
    keeper.warm(before, "-t", "20s")
    for _ in range(5):  # Containers take turns: one of these is in that of the first.
        assert keeper.warm(after)["stdout"].strip() == expected


def test_what_was_done_with_a_terminal_shows_in_no_other_run(keeper):
    # The file that they come from tells when one of them was used, to eight seconds.
    look = "import os, time\nst = lambda: (lambda s: (s.st_atime_ns - s.st_ctime_ns, s.st_mtime_ns - s.st_ctime_ns))(os.stat('/dev/pts/ptmx'))\n"
    use = ("m, s = os.openpty()\nbefore, end = st(), time.time() + 12\n"
           "while st() == before and time.time() < end:\n    os.write(s, b'y\\n'); os.read(m, 9); os.write(m, b'x\\n'); os.read(s, 9); os.read(m, 9)\n")
    used = keeper.warm(look + use + "print(st() != before)", "-t", "30s", "--cpu-time", "30s")
    assert used["stdout"] == "True\n", used
    assert {keeper.warm(look + "print(*st())")["stdout"] for _ in range(8)} == {"0 0\n"}


@pytest.mark.parametrize("size", [10, 12 << 20], ids=["small", "more than is laid out for"])
def test_the_program_of_a_run_is_not_there_for_the_next(keeper, sandbox, place, size):
    look = "import os; print([(n, os.path.getsize('/code/' + n)) for n in os.listdir('/code')], os.statvfs('/code').f_flag & os.ST_RDONLY)"
    long = sandbox.make_file(place / "long.py", look + "\n#" + "x" * size + "\n")
    for _ in range(3):
        assert keeper.warm(None, str(long))["stdout"] == f"[('main.py', {len(look) + size + 3})] 1\n"
        for _ in range(3):
            assert keeper.warm(look)["stdout"] == f"[('main.py', {len(look)})] 1\n"


STAYS = "\nimport sys, time\nsys.__stdout__.write('done\\n'); sys.__stdout__.flush(); time.sleep(60)"


@pytest.mark.parametrize("name", TRACES)
def test_nothing_of_a_run_is_in_one_beside_it(keeper, sandbox, name):
    before, after, expected = TRACES[name]
    if "fork()" in before:
        before = before.replace("os.setsid(); time.sleep(60)", "os.setsid(); time.sleep(60); os._exit(0)")
    beside = sandbox.start("run", "-l", "python", "-c", before + STAYS, env=keeper.env)
    try:
        assert beside.stdout.readline() == b"done\n", beside.communicate()
        assert keeper.warm(after)["stdout"].strip() == expected
        assert beside.poll() is None
    finally:
        beside.terminate()
        beside.communicate(timeout=45)


RANDOM = {
    "random": "import random; print(random.random())",
    "secrets": "import secrets; print(secrets.token_hex())",
    "uuid4": "import uuid; print(uuid.uuid4())",
    "urandom": "import os; print(os.urandom(8))",
    "openssl": "import ssl; print(ssl.RAND_bytes(8))",
    "tempfile": "import tempfile; print(tempfile.mktemp())",
}


@pytest.mark.parametrize("name", RANDOM)
def test_randomness_differs_between_runs(keeper, name):
    assert len({keeper.warm(RANDOM[name])["stdout"] for _ in range(4)}) == 4


def test_many_at_once_do_not_meet(keeper):
    code = "import os, time; open('own', 'w').write('%d'); time.sleep(.05); print(open('own').read(), os.listdir('.'))"
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        results = list(pool.map(lambda n: keeper.run(code % n), range(36)))
    assert [r["stdout"] for r in results] == [f"{n} ['own']\n" for n in range(36)], [r for r in results if r["status"] != "ok"]


def test_limits_hold_and_a_nest_that_met_one_is_not_used_again(keeper):
    assert keeper.warm("x = bytearray(300 << 20)", "-m", "100M")["status"] == "memory_limit"
    assert keeper.warm("import time; time.sleep(60)", "-t", "300ms")["status"] == "timeout"
    assert keeper.warm("while True: pass", "--cpu-time", "300ms")["status"] == "cpu_limit"
    assert keeper.warm("print(1)", "-m", "100M")["stdout"] == "1\n"


def test_usage_is_this_runs_alone(keeper):
    keeper.warm("x = bytearray(150 << 20); sum(i for i in range(10 ** 6))")
    small = keeper.warm("pass")
    assert small["memory_used"] < 100 << 20
    assert small["metrics"]["processes_peak"] == 1  # Whoever brought it there is not its own.
    two = "import subprocess\nwith subprocess.Popen(['sleep', '600']) as child:\n    input(); child.kill()"
    is_told = [lambda told: told["event"] == "usage" and told["processes"] >= 2]
    assert keeper.warm(two, until=is_told)["metrics"]["processes_peak"] == 2


def test_what_brings_something_of_the_hosts_goes_cold(keeper, sandbox, place):
    result = keeper.run("print(open('/data/x').read())", "--volume", f"{sandbox.make_file(place / 'x', 'text')}:/data/x")
    assert (result["stdout"], result["metrics"]["warm"]) == ("text\n", "none")


def test_a_program_without_a_parked_interpreter_still_finds_a_container(keeper):
    assert keeper.run("echo hello", language="shell")["stdout"] == "hello\n"


def test_variables_of_one_run_are_in_no_other(sandbox, place, no_leftovers):
    keeper = Keeper(sandbox, place)
    try:
        for _ in range(2):
            keeper.run("", "-e", "TOKEN=s3cret")  # the run that has the interpreter parked
        result = keeper.warm_up().warm("print(open('/proc/self/environ').read().split(chr(0)), __import__('os').environ.get('TOKEN'))")
        assert "s3cret" not in result["stdout"] and result["stdout"].endswith("None\n")
    finally:
        keeper.stop()


@pytest.mark.parametrize("variable", ["LD_AUDIT=/tmp/x", "PYTHONSTARTUP=/tmp/x", "GLIBC_TUNABLES=x", "PYTHONHOME=/tmp"])
def test_variables_that_change_how_a_program_starts_are_for_executed_ones(keeper, variable):
    for _ in range(3):
        assert keeper.run("print(1)", "-e", variable)["metrics"]["warm"] == "none"


def test_memory_that_a_run_left_is_not_the_next_ones(keeper):
    keeper.warm("open('big', 'wb').write(bytes(60 << 20))")
    assert keeper.warm("pass")["memory_used"] < 40 << 20


def test_many_runs_leave_nothing_and_take_no_more_memory(own_keeper):
    own_keeper.check_growth("print(1)")


def test_figures_of_a_warm_run_are_possible(keeper):
    metrics = keeper.warm("open('x', 'w').write('y' * 1000)")["metrics"]
    assert 0 <= metrics["io_write_bytes"] < 1 << 40


def status_of(pid):
    return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def test_a_copy_that_waits_is_confined(own_keeper):
    own_keeper.settle()
    (parked,), copies = own_keeper.interpreters()
    assert copies
    for copy in copies:
        status = status_of(copy)
        assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}, status
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), status
        for namespace in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
            assert os.readlink(f"/proc/{copy}/ns/{namespace}") != os.readlink(f"/proc/{parked}/ns/{namespace}"), namespace
        assert len(os.listdir(f"/proc/{copy}/fd")) <= 5  # its streams, what it is told by, what tells of its attempts


def test_an_idle_keeper_ends_by_itself(sandbox, place, no_leftovers):
    socket = place / "keeper/keeper.sock"
    process = sandbox.start("keeper", "--quiet", "--idle", "500ms", env={"SANDBOX_KEEPER": str(socket)})
    said = process.communicate(timeout=45)
    assert process.returncode == 0, said
    assert list(socket.parent.iterdir()) == []


def test_two_keepers_do_not_share_a_socket(own_keeper, sandbox):
    outcome = sandbox.call("keeper", env=own_keeper.env)
    assert outcome.exit_code == 125 and "a keeper listens on" in outcome.error and "--socket" in outcome.error
    assert own_keeper.warm("print(6 * 7)")["stdout"] == "42\n", "and its socket is still there"


def test_a_folder_that_others_can_write_is_refused(sandbox, place):
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    sandbox.own(place / "open")
    outcome = sandbox.call("keeper", "--socket", str(place / "open/keeper.sock"))
    assert outcome.exit_code == 125 and "nobody else's to write" in outcome.error


@pytest.mark.parametrize("flags", [["--slots", "0"], ["--slots", "x"], ["--idle", "soon"], ["word"]])
def test_bad_options_of_the_keeper_are_told(sandbox, place, flags):
    outcome = sandbox.call("keeper", "--socket", str(place / "k/keeper.sock"), *flags)
    assert outcome.exit_code == 125 and outcome.error.startswith("sandbox: ")


def test_another_user_is_not_served(own_keeper, sandbox):
    if not sandbox.changes_user:
        pytest.skip("needs root, to be another user as well")
    outcome = subprocess.run([sandbox.path, "run", "--json", "-l", "python", "-c", "print(1)"], capture_output=True,
                             env={**sandbox.environment(own_keeper.env), "HOME": "/root"}, check=False)
    assert json.loads(outcome.stdout)["metrics"]["warm"] == "none"


@pytest.mark.parametrize("code, read", [
    ("print('hello')", 0), ("open('f', 'wb').write(bytes(1000000))", 0),
    ("import os; os.system('head -c 1000000 /dev/zero > f; cat f > g')", 2000000),
    ("import os, time\nos.system('(head -c 1000000 /dev/zero > f; echo > done) &')\n"
     "while not os.path.exists('done'): time.sleep(0.01)\ntime.sleep(0.1)", 1000000),
    ("import os, time\nos.system('(head -c 1000000 /dev/zero; echo > done; sleep 60) > f &')\n"
     "while not os.path.exists('done'): time.sleep(0.01)", 1000000)],
    ids=["output", "file", "children", "orphans", "survivors"])
def test_bytes_that_a_warm_run_moved_are_those_of_a_cold_one(keeper, code, read):
    """But for what an interpreter reads when it starts."""
    warm, cold = (result["metrics"] for result in (keeper.warm(code), keeper.run(code, "--no-warm")))
    assert warm["io_write_bytes"] == cold["io_write_bytes"] > 0
    assert read < warm["io_read_bytes"] < read + 50000 and warm["io_read_bytes"] < cold["io_read_bytes"]


@pytest.mark.parametrize("flags", [[], ["--no-warm"]], ids=["warm", "cold"])
def test_bytes_that_a_program_moved_are_told_also_when_it_was_killed(keeper, flags):
    code = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('/dev/null', 'wb', 0).write(bytes(5000000))\nwhile True: pass"
    result = keeper.run(code, "-t", "1s", *flags)
    assert result["status"] == "timeout" and 5000000 <= result["metrics"]["io_write_bytes"] < 5100000, result["metrics"]


# All at once, and for no longer than that takes.
BROOD = """
import os
r, w = os.pipe()
def child():
    os.close(w)
    os.read(r, 1)
    os._exit(0)
pids = [os.fork() or child() for _ in range({count})]
os.close(w)
for pid in pids: os.waitpid(pid, 0)
"""


def test_processes_of_the_run_before_do_not_hide_those_of_this_one(keeper, sandbox):
    if not sandbox.is_root:
        pytest.skip("without a control group the number is that of samples")
    for count in (12, 12, 6, 6, 0):
        for _ in range(2):
            assert keeper.warm(BROOD.format(count=count))["metrics"]["processes_peak"] == count + 1


def test_bytes_that_a_warm_run_has_moved_so_far_are_told(keeper):
    is_told = [lambda told: told["event"] == "usage" and told["io_write"] >= 3000000]
    metrics = keeper.warm("open('f', 'wb').write(b'x' * 3000000)\ninput()", until=is_told)["metrics"]
    assert 3000000 <= metrics["io_write_bytes"] < 3100000, metrics


def test_a_copy_has_nothing_of_its_plan_but_its_words(keeper):
    result = keeper.warm("print('plan' in open('/proc/self/maps').read())", "-e", "A=b")
    assert result["stdout"] == "False\n"


def test_more_variables_than_an_interpreter_has_room_for(keeper):
    flags = [word for i in range(1100) for word in ("-e", f"V{i}={i}")]
    result = keeper.run("import os; print(os.environ['V1099'])", *flags)
    assert (result["status"], result["stdout"]) == ("ok", "1099\n"), result
