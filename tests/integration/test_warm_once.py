"""Interpreters that wait for one program each: what comes of it is what a cold start gives, and nobody sees another."""

import json
import os
import re
import signal

import pytest

from helpers import leftovers
from helpers.processes import descendants, signal_all
from helpers.warm import Keeper, lasting_keeper



def _main(body):
    return "import java.util.*;\npublic class Main {\n    public static void main(String[] args) throws Exception {\n        " + body + "\n    }\n}\n"


# Programs by language; each is run warm and cold, with the same arguments, input and environment.
PROGRAMS = {
    "javascript": {
        "hello": 'console.log("hello")',
        "arguments": "console.log(process.argv, process.execArgv, process.argv0, process.execPath, process.title)",
        "environment": "console.log(process.env); process.env.X = 'y'; console.log(require('child_process').execSync('env | sort') + '')",
        "input": "console.log(require('fs').readFileSync(0, 'utf8').length)",
        "input by events": "let n = 0; process.stdin.on('data', d => n += d.length).on('end', () => console.log(n))",
        "commonjs": "console.log(require.main === module, __filename, __dirname, module.id, module.paths, typeof exports, this === exports)",
        "module": "import fs from 'node:fs'; console.log(import.meta.url, import.meta.filename, typeof fs.readFileSync, typeof module, this)",
        "await": "const x = await Promise.resolve(5); console.log(x); export default x",
        "both": "const fs = require('fs'); const x = await 7; console.log(x, typeof fs.statSync)",
        "uncaught": "function f(x) { throw new TypeError(x) }\nconsole.log('before')\nf('bad')",
        "thrown later": "setTimeout(() => { throw new Error('late') }, 1)",
        "rejected": "Promise.reject(new Error('nobody caught it'))",
        "rejected in a module": "import 'node:fs'; await Promise.reject(new RangeError('x'))",
        "syntax error": "console.log(1)\nconsole.log(",
        "syntax error in a module": "import fs from 'fs';\nlet 1x;",
        "no such module": "require('./nothing')",
        "no such import": "import './nothing.js'",
        "exit code": "process.on('exit', c => console.log('leaving', c)); process.exitCode = 7",
        "exit": "console.log('a'); process.exit(3); console.log('b')",
        "abort": "process.abort()",
        "signal": "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 1000)",
        "handler": "process.on('SIGUSR2', () => { console.log('got'); clearTimeout(t) }); const t = setTimeout(() => {}, 10000); process.kill(process.pid, 'SIGUSR2')",
        "streams": "const fs = require('fs'); for (const n of [0, 1, 2]) { const s = fs.fstatSync(n); console.log(s.isFIFO(), s.isFile(), s.isCharacterDevice(), s.uid) }"
                   "; console.log(process.stdout.isTTY, process.stdout.constructor.name, process.stdin.constructor.name)",
        "much output": "process.stdout.write('x'.repeat(300000)); process.stderr.write('y'.repeat(1000)); process.exitCode = 1",
        "identity": "const os = require('os'); console.log(process.pid > 1, process.getuid(), process.getgid(), process.umask(), process.cwd(), os.hostname(), os.homedir(), os.tmpdir())",
        "worker": "const { Worker, isMainThread, workerData } = require('worker_threads'); if (isMainThread) new Worker(__filename, { workerData: 5 })"
                  ".on('exit', c => console.log('ended', c)); else console.log('in it', workerData, process.argv.length)",
        "fork": "const cp = require('child_process'); if (process.send) { process.send('hi'); process.disconnect() }"
                " else cp.fork(__filename, ['z']).on('message', m => console.log(m)).on('exit', c => console.log(c))",
        "spawn": "console.log(require('child_process').spawnSync('/bin/echo', ['child']).stdout + '')",
        "file": "require('fs').writeFileSync('out.txt', 'kept')",
        "descriptors": "console.log(require('fs').readdirSync('/proc/self/fd').length)",
        "clock": "console.log(process.uptime() < 5, Date.now() > 1.7e12, performance.now() < 5000)",
        "crypto": "const c = require('crypto'); console.log(c.createHash('sha256').update('').digest('hex'), c.randomBytes(8).length)",
        "heap": "console.log(require('v8').getHeapStatistics().heap_size_limit)",
        "globals": "console.log(Object.getOwnPropertyNames(globalThis).sort().join())",
        "system": "console.log(require('fs').readdirSync('/').sort(), require('fs').readdirSync('/code'))",
        "limits": "console.log(require('child_process').execSync('ulimit -a | grep -v cpu') + '')",
        "shebang": "#!/usr/bin/env node\n'use strict'; console.log(this === module.exports)",
        "unicode": "console.log('h\u00e9llo \u4e16\u754c \U0001f600'.length, process.argv[2])",
        "zone": "console.log(new Date(0).getTimezoneOffset(), Intl.DateTimeFormat().resolvedOptions().timeZone, new Date(0).toLocaleString())",
    },
    # Each is compiled and run, which takes a while: a program has several questions.
    "typescript": {
        "what it is told": "import fs from 'node:fs';\nconst given: string[] = process.argv;\nconsole.log(given, process.env, fs.readFileSync(0, 'utf8').length, import.meta.url);\n"
                           "enum Kind { A = 1, B }\nabstract class Shape<T> { constructor(private readonly side: T) {} get(): T { return this.side } }\n"
                           "class Square extends Shape<number> {}\nconsole.log(Kind.B, new Square(3).get(), await Promise.resolve(5));\nfs.writeFileSync('out.txt', 'kept');",
        "wrong types": "const x: number = 'a';\nlet y = x.nothing;\nfunction f(a: string) { return b }\nconsole.log(process.nothing, f(1))",
        "is not TypeScript": "const = 5;\nlet x: = 3",
        "uncaught": "function f(x: string): never { throw new TypeError(x) }\nconsole.log('before');\nf('bad')",
        "its own globals": "declare global { interface Array<T> { left: T } }\nArray.prototype.left = 1;\nconsole.log([2].left, new Intl.NumberFormat('en').format(1e6));\nexport {}",
    },
    "java": {
        "what it is told": _main("System.out.println(Arrays.toString(args) + new TreeMap<>(System.getenv()) + System.getProperty(\"user.dir\"));"
                                 "for (String name : List.of(\"java.class.path\", \"sun.java.command\", \"user.home\", \"java.io.tmpdir\", \"file.encoding\"))"
                                 "System.out.println(System.getProperty(name)); Scanner in = new Scanner(System.in); int n = 0;"
                                 "while (in.hasNextLine()) { in.nextLine(); n++; } System.out.println(n); System.err.println(\"h\u00e9\");"
                                 "System.out.println(Main.class.getClassLoader().getClass() + Thread.currentThread().getName() + new java.io.File(\"/\").list().length);"
                                 "System.out.println(ProcessHandle.current().pid() > 1); java.nio.file.Files.writeString(java.nio.file.Path.of(\"out.txt\"), \"kept\");"),
        "uncaught": _main("System.out.println(1); try { Integer.parseInt(\"x\"); } catch (Exception e) { throw new IllegalStateException(\"outer\", e); }"),
        "uncaught below": "class Main { static void f(int n) { if (n == 0) throw new RuntimeException(\"deep\"); f(n - 1); }\n"
                          "public static void main(String... args) { Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println(\"hook\")));\n"
                          "new Thread(() -> { System.out.println(\"thread\"); }).start();\nf(3); } }",
        "fails to begin": "class Main { static int x = Integer.parseInt(\"y\"); public static void main(String[] args) { } }",
        "no main": "public class Empty { static void main() { } }",
        "does not compile": "public class Broken {\n  int f() { return \"x\"; }\n  List<String> g;\n}",
        "is not Java": "public class {",
        "a name behind a comment": "/* public class Old\npublic class Older {} */ public class M { public static void main(String[] a) { System.out.println(M.class); } }",
        "a package": "package a.b; interface Named { String name(); }\npublic class Thing implements Named { public String name() { return \"thing\"; }\n"
                     "public static void main(String[] args) { System.out.println(new Thing().name() + Thing.class); System.exit(3); } }",
        "several classes": "class A { } class Z { public static void main(String[] a) { System.out.println(\"Z\"); } } class B { public static void main(String[] a) { System.out.println(\"B\"); } }",
    },
}
COMPILED = ["java", "typescript"]
FIELDS = ("status", "exit_code", "signal", "stdout", "stderr", "message", "files")
HELLO = {"javascript": "console.log(6 * 7)", "java": _main("System.out.println(6 * 7);"), "typescript": "const x: number = 6;\nconsole.log(x * 7)"}
STAYS = {"javascript": "console.log('here'); setTimeout(() => {}, 600000)"}


class LoggedKeeper(Keeper):
    """A keeper that tells what it makes, so that one can wait for it."""

    def __init__(self, sandbox, place):
        self.log = place / "keeper.jsonl"
        self.log.unlink(missing_ok=True)
        super().__init__(sandbox, place, "--log", str(self.log))

    def waiting(self):
        """How many interpreters wait now."""
        events = [(line["event_name"], line["attributes"]["sandbox.slot"]) for line in map(json.loads, self.log.read_bytes().splitlines())]
        return events.count(("slot.made", "interpreter")) - events.count(("slot.used", "interpreter"))

    def wait(self, count):
        leftovers.wait_until(lambda: self.waiting() >= count, 120, f"{count} interpreters that wait")


@pytest.fixture(scope="module")
def keeper(session_program):
    keeper = lasting_keeper(session_program, "once", LoggedKeeper)
    yield keeper.warm_up(language="javascript", wanted="once")
    keeper.stop()


@pytest.fixture(scope="module", params=PROGRAMS)
def language(request):
    return request.param


@pytest.fixture(scope="module")
def of_language(session_program, language):
    """A keeper for one language, whose program and, where there is one, compiler wait."""
    keeper = lasting_keeper(session_program, f"once-{language}", LoggedKeeper)
    keeper.run(HELLO[language], "--no-cache", language=language)
    keeper.wait(1 + (language in COMPILED))
    yield keeper
    keeper.stop()


def warm(keeper, code, *flags, language, **options):
    return keeper.warm(code, *flags, language=language, wanted="once", **options)


def comparable(value):
    """Without numbers of processes, which differ in any two runs."""
    return re.sub(r"node:\d+\)|#\d+: ", "", json.dumps(value))


def differences(keeper, sandbox, language, code):
    flags = ["--no-cache", "--stdin", "/etc/passwd", "-e", "EXTRA=a 'b' c=d", "-e", "SPACE= ", "-t", "60s"]
    arguments = ["--", "one two", "", "*", "h\u00e9"]
    keeper.wait(1 + (language in COMPILED))
    told = keeper.run(code, *flags, language=language, after=arguments)
    cold = sandbox.run_json("-l", language, *flags, "-c", code, *arguments)
    assert told["metrics"]["warm"] == "once", told
    return [(key, told[key], cold[key]) for key in FIELDS if comparable(told[key]) != comparable(cold[key])]


def test_warm_and_cold_give_the_same(of_language, sandbox, language):
    names = list(PROGRAMS[language])
    # What differs for an ordinary user is the same for all programs: a few are enough.
    names = names if sandbox.user == "root" else names[::5]
    found = {name: differences(of_language, sandbox, language, PROGRAMS[language][name]) for name in names}
    assert not any(found.values()), {name: what for name, what in found.items() if what}


def test_every_protection_of_a_cold_run_holds_in_a_warm_one(of_language, sandbox, language):
    of_language.wait(1 + (language in COMPILED))
    results = of_language.run(HELLO[language], language=language), sandbox.run_json("-l", language, "-c", HELLO[language])
    assert [result["metrics"]["warm"] for result in results] == ["once", "none"]
    states = [{p["name"]: p["state"] for p in result["protections"]} for result in results]
    assert states[0] == states[1]


def test_no_warm_starts_the_language_itself(of_language, language):
    result = of_language.run(HELLO[language], "--no-warm", language=language)
    assert (result["stdout"], result["metrics"]["warm"]) == ("42\n", "none")


def test_compiler_and_program_are_both_warm(of_language, place, language):
    count = 1 + (language in COMPILED)
    log = place / "run.jsonl"
    of_language.wait(count)
    result = of_language.run(HELLO[language], "--no-cache", "--log", str(log), language=language)
    used = [line["attributes"]["sandbox.slot"] for line in map(json.loads, log.read_bytes().splitlines()) if line["event_name"] == "slot.used"]
    assert (result["stdout"], used) == ("42\n", ["interpreter"] * count)


# ---- one run never sees another ----

TRACES = {
    "a global": ("globalThis.left = 1; Array.prototype.left = 1", "console.log(globalThis.left, [].left)", "undefined undefined"),
    "a patched module": ("require('fs').readFileSync = () => 'patched'", "console.log(require('fs').readFileSync('/etc/hostname', 'utf8') == 'patched')", "false"),
    "the environment": ("process.env.LEFT = 1", "console.log(process.env.LEFT)", "undefined"),
    "a file": ("for (const d of ['', '/tmp/', '/dev/shm/']) require('fs').writeFileSync(d + 'left', '')",
               "console.log(['', '/tmp/', '/dev/shm/'].map(d => require('fs').existsSync(d + 'left')))", "[ false, false, false ]"),
    "a process": ("require('child_process').spawn('sleep', ['60'], { detached: true, stdio: 'ignore' }).unref()",
                  "console.log(require('fs').readdirSync('/proc').filter(n => n > 0).length)", "2"),
    "the directory": ("process.chdir('/tmp'); process.umask(0)", "console.log(process.cwd(), process.umask())", "/workspace 18"),
}


@pytest.mark.parametrize("name", TRACES)
def test_nothing_of_a_run_is_in_the_next(keeper, name):
    before, after, expected = TRACES[name]
    warm(keeper, before, "-t", "20s", language="javascript")
    assert warm(keeper, after, language="javascript")["stdout"].strip() == expected


@pytest.mark.parametrize("code", ["console.log(Math.random())", "console.log(crypto.randomUUID())"])
def test_randomness_differs_between_runs(keeper, code):
    assert len({warm(keeper, code, language="javascript")["stdout"] for _ in range(3)}) == 3


def test_a_variable_that_changes_how_it_starts_is_for_an_executed_one(keeper):
    for _ in range(2):
        assert keeper.run("", "-e", "NODE_OPTIONS=--no-warnings", language="javascript")["metrics"]["warm"] == "none"


def test_nothing_that_parks_is_left_in_it(keeper):
    """No descriptor, variable or file of the hand-over; its library has no path of the host's."""
    code = ("const fs = require('fs'); console.log(fs.readdirSync('/proc/self/fd').filter(n => n >= 200), Object.keys(process.env).filter(n => /SANDBOX|LD_/.test(n)),"
            "fs.readFileSync('/proc/self/environ', 'latin1').includes('SANDBOX_PARK'), /sandbox-park/.test(fs.readFileSync('/proc/self/maps', 'latin1')), fs.existsSync('/sandbox'))")
    assert warm(keeper, code, language="javascript")["stdout"] == "[] [] false false false\n"


# ---- limits and figures ----

def test_limits_hold(keeper):
    flags = {"language": "javascript"}
    assert warm(keeper, "setTimeout(() => {}, 60000)", "-t", "500ms", **flags)["status"] == "timeout"
    assert warm(keeper, "for (;;);", "--cpu-time", "500ms", **flags)["status"] == "cpu_limit"
    assert warm(keeper, "const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1))", "-m", "200M", **flags)["status"] == "memory_limit"
    assert warm(keeper, "require('fs').writeFileSync('x', Buffer.alloc(9 << 20))", "--disk", "4M", **flags)["status"] == "disk_limit"


def test_usage_is_this_programs_alone(keeper):
    """What the interpreter took to start was not the program's time."""
    writes = "require('fs').writeFileSync('x', Buffer.alloc(300000))"
    result = warm(keeper, writes, language="javascript")
    cold = keeper.run(writes, "--no-warm", language="javascript")
    assert 0 < result["cpu_time"] < cold["cpu_time"], (result["cpu_time"], cold["cpu_time"])
    assert cold["memory_used"] / 2 < result["memory_used"] < 2 * cold["memory_used"]
    for moved in ("io_read_bytes", "io_write_bytes"):  # It reads its own files, and wakes its own threads.
        assert result["metrics"][moved] <= cold["metrics"][moved], (result["metrics"], cold["metrics"])
    assert 300000 <= result["metrics"]["io_write_bytes"] < 310000, result["metrics"]
    living = "setTimeout(() => {}, 300)"  # Long enough to be looked at when all its threads are there.
    assert warm(keeper, living, language="javascript")["metrics"]["processes_peak"] == \
        keeper.run(living, "--no-warm", language="javascript")["metrics"]["processes_peak"]


# ---- death ----

@pytest.fixture
def own_keeper(sandbox, place, no_leftovers):
    keeper = LoggedKeeper(sandbox, place)
    keeper.run("", language="javascript")
    keeper.wait(1)
    yield keeper
    keeper.stop()


@pytest.mark.parametrize("who", ["interpreter", "helper"])
def test_a_part_that_dies_while_it_waits_costs_no_run(own_keeper, who):
    victims = [pid for pid, args in descendants(own_keeper.process.pid) if ("node" in args) == (who == "interpreter")]
    assert victims
    signal_all(victims, signal.SIGKILL)
    assert own_keeper.run("console.log(6 * 7)", language="javascript")["stdout"] == "42\n"
    assert warm(own_keeper, "console.log(6 * 7)", language="javascript")["stdout"] == "42\n"


def test_a_part_that_answers_nothing_costs_no_run(own_keeper):
    """Stopped, and so alive: whoever waits for it gives up."""
    signal_all((pid for pid, args in descendants(own_keeper.process.pid) if "node" in args), signal.SIGSTOP)
    result = own_keeper.run("console.log(6 * 7)", language="javascript")
    assert (result["stdout"], result["metrics"]["warm"]) == ("42\n", "none")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_ends_takes_its_run_along(own_keeper, sandbox, how):
    running = sandbox.start("run", "-l", "javascript", "-c", STAYS["javascript"], env=own_keeper.env)
    assert running.stdout.readline() == b"here\n"
    running.send_signal(how)
    running.communicate(timeout=45)
    assert warm(own_keeper, "console.log(6 * 7)", language="javascript")["stdout"] == "42\n"


def test_a_killed_keeper_takes_its_runs_along(sandbox, place, no_leftovers):
    keeper = LoggedKeeper(sandbox, place)
    keeper.run("", language="javascript")
    keeper.wait(1)
    running = sandbox.start("run", "-l", "javascript", "-c", STAYS["javascript"], env=keeper.env)
    assert running.stdout.readline() == b"here\n"
    keeper.process.kill()
    keeper.stop()
    running.communicate(timeout=45)
    assert running.returncode == 125
    assert keeper.run("console.log(6 * 7)", language="javascript")["stdout"] == "42\n"
