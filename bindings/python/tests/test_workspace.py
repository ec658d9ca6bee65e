import pytest

from sandbox import Workspace, create_sandbox

OUTSIDE = ["/etc/passwd", "../x", "a/../../x", "", "/", ".", "a\0b", "/app/../x"]


def test_files_stay_between_executions(python):
    assert python.execute("open('/app/n', 'w').write('1')").files_created == ["n"]
    result = python.execute("open('n', 'a').write('2'); open('deep', 'w')")
    assert (result.files_modified, result.files_created) == (["n"], ["deep"])
    assert python.read_file("n") == b"12"
    assert python.read_file("/app/n") == b"12"
    assert python.execute("import os; os.remove('n')").files_deleted == ["n"]
    assert python.list_files() == ["deep"]
    assert result.workspace_path == python.workspace_path


def test_a_directory_of_ones_own_is_kept(tmp_path):
    with create_sandbox(workspace=tmp_path / "ws") as sandbox:
        sandbox.write_file("a/b", b"x")
        sandbox.execute("open('c', 'w').write(open('a/b').read())")
    assert (tmp_path / "ws/c").read_text() == "x"


def test_a_folder_that_the_program_closed_is_no_failure(python):
    result = python.execute("import os\nos.mkdir('shut')\nos.chmod('shut', 0o400)\nprint('done')")
    assert (result.success, result.stdout) == (True, "done\n")


def test_a_temporary_one_is_removed():
    with create_sandbox() as sandbox:
        sandbox.write_file("a", "x")
        path = sandbox.workspace_path
    assert not path.exists()


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("act", ["read_file", "delete", "write_file"])
def test_nothing_leads_outside(tmp_path, act, name):
    arguments = [name, b""] if act == "write_file" else [name]
    with pytest.raises(ValueError, match="not a path inside the workspace"):
        getattr(Workspace(tmp_path), act)(*arguments)


def test_links_that_a_program_leaves_are_not_followed(tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "f").write_text("old")
    with create_sandbox(workspace=tmp_path / "ws") as sandbox:
        sandbox.execute(f"import os; os.symlink({str(secret)!r}, 'd'); os.symlink({str(secret / 'f')!r}, 'l')")
        for name in ("l", "d/f"):
            with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
                sandbox.read_file(name)
        with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
            sandbox.write_file("d/f", "new")
        sandbox.write_file("l", "new")  # replaces the link itself
        assert "d/f" not in sandbox.list_files()
    assert (secret / "f").read_text() == "old"


def test_what_is_no_file_is_not_read(tmp_path):
    import os
    place = Workspace(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dir").mkdir()
    with pytest.raises(ValueError, match="not a file"):
        place.read_file("pipe")
    place.delete("dir")
    place.delete("pipe")
    assert not any(tmp_path.iterdir())


def test_a_huge_file_is_refused(tmp_path):
    place = Workspace(tmp_path)
    with (tmp_path / "big").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(ValueError, match="larger than"):
        place.read_file("big")


def test_a_write_that_fails_leaves_nothing(tmp_path):
    place = Workspace(tmp_path)
    (tmp_path / "dir").mkdir()
    with pytest.raises(OSError):
        place.write_file("dir", b"x")
    assert place.list_files() == []


def test_a_copy_made_by_fork_leaves_it_alone(python):
    import os
    python.write_file("a", "x")
    child = os.fork()
    if child == 0:
        python.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert python.read_file("a") == b"x"


def test_a_deep_tree_is_removed():
    with create_sandbox() as sandbox:
        path = sandbox.workspace_path
        sandbox.execute("import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')\nopen('f', 'w')")
        sandbox.write_file("keep", "x")
        sandbox.execute("import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')")
        assert "keep" in sandbox.list_files()
    assert not path.exists()


def test_first_programs_at_once_all_keep_their_files(python):
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: python.execute(f"open('f{i}', 'w')"), range(4)))
    assert python.list_files() == ["f0", "f1", "f2", "f3"]


def test_the_first_program_leaves_all_that_it_leaves(python):
    """Nothing was there before: it ran warm, in a workspace of its own, and what it left was copied."""
    result = python.execute("import os\nos.makedirs('empty/below')\nos.symlink('f0', 'link')\n"
                            "os.symlink('/nowhere', 'dangling')\nfor n in range(10_100): open(f'f{n}', 'w')\n"
                            "os.chmod('f1', 0o755)")
    assert result.success
    assert result.metadata["warm"] == "fork"
    top = python.workspace_path
    assert (top / "empty/below").is_dir()
    assert (top / "link").readlink().name == "f0"
    assert str((top / "dangling").readlink()) == "/nowhere"
    assert len(python.list_files()) == 10_102
    assert (top / "f1").stat().st_mode & 0o777 == 0o755
    assert python.execute("import os; print(os.path.isdir('empty/below'), os.readlink('link'))").stdout == "True f0\n"


def test_a_session_is_gone_on_with_by_its_name():
    first = create_sandbox()
    first.execute("open('f', 'w').write('kept')")
    name = first.session_id
    second = create_sandbox(session_id=name)
    assert second.read_file("f") == b"kept"
    path = second.workspace_path
    del first
    assert second.execute("print(open('/app/f').read())").stdout == "kept\n"
    assert second.session_id == name
    second.close()
    assert not path.exists()
    with create_sandbox(session_id=name) as other:  # A session that has ended is a new one.
        assert other.list_files() == []
        assert other.session_id == name
