"""Dependencies: installed contained, with the registry alone in reach; kept; seen read-only by the program."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest
import yaml

from helpers import registries
from helpers.program import wasm_parts
from helpers.registries import add_source, add_wheel, python_environment, serve

pytestmark = pytest.mark.usefixtures("no_leftovers")

# What a hostile build tries. `way` is a proxy or None.
REACH = """
import json, os, socket, urllib.request

def direct(host, port):
    try:
        socket.create_connection((host, port), 3).close()
        return "reached"
    except OSError as error:
        return type(error).__name__

def by_proxy(line):
    host, port = os.environ["http_proxy"].split("//")[1].split(":")
    try:
        with socket.create_connection((host, int(port)), 10) as proxy:
            proxy.sendall(line.encode() + b"\\r\\n\\r\\n")
            return proxy.recv(200).split(b"\\r\\n")[0].decode()
    except OSError as error:
        return type(error).__name__

def resolve(name):
    try:
        return socket.getaddrinfo(name, 80)[0][4][0]
    except OSError:
        return "no address"
"""


@pytest.fixture
def registry(tmp_path):
    with serve(tmp_path) as server:
        yield server


@pytest.fixture
def project(sandbox, place, registry):
    """Runs Python with dependencies from the test's registry, in a cache of the test's own."""
    return Project(sandbox, place, python_environment(registry))


# An installer that fetches what its list names, and starts forty times as fast as a real one: for what
# goes for every installer.
FETCH = """
import os, sys, time, urllib.request
os.mkdir(sys.argv[1])
for name in open(sys.argv[2]).read().split():
    with urllib.request.urlopen(os.environ["LIGHT_URL"] + "/light/" + name) as answer:
        open(sys.argv[1] + "/" + name.split("==")[0] + ".py", "wb").write(answer.read())
    if name.startswith("slow"):
        time.sleep(100)
"""
ASK = 'echo "registry $LIGHT_URL"; echo "env LIGHT_URL=$LIGHT_URL"'


@pytest.fixture
def light(sandbox, place, registry):
    """Python, with that installer instead of pip."""
    project = Project(sandbox, place, {"LIGHT_URL": registry.url})
    project.use_installer(["{tool}", "-c", FETCH, "{deps}", "{dir}/requirements.txt"])
    return project


def add_light(registry, name, version, module):
    registry.write(f"light/{name}=={version}", module)


class Project:
    def __init__(self, sandbox, place, environment, language="python", file="requirements.txt"):
        self.sandbox, self.place, self.language, self.file = sandbox, place, language, file
        self.flags = []
        self.cache = place / "cache"
        self.environment = {"SANDBOX_CACHE_DIR": str(self.cache), **environment}

    def use_installer(self, command, timeout="1m", locks=()):
        """Another installer than pip, by a language file of the project's own."""
        data = yaml.safe_load((pathlib.Path(__file__).parents[2] / "languages/python.yaml").read_text())
        data["deps"].update(variables=["LIGHT_"], registry=["/bin/sh", "-c", ASK], locks=list(locks))
        data["deps"]["install"]["command"] = command
        data["deps"]["install"]["limits"]["timeout"] = timeout
        folder = self.sandbox.make_directory(self.place / "languages")
        self.sandbox.make_file(folder / "python.yaml", yaml.safe_dump(data, width=1000))
        self.flags = ["--languages", str(folder)]

    def list(self, text, name=None):
        return self.sandbox.make_file(self.place / (name or self.file), text)

    def arguments(self, code, *flags, file=None):
        return ["-l", self.language, "--deps", str(self.place / (file or self.file)), *self.flags, *flags,
                "-c", code]

    def run(self, code, *flags, file=None, **options):
        return self.sandbox.run_json(*self.arguments(code, *flags, file=file), env=self.environment, timeout=240,
                                     **options)

    def call(self, code, *flags, file=None):
        return self.sandbox.run(*self.arguments(code, *flags, file=file), env=self.environment)

    def entries(self):
        return sorted(path for path in (self.cache / "deps").glob("*") if path.is_dir())


def test_a_program_finds_what_its_list_names(project, registry):
    add_wheel(registry, "sample", "1.0", "answer = 42\n")
    project.list("sample==1.0\n")
    result = project.run("import sample; print(sample.answer, sample.__file__)")
    assert (result["status"], result["stdout"]) == ("ok", "42 /deps/sample.py\n"), result
    assert (result["deps"]["status"], result["deps"]["exit_code"], result["deps"]["cached"]) == ("ok", 0, False)
    assert "sample" in result["deps"]["stdout"]


@pytest.mark.skipif(wasm_parts() is None, reason="the wasm backend is not built: make wasm")
def test_the_wasm_backend_takes_wheels_for_any_machine(project, registry):
    add_wheel(registry, "sample", "1.0", "answer = 42\n")
    project.list("sample==1.0\n")
    code = "import sample; print(sample.answer, sample.__file__)\ntry:\n    open('/deps/x', 'w')\nexcept OSError:\n    print('closed')"
    for options in (["--backend", "wasm"], ["--fuel", "900000000"]):
        result = project.run(code, *options)
        assert (result["status"], result["stdout"], result["backend"]) == ("ok", "42 /deps/sample.py\nclosed\n", "wasm"), result
    assert result["deps"]["cached"]
    registries.add_source(registry, "native", "1.0", "def work():\n    return 1\n")
    project.list("native==1.0\n")
    refused = project.run("import native", "--backend", "wasm")
    assert refused["status"] != "ok" and "native" in refused["deps"]["stderr"], refused


def test_a_run_without_dependencies_says_so(sandbox):
    assert sandbox.python("print(1)")["deps"] is None


def test_the_second_run_starts_no_installer_and_asks_no_registry(light, registry):
    add_light(registry, "sample", "1.0", "answer = 42\n")
    light.list("sample==1.0\n")
    light.run("import sample")
    asked = registry.asked
    result = light.run("import sample; print(sample.answer)")
    assert (result["stdout"], result["deps"]["cached"]) == ("42\n", True), result
    assert registry.asked == asked


def test_what_is_kept_may_lie_behind_a_link(light, registry, place):
    """As a home does whose folder was moved."""
    add_light(registry, "sample", "1.0", "answer = 42\n")
    light.list("sample==1.0\n")
    light.sandbox.make_directory(place / "moved")
    (place / "home").symlink_to("moved")
    light.environment["SANDBOX_CACHE_DIR"] = str(place / "home/cache")
    for cached in (False, True):
        result = light.run("import sample; print(sample.answer)")
        assert (result["stdout"], result["deps"]["cached"]) == ("42\n", cached), result


def test_another_list_is_installed_anew(light, registry):
    add_light(registry, "sample", "1.0", "answer = 1\n")
    add_light(registry, "sample", "2.0", "answer = 2\n")
    answers = []
    for version in ("1.0", "2.0"):
        light.list(f"sample=={version}\n")
        answers.append(light.run("import sample; print(sample.answer)")["stdout"])
    assert answers == ["1\n", "2\n"]


def test_another_registry_is_asked_anew(sandbox, light, registry, tmp_path_factory):
    add_light(registry, "sample", "1.0", "answer = 'first'\n")
    light.list("sample==1.0\n")
    light.run("import sample")
    with serve(tmp_path_factory.mktemp("second")) as second:
        add_light(second, "sample", "1.0", "answer = 'second'\n")
        light.environment["LIGHT_URL"] = second.url
        assert light.run("import sample; print(sample.answer)")["stdout"] == "second\n"


def test_other_settings_of_the_tool_install_anew(sandbox, project, registry):
    add_wheel(registry, "sample", "1.0", "answer = 42\n")
    project.list("sample\n")
    settings = sandbox.make_file(project.place / "pip.conf", f"[global]\nindex-url = {registry.url}/simple\n")
    del project.environment["PIP_INDEX_URL"]
    project.environment["PIP_CONFIG_FILE"] = str(settings)
    assert [project.run("import sample")["deps"]["cached"] for _ in range(2)] == [False, True]
    sandbox.make_file(settings, settings.read_text() + "no-compile = true\n")
    assert project.run("import sample")["deps"]["cached"] is False


def test_no_cache_installs_anew(light, registry):
    add_light(registry, "sample", "1.0", "answer = 42\n")
    light.list("sample==1.0\n")
    light.run("import sample")
    asked = len(registry.asked)
    assert light.run("import sample", "--no-cache")["deps"]["cached"] is False
    assert len(registry.asked) > asked


def test_the_program_itself_reaches_neither_registry_nor_proxy(light, registry):
    add_light(registry, "sample", "1.0", "")
    light.list("sample==1.0\n")
    for _ in range(2):  # Installed, then found.
        result = light.run(REACH.replace('os.environ["http_proxy"]', '"http://127.0.0.1:3128"') + f"""
print(direct("127.0.0.1", {registry.port}), direct("127.0.0.1", 3128), sorted(k for k in os.environ if "proxy" in k))
""")
        assert "reached" not in result["stdout"] and result["stdout"].endswith("[]\n"), result


def test_the_program_cannot_change_what_is_installed(light, registry):
    add_light(registry, "sample", "1.0", "answer = 42\n")
    light.list("sample==1.0\n")
    result = light.run("""
import os
for act in (lambda: open("/deps/sample.py", "w"), lambda: os.unlink("/deps/sample.py"), lambda: os.mkdir("/deps/x")):
    try:
        act(); print("done")
    except OSError as error:
        print(error.errno)
""")
    assert "done" not in result["stdout"] and len(result["stdout"].split()) == 3, result
    assert light.run("import sample; print(sample.answer)")["deps"]["cached"] is True


@pytest.fixture
def bystander():
    """A server of the host's that nobody in a sandbox may reach; yields port and the connections it got."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        came, ending = [], threading.Event()

        def accept():
            while not ending.is_set():
                try:
                    came.append(server.accept()[1])
                except TimeoutError:
                    pass

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1], came
        ending.set()
        thread.join()


def test_an_install_script_reaches_the_registry_and_nothing_else(project, registry, bystander):
    port, came = bystander
    add_source(registry, "hostile", "1.0", REACH + f"""
def work():
    return {{
        "direct host": direct("127.0.0.1", {port}),
        "direct registry": direct("127.0.0.1", {registry.port}),
        "direct metadata": direct("169.254.169.254", 80),
        "direct outside": direct("192.0.2.1", 443),
        "resolve": resolve("example.org"),
        "proxy host": by_proxy("CONNECT 127.0.0.1:{port} HTTP/1.1"),
        "proxy localhost": by_proxy("CONNECT localhost:{port} HTTP/1.1"),
        "proxy metadata": by_proxy("GET http://169.254.169.254/latest/meta-data HTTP/1.1"),
        "proxy outside": by_proxy("CONNECT example.org:443 HTTP/1.1"),
        "proxy suffix": by_proxy("CONNECT 127.0.0.1.example.org:{registry.port} HTTP/1.1"),
        "proxy nonsense": by_proxy("HELLO"),
        "proxy registry": by_proxy("GET {registry.url}/simple/ HTTP/1.1"),
    }}
""")
    project.list("hostile\n")
    result = project.run("import hostile, json; print(json.dumps(hostile.found))")
    assert result["status"] == "ok", result
    found = json.loads(result["stdout"])
    assert found.pop("proxy registry").endswith("200 OK")  # The control: it does reach that.
    assert found.pop("resolve") == "no address"
    assert found.pop("proxy nonsense").startswith("HTTP/1.1 400")
    for what, answer in found.items():
        assert answer != "reached" and (not what.startswith("proxy") or answer.startswith("HTTP/1.1 403")), (what, answer)
    assert came == []
    told = {(item["kind"], item["what"]) for item in result["violations"]}
    assert {("network", f"connect 127.0.0.1:{port}"), ("network", "connect 169.254.169.254:80"),
            ("network", "connect example.org:443")} <= told


def test_a_crowd_at_the_proxy_hurts_nobody_but_itself(project, registry):
    add_source(registry, "hostile", "1.0", REACH + f"""
def work():
    host, port = os.environ["http_proxy"].split("//")[1].split(":")
    crowd = []
    for i in range(150):
        crowd.append(socket.create_connection((host, int(port)), 10))
        crowd[-1].sendall([b"", b"GET ", b"X" * 20000, b"CONNECT 127.0.0.1:{registry.port} HTTP/1.1\\r\\n\\r\\n"][i % 4])
    for one in crowd:
        one.close()
    return by_proxy("GET {registry.url}/simple/ HTTP/1.1")
""")
    add_wheel(registry, "sample", "1.0", "answer = 42\n")
    project.list("hostile\nsample\n")
    result = project.run("import hostile, sample; print(hostile.found, sample.answer)")
    assert result["stdout"].endswith("200 OK 42\n"), result


def test_what_an_install_script_leaves_is_kept_without_links_out_privileges_and_devices(project, registry):
    add_source(registry, "hostile", "1.0", """
import os
def work():
    os.makedirs("/workspace/deps/sub")
    os.symlink("/etc/shadow", "/workspace/deps/shadow")
    os.symlink("../../../../../..", "/workspace/deps/sub/up")
    os.mkfifo("/workspace/deps/fifo")
    with open("/workspace/deps/sub/tool", "w") as tool:
        tool.write("x")
    os.chmod("/workspace/deps/sub/tool", 0o4777)
    return 0
""")
    project.list("hostile\n")
    result = project.run("import os; print(os.path.exists('/deps/shadow'), os.listdir('/deps/sub/up') == os.listdir('/'))")
    assert result["stdout"] == "False True\n", result  # Links lead where the guest could go anyway.
    tree = project.entries()[0] / "tree"
    assert os.readlink(tree / "shadow") == "/etc/shadow"
    assert not (tree / "fifo").exists()
    assert (tree / "sub/tool").stat().st_mode & 0o7777 == 0o755
    owner = project.sandbox.uid
    assert {path.lstat().st_uid for path in tree.rglob("*")} == {owner}
    assert project.cache.stat().st_mode & 0o077 == 0


def test_an_install_script_sees_neither_code_nor_variables_nor_volumes_of_the_program(project, registry):
    add_source(registry, "curious", "1.0", """
import os
def work():
    return [sorted(os.listdir("/code")), os.environ.get("SECRET"), os.path.exists("/data"), os.getuid()]
""")
    project.list("curious\n")
    result = project.run("import curious, os; print(curious.found, os.environ['SECRET'])", "-e", "SECRET=x",
                         "--volume", f"{project.place}:/data")
    assert result["stdout"] == "[['requirements.txt'], None, False, 1000] x\n", result


def test_a_certificate_of_the_callers_is_seen_by_the_installer(project, registry):
    certificate = project.sandbox.make_file(project.place / "certificate.pem", "of the caller")
    project.environment["PIP_CERT"] = str(certificate)
    add_source(registry, "curious", "1.0", 'import os\ndef work():\n    return open(os.environ["PIP_CERT"]).read()\n')
    project.list("curious\n")
    assert project.run("import curious; print(curious.found)")["stdout"] == "of the caller\n"


def test_an_empty_list_installs_nothing(project):
    project.list("# nothing\n")
    assert project.run("import os; print(os.listdir('/deps'))")["stdout"] == "[]\n"
    assert project.run("print(1)")["deps"]["cached"] is True


@pytest.mark.parametrize("act, words", [
    ("os.symlink('/etc', '/workspace/deps')", "cannot be read"),
    ("open('/workspace/deps', 'w')", "cannot be read"),
    ("[(os.mkdir(d), os.chdir(d)) for d in ['deps'] + ['x'] * 100]", "200000 files"),
    ("os.mkdir('deps'), [open('deps/%d' % i, 'w').truncate(1 << 29) for i in range(9)]", "1024 MiB"),
])
def test_a_tree_that_cannot_be_kept_is_the_installers_failure(light, act, words):
    # A real installer would trip over these itself.
    light.use_installer(["{tool}", "-c", "import os; " + act])
    light.list("")
    result = light.run("print('it ran')")
    assert (result["status"], result["stdout"], result["_exit"]) == ("compile_error", "", 1), result
    assert words in result["message"]
    assert light.entries() == []


def test_an_installation_that_fails_ends_the_run(project, registry):
    project.list("no-such-package\n")
    outcome = project.call("print('it ran')")
    assert outcome.exit_code == 1 and b"it ran" not in outcome.stdout, outcome
    assert "Dependencies could not be installed: " in outcome.error and "no-such-package" in outcome.error
    result = project.run("print('it ran')")
    assert (result["status"], result["stdout"], result["compile"]) == ("compile_error", "", None), result
    assert result["deps"]["status"] == "failed" and result["deps"]["exit_code"] == 1
    assert project.entries() == []


def test_an_installation_has_limits_of_its_own(light):
    light.use_installer(["{tool}", "-c", "import time; time.sleep(100)"], timeout="1s")
    light.list("")
    result = light.run("print(1)")
    assert (result["status"], result["deps"]["status"]) == ("compile_error", "timeout"), result
    assert result["message"] == "Dependencies could not be installed: the installer reached its time limit"


def test_without_a_registry_nothing_runs_and_the_remedy_is_told(light):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    light.list("sample==1.0\n")
    light.environment["LIGHT_URL"] = f"http://127.0.0.1:{port}"
    outcome = light.call("print('it ran')")
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
    assert f"no package registry can be reached: 127.0.0.1:{port}: Connection refused" in outcome.error
    assert "hint: " in outcome.error and "--registry" in outcome.error
    assert light.run("print(1)")["status"] == "refused"


def test_a_registry_can_be_named_instead(light, registry):
    add_light(registry, "sample", "1.0", "answer = 42\n")
    light.list("sample==1.0\n")
    result = light.run("import sample; print(sample.answer)", "--registry", f"127.0.0.1:{registry.port}")
    assert result["stdout"] == "42\n", result
    with serve(light.place) as other:  # Then the one that the tool is set to is out of reach.
        result = light.run("import sample", "--registry", f"127.0.0.1:{other.port}")
    assert result["status"] == "compile_error", result
    assert f"connect 127.0.0.1:{registry.port}" in [item["what"] for item in result["violations"]]


@pytest.mark.parametrize("flags, words", [
    (["--deps", "missing.txt"], "dependencies: open 'missing.txt': No such file"),
    (["--deps", "."], "dependencies: '.' is no list of Python's"),
    (["--deps", "/"], "dependencies: '' is no list of Python's"),
    (["--deps", ""], "the value is empty"),
    (["--deps", "requirements.txt", "--registry", "https://example.org/"], "is not of the form HOST[:PORT]"),
    (["--deps", "requirements.txt", "--registry", ""], "the value is empty"),
    (["--deps", "requirements.txt", "--registry", "a:"], "is not of the form HOST[:PORT]"),
    (["--deps", "requirements.txt", "--backend", "local"], "dependencies are for the container alone"),
    (["--deps", "folder.txt"], "dependencies: 'folder.txt' is not a regular file"),
])
def test_what_cannot_be_is_said(sandbox, project, place, flags, words):
    project.list("")
    sandbox.make_directory(place / "folder.txt")
    outcome = sandbox.run("-l", "python", "-c", "print(1)", *flags, cwd=place, env=project.environment)
    assert (outcome.exit_code, outcome.stdout) == (125, b""), outcome
    assert outcome.error.startswith("sandbox: ") and words in outcome.error


@pytest.mark.parametrize("kind, words", [
    ("link", "dependencies: 'sample.lock' beside the list is a link\nhint: put the file itself there"),
    ("relative", "dependencies: 'sample.lock' beside the list is a link\nhint: put the file itself there"),
    ("dangling", "dependencies: 'sample.lock' beside the list is a link\nhint: put the file itself there"),
    ("folder", "dependencies: 'sample.lock' is not a regular file"),
    ("fifo", "dependencies: 'sample.lock' is not a regular file"),
])
def test_a_lock_is_a_file_that_lies_beside_the_list(sandbox, light, place, kind, words):
    """A project may be a stranger's: what it calls its lock is no other file of the caller's."""
    light.use_installer(["{tool}", "-c", "import os, shutil, sys; os.mkdir(sys.argv[1]); shutil.copy(*sys.argv[2:0:-1])",
                         "{deps}", "{dir}/sample.lock"], locks=["sample.lock"])
    light.list("")
    light.list("locked", "sample.lock")
    show = "print(open('/deps/sample.lock').read())"
    assert light.run(show)["stdout"] == "locked\n"
    secret = light.list("secret", "secret")
    lock = place / "sample.lock"
    lock.unlink()
    {"link": lambda: lock.symlink_to(secret), "relative": lambda: lock.symlink_to("secret"),
     "dangling": lambda: lock.symlink_to("missing"), "folder": lock.mkdir, "fifo": lambda: os.mkfifo(lock)}[kind]()
    outcome = light.call(show)
    assert (outcome.exit_code, outcome.stdout) == (125, b"") and words in outcome.error, outcome


@pytest.mark.parametrize("planted", ["requirements.txt", "folder"])
def test_a_list_does_not_lie_behind_a_link_that_a_program_made(sandbox, light, place, planted):
    shared, outside = sandbox.make_directory(place / "shared"), sandbox.make_directory(place / "outside")
    for folder in (shared / "folder", outside):
        sandbox.make_directory(folder)
        light.list("", folder / "requirements.txt")
    call = ["print(1)", "--volume", f"{shared}:/shared:rw"]
    assert light.call(*call, file="shared/folder/requirements.txt").stdout == b"1\n"
    link = shared / ("folder" if planted == "folder" else "folder/requirements.txt")
    link.rename(shared / "old")
    link.symlink_to(outside if planted == "folder" else outside / "requirements.txt")
    outcome = light.call(*call, file="shared/folder/requirements.txt")
    assert (outcome.exit_code, outcome.stdout) == (125, b"") and "goes through a link in" in outcome.error, outcome


def test_the_list_itself_may_be_a_link(light, registry, place):
    add_light(registry, "sample", "1.0", "answer = 42\n")
    real = light.list("sample==1.0\n", "real.txt")
    (place / "requirements.txt").symlink_to(real)
    assert light.run("import sample; print(sample.answer)")["stdout"] == "42\n"


def test_a_language_without_dependencies_says_so(sandbox, project):
    project.list("")
    outcome = sandbox.run("-l", "shell", "-c", "true", "--deps", str(project.place / "requirements.txt"))
    assert outcome.exit_code == 125 and "not known how" in outcome.error, outcome


@pytest.mark.parametrize("harm", ["change", "remove", "add", "mode", "manifest"])
def test_what_was_tampered_with_is_made_again(light, registry, harm):
    add_light(registry, "sample", "1.0", "answer = 42\n")
    light.list("sample==1.0\n")
    light.run("import sample")
    entry = light.entries()[0]
    module = entry / "tree/sample.py"
    before = module.stat()
    if harm == "change":  # As long as it was, and as old: only the kernel's own time tells.
        module.write_text("answer = 43\n")
        os.utime(module, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif harm == "remove":
        module.unlink()
    elif harm == "add":
        (entry / "tree/extra.py").write_text("")
    elif harm == "mode":
        module.chmod(0o600)
    else:
        (entry / "manifest").write_text("1 ")
    result = light.run("import sample; print(sample.answer)")
    assert (result["stdout"], result["deps"]["cached"]) == ("42\n", False), result
    assert light.run("import sample")["deps"]["cached"] is True


def test_runs_that_race_agree(light, registry):
    add_light(registry, "sample", "1.0", "answer = 42\n")
    light.list("sample==1.0\n")
    running = [light.sandbox.start("run", "--json", *light.arguments("import sample; print(sample.answer)"),
                                     env=light.environment) for _ in range(4)]
    results = [json.loads(process.communicate()[0]) for process in running]
    assert [result["stdout"] for result in results] == ["42\n"] * 4, results
    assert len(light.entries()) == 1
    assert light.run("import sample")["deps"]["cached"] is True


def wait_for_build(registry, name):
    """Until the package was fetched: its installation goes on."""
    while not any(path.startswith(f"/light/{name}") for path in registry.asked):
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_installation_is_cancelled_by_a_signal(light, registry, number):
    add_light(registry, "slow", "1.0", "")
    light.list("slow==1.0\n")
    process = light.sandbox.start("run", *light.arguments("print('it ran')"), env=light.environment)
    wait_for_build(registry, "slow")
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (128 + number, b"")
    assert light.entries() == []


def test_nothing_of_an_installation_outlives_a_killed_supervisor(light, registry):
    add_light(registry, "slow", "1.0", "")
    light.list("slow==1.0\n")
    process = light.sandbox.start("run", *light.arguments("print('it ran')"), env=light.environment)
    wait_for_build(registry, "slow")
    process.kill()
    process.communicate()  # The fixture looks for what is left.


def test_several_programs_at_once_have_each_their_own(light, registry):
    for name in ("first", "second"):
        add_light(registry, name, "1.0", f"answer = '{name}'\n")
        light.list(f"{name}==1.0\n", f"{name}.txt")
    running = [light.sandbox.start("run", *light.arguments(f"import {name}; print({name}.answer)", file=f"{name}.txt"),
                                     env=light.environment) for name in ("first", "second")]
    assert [process.communicate()[0] for process in running] == [b"first\n", b"second\n"]


# ---- other languages, each from a registry of its own ----

def require_language(sandbox, name, env=None):
    listed = json.loads(sandbox.call("languages", "--json", env=env).stdout)
    if name not in [item["name"] for item in listed if item["status"] == "ready"]:
        pytest.skip(f"{name} is not here for this user")


def require_npm(sandbox):
    require_language(sandbox, "javascript")
    if not shutil.which("npm", path="/usr/local/bin:/usr/bin:/bin"):
        pytest.skip("npm is not installed")


def rust_environment(sandbox):
    """Root's own Rust, where it has one: Debian's is too old to read a registry over HTTP."""
    return {"HOME": os.environ.get("HOME", "/")} if sandbox.is_root else {}


def skip_old_cargo(result):
    if "does not name its registry" in (result["message"] or ""):
        pytest.skip(result["message"])


@pytest.mark.parametrize("code", ["console.log(require('sample'))", "import s from 'sample'; console.log(s)"])
def test_a_package_of_npm_is_installed(sandbox, place, registry, code):
    require_npm(sandbox)
    registries.add_npm(registry, "sample", "1.0.0", "module.exports = 42;\n")
    project = Project(sandbox, place, registries.npm_environment(registry), "javascript", "package.json")
    project.list('{"dependencies": {"sample": "1.0.0"}}')
    assert project.run(code)["stdout"] == "42\n"
    result = project.run(code)
    assert (result["stdout"], result["deps"]["cached"]) == ("42\n", True), result


def test_a_package_of_npm_is_installed_for_typescript(sandbox, place, registry):
    require_npm(sandbox)
    require_language(sandbox, "typescript")
    registries.add_npm(registry, "sample", "1.0.0", "exports.answer = 42;\n",
                       files={"index.d.ts": "export const answer: number;\n"})
    project = Project(sandbox, place, registries.npm_environment(registry), "typescript", "package.json")
    # What only development needs is types as a rule: they are there.
    project.list('{"devDependencies": {"sample": "1.0.0"}}')
    result = project.run("import { answer } from 'sample'; const twice: number = 2 * answer; console.log(twice)")
    assert result["stdout"] == "84\n", result
    result = project.run("import { answer } from 'sample'; const text: string = answer; console.log(text)")
    assert result["status"] == "compile_error" and "number" in result["message"] and result["deps"]["cached"], result


def test_packages_that_are_no_folder_are_the_installers_failure(sandbox, place, registry):
    require_npm(sandbox)
    registries.add_npm(registry, "hostile", "1.0.0", "", {
        "postinstall": "cd ../.. && mv node_modules moved && ln -s moved node_modules"})
    project = Project(sandbox, place, registries.npm_environment(registry), "javascript", "package.json")
    project.list('{"dependencies": {"hostile": "1.0.0"}}')
    result = project.run("console.log('it ran')")
    assert (result["status"], result["stdout"]) == ("compile_error", ""), result
    assert project.entries() == []


def test_an_install_script_of_npm_reaches_nothing_else(sandbox, place, registry, bystander):
    require_npm(sandbox)
    port, came = bystander
    script = ("const net = require('net'), fs = require('fs'); const say = t => { fs.writeFileSync('found', t); "
              f"process.exit(0); }}; net.connect({port}, '127.0.0.1', () => say('reached')).on('error', () => say('closed'))")
    registries.add_npm(registry, "hostile", "1.0.0",
                       "module.exports = require('fs').readFileSync(__dirname + '/found', 'utf8');\n",
                       {"postinstall": f'node -e "{script}"'})
    project = Project(sandbox, place, registries.npm_environment(registry), "javascript", "package.json")
    project.list('{"dependencies": {"hostile": "1.0.0"}}')
    result = project.run("console.log(require('hostile'))")
    assert (result["stdout"], came) == ("closed\n", []), result


def test_a_lock_file_is_held_to(sandbox, place, registry):
    require_npm(sandbox)
    registries.add_npm(registry, "sample", "1.0.0", "module.exports = 42;\n")
    project = Project(sandbox, place, registries.npm_environment(registry), "javascript", "package.json")
    project.list('{"name": "x", "version": "1.0.0", "dependencies": {"sample": "1.0.0"}}')
    project.list(json.dumps({"name": "x", "version": "1.0.0", "lockfileVersion": 3, "packages": {
        "": {"name": "x", "version": "1.0.0", "dependencies": {"sample": "1.0.0"}},
        "node_modules/sample": {"version": "1.0.0", "resolved": f"{registry.url}/tarballs/sample-1.0.0.tgz",
                                "integrity": "sha512-" + "A" * 86 + "=="}}}), "package-lock.json")
    result = project.run("console.log(require('sample'))")
    assert result["status"] == "compile_error" and "integrity" in result["deps"]["stderr"].lower(), result


@pytest.fixture
def far_registry(tmp_path):
    address = registries.own_address()
    if not address:
        pytest.skip("this machine has no address but loopback")
    with serve(tmp_path, address) as server:
        yield server


def share_cache(project, name):
    """One cache for all tests of a language, so that its toolchain is made ready once."""
    project.cache = project.sandbox.directory / name
    project.environment["SANDBOX_CACHE_DIR"] = str(project.cache)


def test_a_module_of_go_is_installed(sandbox, place, far_registry):
    require_language(sandbox, "go")
    registries.add_go(far_registry, "example.test/sample", "v1.0.0", {
        "go.mod": "module example.test/sample\n\ngo 1.18\n",
        "sample.go": "package sample\n\nfunc Answer() int { return 42 }\n"})
    project = Project(sandbox, place, registries.go_environment(far_registry), "go", "go.mod")
    share_cache(project, "go cache")
    project.list("module x\n\ngo 1.18\n\nrequire example.test/sample v1.0.0\n")
    code = 'package main\n\nimport (\n"fmt"\n"example.test/sample"\n)\n\nfunc main() { fmt.Println(sample.Answer()) }\n'
    assert project.run(code)["stdout"] == "42\n"
    result = project.run(code)
    assert (result["stdout"], result["deps"]["cached"], result["compile"]["cached"]) == ("42\n", True, True), result


def test_a_crate_is_installed(sandbox, place, registry):
    require_language(sandbox, "rust", rust_environment(sandbox))
    registries.add_crate(registry, "sample", "1.0.0", "pub fn answer() -> u32 { 42 }\n")
    home = sandbox.make_directory(place / "cargo")
    sandbox.make_file(home / "config.toml", registries.cargo_config(registry))
    project = Project(sandbox, place, {**rust_environment(sandbox), "CARGO_HOME": str(home)}, "rust", "Cargo.toml")
    project.list('[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nsample = "1"\n')
    code = 'fn main() { println!("{}", sample::answer()); }'
    result = project.run(code)
    skip_old_cargo(result)
    assert result["stdout"] == "42\n", result
    result = project.run(code)
    assert (result["stdout"], result["deps"]["cached"], result["compile"]["cached"]) == ("42\n", True, True), result


# ---- the registries that the tools are set to, where they can be reached ----

REAL = {
    "python": ("requirements.txt", "six==1.17.0\n", "import six; print(six.__version__)", "1.17.0\n"),
    "javascript": ("package.json", '{"dependencies": {"left-pad": "1.3.0"}}',
                   "console.log(require('left-pad')('x', 5, '-'))", "----x\n"),
    "go": ("go.mod", "module x\n\ngo 1.18\n\nrequire rsc.io/quote v1.5.2\n",
           'package main\n\nimport (\n"fmt"\n"rsc.io/quote"\n)\n\nfunc main() { fmt.Println(quote.Go()) }\n',
           "Don't communicate by sharing memory, share memory by communicating.\n"),
    "rust": ("Cargo.toml", '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nitoa = "1"\n',
             'fn main() { println!("{}", itoa::Buffer::new().format(42u32)); }', "42\n"),
}


@pytest.mark.parametrize("language", REAL)
def test_the_registry_that_the_tool_is_set_to_serves(sandbox, place, language):
    own = rust_environment(sandbox) if language == "rust" else {}
    require_npm(sandbox) if language == "javascript" else require_language(sandbox, language, own)
    file, text, code, expected = REAL[language]
    certificates = {name: value for name, value in os.environ.items()
                    if name.startswith(("SSL_CERT", "NODE_EXTRA", "CARGO_HTTP", "PIP_", "NPM_CONFIG_REG", "GOPROXY"))}
    project = Project(sandbox, place, {**own, **certificates}, language, file)
    share_cache(project, "go cache") if language == "go" else None
    project.list(text)
    result = project.run(code)
    if "no package registry can be reached" in (result["message"] or ""):
        pytest.skip(result["message"])
    skip_old_cargo(result)
    assert (result["status"], result["stdout"]) == ("ok", expected), result


# ---- the proxy by itself ----

def proxy_lines(*places, supervisor=None):
    from helpers.program import proxy_path
    process = subprocess.Popen([proxy_path(), str(supervisor or os.getpid()), *places], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.communicate(timeout=60)
    return process.returncode, out.splitlines(), err


def test_the_proxy_tells_which_places_answer(registry):
    code, lines, _ = proxy_lines(f"near=127.0.0.1:{registry.port}", f"far=127.0.0.1:{registry.port}", "near=no.invalid:1")
    assert code == 0 and lines[0] == "reachable 0", lines
    assert lines[1] == "unreachable 1 its address is of a private network"
    assert lines[2].startswith("unreachable 2 ") and lines[3:] == ["ready", "bytes 0", "end"]


@pytest.mark.parametrize("places", [["127.0.0.1:1"], ["near=127.0.0.1"], ["far=*.example.org:443"], ["near="]])
def test_the_proxy_takes_nothing_that_is_no_place(places):
    code, lines, err = proxy_lines(*places)
    assert (code, lines) == (2, []) and "not a place" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a network namespace")
def test_the_proxy_refuses_a_public_address_of_this_machine():
    from helpers.program import proxy_path
    script = ('ip link set lo up && ip addr add 203.0.113.5/32 dev lo && '
              '"$0" $$ far=203.0.113.5:1 near=203.0.113.5:1 </dev/null; true')
    done = subprocess.run(["unshare", "--net", "sh", "-c", script, proxy_path()], capture_output=True, text=True)
    assert done.stdout.splitlines()[:2] == ["unreachable 0 its address is this machine's",
                                            "unreachable 1 Connection refused"], done


def test_the_proxy_goes_where_its_supervisor_is_gone():
    assert proxy_lines(supervisor=1)[:2] == (1, [])
