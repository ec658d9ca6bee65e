"""What compilers made is kept: the second run starts none, and nothing damaged is ever run."""

import concurrent.futures
import pathlib
import uuid

import pytest

PROGRAM = '#include <stdio.h>\nint main(void) { puts("%s"); return 0; }\n'


def cache_folder(sandbox):
    return pathlib.Path(sandbox.home) / "cache of tests/compiled"


def run_code(sandbox, code, *flags):
    return sandbox.run_json("-l", "c", *flags, "-c", code, env={"SANDBOX_CACHE_DIR": str(cache_folder(sandbox).parent)})


def run(sandbox, text, *flags):
    return run_code(sandbox, PROGRAM % text, *flags)


@pytest.fixture
def text():
    """A program that nobody has compiled before."""
    return f"program {uuid.uuid4()}"


def entries(sandbox):
    folder = cache_folder(sandbox)
    return {p.name for p in folder.iterdir()} if folder.exists() else set()


@pytest.fixture
def entry(sandbox, text):
    """The one entry that a first run of the program made."""
    before = entries(sandbox)
    first = run(sandbox, text)
    assert first["compile"]["cached"] is False and first["stdout"] == text + "\n", first
    new = entries(sandbox) - before
    assert len(new) == 1
    path = cache_folder(sandbox) / new.pop()
    yield path
    path.unlink(missing_ok=True)


def test_the_second_run_starts_no_compiler(sandbox, text, entry):
    second = run(sandbox, text)
    assert second["compile"]["cached"] is True and second["compile"]["execution_time"] == 0
    assert second["stdout"] == text + "\n" and second["status"] == "ok"


def test_warnings_are_told_again(sandbox):
    code = f"int main(void) {{ int unused_{uuid.uuid4().hex}; return 0; }}\n#warning look here\n"
    first, second = (run_code(sandbox, code) for _ in range(2))
    assert "look here" in first["compile"]["stderr"] and second["compile"]["cached"]
    assert second["compile"]["stderr"] == first["compile"]["stderr"]


def test_failures_are_not_kept(sandbox):
    code = f"int main(void) {{ return missing_{uuid.uuid4().hex}; }}"
    before = entries(sandbox)
    for _ in range(2):
        result = run_code(sandbox, code)
        assert result["status"] == "compile_error" and result["compile"]["cached"] is False
    assert entries(sandbox) == before


def test_no_cache_compiles_anew_and_keeps_nothing(sandbox, text):
    before = entries(sandbox)
    for _ in range(2):
        assert run(sandbox, text, "--no-cache")["compile"]["cached"] is False
    assert entries(sandbox) == before


@pytest.mark.parametrize("offset", [0, 9, 30, 45, 200, 5000, -1])
def test_a_changed_byte_is_found_and_the_program_made_again(sandbox, text, entry, offset):
    data = bytearray(entry.read_bytes())
    data[offset] ^= 0x40
    entry.write_bytes(data)
    again = run(sandbox, text)
    assert again["compile"]["cached"] is False and again["stdout"] == text + "\n"
    assert run(sandbox, text)["compile"]["cached"] is True


@pytest.mark.parametrize("length", [0, 1, 39, 40, 100, -1])
def test_a_cut_entry_is_found_and_the_program_made_again(sandbox, text, entry, length):
    data = entry.read_bytes()
    entry.write_bytes(data[:length])
    again = run(sandbox, text)
    assert again["compile"]["cached"] is False and again["stdout"] == text + "\n"


def test_another_programs_entry_in_its_place_is_a_valid_one_of_the_same_owner(sandbox, text, entry):
    """Who can write there is the caller; a checksum is against damage, the folder's owner against others."""
    assert entry.stat().st_mode & 0o777 == 0o600
    assert entry.parent.stat().st_mode & 0o777 == 0o700
    assert entry.stat().st_uid == (0 if sandbox.is_root else sandbox.uid)


def test_an_entry_that_others_can_write_is_not_believed(sandbox, text, entry):
    entry.chmod(0o666)
    assert run(sandbox, text)["compile"]["cached"] is False


def test_an_entry_that_is_a_link_is_not_believed(sandbox, text, entry, place):
    moved = place / "moved"
    moved.write_bytes(entry.read_bytes())
    entry.unlink()
    entry.symlink_to(moved)
    again = run(sandbox, text)
    assert again["compile"]["cached"] is False and again["stdout"] == text + "\n"


def test_a_folder_that_others_can_write_is_not_used(sandbox, text, entry):
    folder = cache_folder(sandbox)
    folder.chmod(0o777)
    try:
        assert run(sandbox, text)["compile"]["cached"] is False
    finally:
        folder.chmod(0o700)


def test_races_end_well(sandbox, text):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: run(sandbox, text), range(8)))
    assert [r["stdout"] for r in results] == [text + "\n"] * 8
    assert run(sandbox, text)["compile"]["cached"] is True
    assert not [name for name in entries(sandbox) if name.startswith("new.")]


def test_other_flags_of_the_language_are_another_program(sandbox, text, entry, place):
    folder = place / "languages"
    folder.mkdir()
    sandbox.own(folder)
    original = pathlib.Path(__file__).parents[2] / "languages/c.yaml"
    (folder / "c.yaml").write_text(original.read_text().replace("-O2", "-O1"))
    assert run(sandbox, text, "--languages", str(folder))["compile"]["cached"] is False


def test_what_the_compiler_sees_is_part_of_what_is_compiled(sandbox, text, place):
    header = sandbox.make_file(place / "settings.h", "1")
    language = (pathlib.Path(__file__).parents[2] / "languages/c.yaml").read_text()
    folder = sandbox.make_directory(place / "languages")
    sandbox.make_file(folder / "c.yaml", language.replace("  watch:\n", f"  watch:\n    - {header}\n", 1))
    flags = ("--languages", str(folder))
    assert [run(sandbox, text, *flags)["compile"]["cached"] for _ in range(2)] == [False, True]
    sandbox.make_file(header, "other")
    assert run(sandbox, text, *flags)["compile"]["cached"] is False
