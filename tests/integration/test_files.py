"""Files in and out of a run: projects, inputs, and what is collected afterwards."""

import os

import pytest


def write(place, files, sandbox):
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in [place, *place.rglob("*")]:
        if not path.is_symlink():
            sandbox.own(path)
    return place


@pytest.fixture
def project(sandbox, place):
    return write(place / "project", {
        "main.py": "import pkg.util\nprint(pkg.util.answer(), open('data/in.txt').read().strip())\n",
        "pkg/util.py": "def answer():\n    return 42\n",
        "data/in.txt": "data\n",
    }, sandbox)


def run(sandbox, *arguments, **options):
    return sandbox.run_json(*map(str, arguments), **options)


def test_a_folder_runs_as_if_one_had_gone_into_it(sandbox, project):
    result = run(sandbox, "--file", project, "--entry", "main.py")
    assert (result["status"], result["stdout"]) == ("ok", "42 data\n"), result


def test_the_word_file_may_be_a_folder(sandbox, project):
    assert run(sandbox, "--entry", "main.py", project)["stdout"] == "42 data\n"


def test_the_files_of_a_project_are_not_told_as_created(sandbox, project):
    assert run(sandbox, "--file", project, "--entry", "main.py")["files"]["created"] == []


def test_what_a_program_does_to_its_project_is_told(sandbox, place):
    folder = write(place / "p", {
        "main.py": "import os\nos.remove('gone'); open('changed', 'a').write('x'); open('new', 'w'); open('same')\n",
        "gone": "", "changed": "1", "same": "2"}, sandbox)
    files = run(sandbox, "--file", folder, "--entry", "main.py")["files"]
    assert (files["created"], files["modified"], files["deleted"]) == (["new"], ["changed"], ["gone"])


def test_the_project_on_the_host_stays_as_it_was(sandbox, place):
    folder = write(place / "p", {"main.py": "open('main.py', 'w').write('x')\n"}, sandbox)
    assert run(sandbox, "--file", folder, "--entry", "main.py")["status"] == "ok"
    assert (folder / "main.py").read_text().startswith("open(")


def test_several_files_are_a_project_whose_first_is_run(sandbox, place):
    folder = write(place / "p", {"b.py": "import a\nprint(a.x)\n", "a.py": "x = 7\n"}, sandbox)
    assert run(sandbox, "--file", folder / "b.py", "--file", folder / "a.py")["stdout"] == "7\n"


def test_several_files_keep_their_places_below_the_first(sandbox, place):
    folder = write(place / "p", {"b.py": "import d.a\nprint(d.a.x)\n", "d/a.py": "x = 7\n"}, sandbox)
    assert run(sandbox, "--file", folder / "b.py", "--file", folder / "d/a.py")["stdout"] == "7\n"


def test_with_a_kept_workspace_the_project_is_read_only_code(sandbox, project, place):
    workspace = place / "w"
    workspace.mkdir()
    sandbox.own(workspace)
    code = "import os\nprint(os.getcwd(), os.path.dirname(os.path.abspath(__file__)), os.listdir('.'))\n"
    (project / "main.py").write_text(code)
    result = run(sandbox, "--file", project, "--entry", "main.py", "--workspace", workspace)
    assert result["stdout"] == "/workspace /code []\n", result
    assert list(workspace.iterdir()) == []


def test_links_of_a_project_stay_links_and_lead_nowhere(sandbox, project):
    (project / "secret").symlink_to("/etc/shadow")
    (project / "main.py").write_text("import os\nprint(os.readlink('secret'))\nopen('secret')\n")
    result = run(sandbox, "--file", project, "--entry", "main.py")
    assert result["stdout"] == "/etc/shadow\n" and result["status"] == "failed"


@pytest.mark.parametrize("code, changes", [("pass", []), ("os.unlink('link'); os.symlink('evil', 'link')", ["link"]),
                                           ("os.unlink('link'); open('link', 'w').write('good')", ["link"])])
def test_a_link_of_a_project_that_leads_elsewhere_is_told(sandbox, project, code, changes):
    (project / "link").symlink_to("good")
    (project / "main.py").write_text(f"import os\n{code}\n")
    assert run(sandbox, "--file", project, "--entry", "main.py")["files"]["modified"] == changes


def test_fifos_and_sockets_of_a_project_are_left_out(sandbox, project):
    os.mkfifo(project / "fifo")
    (project / "main.py").write_text("import os\nprint(os.path.lexists('fifo'))\n")
    assert run(sandbox, "--file", project, "--entry", "main.py")["stdout"] == "False\n"


@pytest.mark.parametrize("arguments, why", [
    (["--entry", "missing.py"], "the project has no file 'missing.py'"),
    (["--entry", "../x.py"], "leaves its folder"),
    (["--entry", "/x.py"], "is not relative"),
    (["--lang", "nothing"], "no such language: 'nothing'"),
])
def test_a_project_that_cannot_be_run_says_why(sandbox, project, arguments, why):
    done = sandbox.run("--file", str(project), *arguments)
    assert done.exit_code == 125 and why in done.error


def test_a_project_of_unclear_language_asks(sandbox, place):
    folder = write(place / "p", {"readme": "x"}, sandbox)
    done = sandbox.run(str(folder))
    assert done.exit_code == 125
    assert done.error.startswith("sandbox: cannot tell the language of the project\nhint: ")


def test_an_empty_folder_is_no_project(sandbox, place):
    done = sandbox.run("-l", "python", str(place))
    assert done.exit_code == 125 and "the folder holds no files" in done.error


def test_an_entry_without_a_project_is_a_mistake(sandbox):
    done = sandbox.run("-l", "python", "--entry", "x.py", "-c", "1")
    assert done.exit_code == 125 and b"the code is a single file" in done.stderr


def test_a_project_beyond_the_disk_limit_is_refused_before_it_runs(sandbox, project):
    (project / "big").write_bytes(b"x" * (3 << 20))
    done = sandbox.run("--disk", "2M", "--entry", "main.py", str(project))
    assert done.exit_code == 125 and b"do not fit into a disk limit of 2 MiB" in done.stderr


# ---- inputs ----

def test_an_input_file_is_in_the_workspace_under_its_name(sandbox, project):
    result = run(sandbox, "--input-file", project / "data/in.txt", "-l", "python", "-c",
                 "print(open('in.txt').read().strip()); open('in.txt', 'a').write('more')")
    assert result["stdout"] == "data\n" and result["files"]["modified"] == ["in.txt"]
    assert (project / "data/in.txt").read_text() == "data\n"


def test_an_input_file_can_be_given_another_place(sandbox, project):
    result = run(sandbox, "--input-file", f"{project}/data/in.txt:deep/er/x", "-l", "shell", "-c", "cat deep/er/x")
    assert result["stdout"] == "data\n" and result["files"]["created"] == []


def test_an_input_may_be_a_folder(sandbox, project):
    result = run(sandbox, "--input-file", project / "pkg", "-l", "python", "-c", "import pkg.util as u; print(u.answer())")
    assert result["stdout"] == "42\n"


def test_an_input_replaces_what_an_earlier_run_left_in_a_kept_workspace(sandbox, project, place):
    workspace = place / "w"
    workspace.mkdir()
    sandbox.own(workspace)
    flags = ["--workspace", workspace, "--input-file", project / "data/in.txt", "-l", "shell"]
    run(sandbox, *flags, "-c", "rm in.txt; ln -s /etc/hostname in.txt")
    assert run(sandbox, *flags, "-c", "cat in.txt; [ -L in.txt ] && echo link")["stdout"] == "data\n"
    assert (workspace / "in.txt").read_text() == "data\n"


@pytest.mark.parametrize("value, why", [
    ("missing.txt", "No such file"), ("/dev/null", "neither a regular file nor a folder"), (":x", "not of the form"),
    ("/etc/hostname:", "not of the form"), ("/etc/hostname:/abs", "is not relative"), ("/etc/hostname:../up", "leaves its folder"),
])
def test_bad_inputs_are_told(sandbox, value, why):
    done = sandbox.run("-l", "shell", "--input-file", value, "-c", "echo ran")
    assert done.exit_code == 125 and why in done.error and done.stdout == b""


def test_the_same_place_twice_is_a_mistake(sandbox, project):
    done = sandbox.run("-l", "shell", "-c", "true", "--input-file", f"{project}/data/in.txt:x",
                       "--input-file", f"{project}/main.py:x")
    assert done.exit_code == 125 and b"the path 'x' is given twice" in done.stderr


# ---- collecting ----

def collect(sandbox, place, code, *flags):
    target = place / "got"
    target.mkdir(exist_ok=True)
    sandbox.own(target)
    return target, run(sandbox, "-l", "shell", "--collect-to", target, *flags, "-c", code)


def test_matching_files_are_copied_out(sandbox, place):
    target, result = collect(sandbox, place, "echo 1 > a.csv; echo 2 > b.txt; mkdir d; echo 3 > d/c.csv", "--collect", "*.csv")
    assert sorted(str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()) == ["a.csv", "d/c.csv"]
    assert result["files"]["collected"] == ["a.csv", "d/c.csv"]


def test_a_pattern_with_a_slash_means_the_whole_path(sandbox, place):
    target, _ = collect(sandbox, place, "mkdir -p d/e; echo 1 > d/a; echo 2 > d/e/a; echo 3 > a", "--collect", "d/*")
    assert [str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()] == ["d/a"]


HIDDEN = "mkdir -p .git/hooks d/.e; for i in a .a d/a d/.a d/.e/a .git/hooks/a; do echo 1 > $i; done"


@pytest.mark.parametrize("pattern, collected", [
    ("*", ["a", "d/a"]),
    ("?a", []),
    ("d/*", ["d/a"]),
    ("*/*/*", []),
    (".*", [".a", "d/.a"]),
    ("d/.*", ["d/.a"]),
    (".git/*/*", [".git/hooks/a"]),
    ("d/.e/a", ["d/.e/a"]),
])
def test_a_hidden_name_is_collected_only_where_its_dot_is_spelled_out(sandbox, place, pattern, collected):
    """A program does not leave a hook in the checkout that its files are collected to."""
    target, result = collect(sandbox, place, HIDDEN, "--collect", pattern)
    assert result["files"]["collected"] == collected and not result["files"]["truncated"]
    assert sorted(str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()) == collected


def test_links_are_never_collected(sandbox, place):
    target, result = collect(sandbox, place, "ln -s /etc/passwd a; ln -s . d; mkfifo f; echo 1 > b", "--collect", "*")
    assert [p.name for p in target.iterdir()] == ["b"]


def test_collected_modes_are_sane(sandbox, place):
    target, _ = collect(sandbox, place, "echo 1 > a; chmod 4777 a 2>/dev/null || chmod 777 a; echo 2 > b; chmod 400 b; echo 3 > c; chmod 666 c",
                        "--collect", "*")
    modes = {p.name: p.stat().st_mode & 0o7777 for p in target.iterdir()}
    assert modes == {"a": 0o755, "b": 0o644, "c": 0o644}
    assert all(p.stat().st_uid == (0 if sandbox.is_root else sandbox.uid) for p in target.iterdir())


def test_a_link_in_the_target_is_replaced_and_not_followed(sandbox, place):
    victim = place / "victim"
    victim.write_text("old")
    (place / "got").mkdir()
    (place / "got/a").symlink_to(victim)
    target, _ = collect(sandbox, place, "echo new > a", "--collect", "a")
    assert victim.read_text() == "old" and (target / "a").read_text() == "new\n" and not (target / "a").is_symlink()


def test_a_linked_folder_in_the_target_is_not_entered(sandbox, place):
    outside = place / "outside"
    outside.mkdir()
    (place / "got").mkdir()
    (place / "got/d").symlink_to(outside)
    sandbox.own(outside)
    sandbox.own(place / "got")
    done = sandbox.run("-l", "shell", "--collect", "d/*", "--collect-to", str(place / "got"), "-c", "mkdir d; echo 1 > d/a")
    assert done.exit_code == 125 and b"collect 'd/a'" in done.stderr
    assert list(outside.iterdir()) == []


def test_failed_programs_are_collected_from_too(sandbox, place):
    target, result = collect(sandbox, place, "echo 1 > core.log; exit 3", "--collect", "*.log")
    assert result["exit_code"] == 3 and (target / "core.log").exists()


def test_holes_of_a_kept_workspace_fill_no_disk(sandbox, place):
    """What is kept may be larger than the limit of disk, so that files which hold nothing were written out as zeros."""
    (place / "kept").mkdir()
    sandbox.own(place / "kept")
    code = "for i in 1 2 3 4 5 6 7 8; do truncate -s 19M $i; printf x >> $i; done"
    target, result = collect(sandbox, place, code, "--workspace", str(place / "kept"), "--disk", "20M", "--collect", "*")
    stats = [p.stat() for p in target.iterdir()]
    assert [st.st_size for st in stats] == [(19 << 20) + 1] * 8 and not result["files"]["truncated"], result
    assert sum(st.st_blocks * 512 for st in stats) < 1 << 20
    assert all(p.read_bytes().strip(b"\0") == b"x" for p in target.iterdir())


def test_names_no_caller_should_meet_stay_inside(sandbox, place):
    target, result = collect(sandbox, place, "touch \"$(printf 'a\\033[31mb')\" ok", "--collect", "*")
    assert [p.name for p in target.iterdir()] == ["ok"] and result["files"]["truncated"]


def test_a_place_to_collect_to_without_a_pattern_is_a_mistake(sandbox, place):
    done = sandbox.run("-l", "shell", "--collect-to", str(place), "-c", "true")
    assert done.exit_code == 125 and b"nothing is collected without '--collect'" in done.stderr


def test_a_target_that_cannot_be_written_is_told(sandbox):
    if sandbox.is_root:
        pytest.skip("root can write everywhere")
    done = sandbox.run("-l", "shell", "--collect", "*", "--collect-to", "/usr/lib", "-c", "touch x")
    assert done.exit_code == 125 and b"collect 'x'" in done.stderr


def test_nothing_is_left_of_a_project(sandbox, project, no_leftovers):
    assert run(sandbox, "--file", project, "--entry", "main.py", "--collect", "none")["status"] == "ok"
