"""`sandbox history`: what it shows is what the journal says, whatever became of the index."""

import csv
import io
import json
import math
import os
import random
import subprocess

import pytest

from helpers import journal
from helpers.leftovers import wait_until


@pytest.fixture
def state(place):
    return place / "state"


@pytest.fixture
def history(sandbox, state):
    def ask(*words):
        return sandbox.call("history", *words, env={"SANDBOX_STATE_DIR": str(state)})
    return ask


def ids(outcome):
    assert outcome.exit_code == 0, outcome
    return [record["seq"] for record in outcome.json]


MIXED = [
    journal.make_record(1, started_at="2026-01-01T10:00:00.000Z", name="first"),
    journal.make_record(2, started_at="2026-01-02T10:00:00.000Z", language="shell", status="failed", exit_code=1),
    journal.make_record(3, started_at="2026-01-03T10:00:00.000Z", backend="local", status="timeout", message="Too Slow"),
    journal.make_record(4, started_at="2026-01-02T09:00:00.000Z", uid=4242),
]


@pytest.fixture
def mixed(sandbox, state):
    journal.write(sandbox, state, MIXED)


@pytest.mark.parametrize("flags, expected", [
    ([], [1, 2, 3, 4]), (["--lang", "shell"], [2]), (["--status", "timeout"], [3]), (["--status", "error"], [2, 3]),
    (["--status", "ok,timeout"], [1, 3, 4]), (["--backend", "local"], [3]), (["--since", "2026-01-02T09:30:00Z"], [2, 3]),
    (["--until", "2026-01-02"], [1]), (["--user", "4242"], [4]), (["--name", "first"], [1]), (["--text", "too slow"], [3]),
    (["--limit", "2"], [3, 4]), (["--since", "2h"], []), (["--lang", "shell", "--status", "ok"], [])])
def test_a_filter_finds_its_records(history, mixed, flags, expected):
    assert ids(history("list", "--json", *flags)) == expected


def test_a_clock_that_went_backwards_changes_no_order(history, mixed):
    assert ids(history("list", "--json"))[-1] == 4
    assert history("verify").exit_code == 0


@pytest.mark.parametrize("flags, words", [
    (["list", "--since", "soon"], "--since"), (["list", "--output", "xml"], "xml"), (["list", "--limit", "many"], "--limit"),
    (["show"], "no run given"), (["show", "01ZZZ"], "no run"), (["show", "01TEST"], "more than one"),
    (["dance"], "unknown word"), (["list", "extra"], "unexpected word"), (["prune"], "nothing says"),
    (["prune", "--older-than", "x"], "--older-than"), (["list", "--user", "no such one"], "no such user"),
    (["show", "../../etc"], "no run"), (["list", "--nonsense"], "--nonsense"),
    (["list", "--lang", "klingon"], "no such language"), (["list", "--status", "foo"], "no such status 'foo'"),
    (["stats", "--status", "ok,foo"], "no such status 'foo'"), (["list", "--backend", "foo"], "no such backend 'foo'"),
    (["stats", "--svg", "--json"], "more than one"), (["show", "last", "-o", "csv"], "has the forms")])
def test_a_mistake_is_one_line_and_125(history, mixed, flags, words):
    outcome = history(*flags)
    first = outcome.error.splitlines()[0]
    assert outcome.exit_code == 125 and first.startswith("sandbox: ") and words in first, outcome


FILTERS = ["--lang=shell", "--status=ok", "--backend=local", "--since=1d", "--until=1d", "--user=0", "--name=x", "--text=x"]
FORMS = ["--output=json", "--json"]
PRUNING = ["--older-than=1s", "--keep-errors", "--max-size=1K", "--dry-run"]
TAKEN = {"list": [*FILTERS, *FORMS, "--limit=1"], "export": [*FILTERS, *FORMS, "--limit=1"], "follow": [*FILTERS, *FORMS],
         "stats": [*FILTERS, *FORMS, "--limit=1", "--svg"], "show last": FORMS, "code last": [], "rerun last": [],
         "verify": [], "prune": [*FILTERS, *PRUNING]}


@pytest.mark.parametrize("action", TAKEN)
def test_an_option_of_another_word_is_refused(history, mixed, state, action):
    before = journal.lines(state)
    for option in {*FILTERS, *FORMS, *PRUNING, "--limit=1", "--svg"} - {*TAKEN[action]}:
        outcome = history(*action.split(), option)
        assert outcome.exit_code == 125 and f"takes no option '{option.split('=')[0]}'" in outcome.error, (option, outcome)
    assert journal.lines(state) == before


@pytest.mark.parametrize("name", ["bash", "shell", "SHELL"])
def test_another_name_of_a_language_finds_it(history, mixed, name):
    assert ids(history("list", "--json", "--lang", name)) == [2]


def test_a_language_that_only_records_know_is_found(sandbox, history, state):
    journal.write(sandbox, state, [journal.make_record(1, language="klingon")])
    assert ids(history("list", "--json", "--lang", "klingon")) == [1]


def test_the_policy_of_an_unknown_language_is_refused(sandbox):
    outcome = sandbox.call("policy", "show", "--lang", "klingon")
    assert outcome.exit_code == 125 and "no such language" in outcome.error and "python" in outcome.error
    assert sandbox.call("policy", "show", "--lang", "py").stdout == sandbox.call("policy", "show", "--lang", "python").stdout


def test_a_reader_that_has_seen_enough_is_no_mistake(sandbox, history, state):
    journal.write(sandbox, state, [journal.make_record(i) for i in range(1, 2001)])
    history("verify")
    reader = sandbox.start("history", "export", env={"SANDBOX_STATE_DIR": str(state)})
    reader.stdout.readline()
    reader.stdout.close()
    assert reader.stderr.read() in (b"", "") and reader.wait() != 0


def test_without_any_record_the_answers_are_empty(history, state):
    assert ids(history("list", "--json")) == []
    assert history("verify").stdout == b"ok: 0 records\n"
    assert history("stats", "--json").json["records"] == 0
    assert not state.exists()


def test_the_table_has_a_line_for_each_and_fits(history, mixed):
    table = history("list").stdout.decode().splitlines()
    assert len(table) == 5 and table[0].startswith("ID ") and "timeout" in table[3]
    assert all(len(line.rstrip()) <= 100 for line in table)


def test_columns_stand_below_their_titles_whatever_is_in_them(sandbox, history, state):
    journal.write(sandbox, state, [journal.make_record(1, language="javascript", status="internal_error", name="n",
                                                       metrics={"stdout_truncated": False, "x": 1}), journal.make_record(2, name="n")])
    title, *rows = history("list").stdout.decode().splitlines()
    for word in ("LANGUAGE", "STATUS", "NAME"):
        assert all(row[title.index(word) - 1] == " " and row[title.index(word)] != " " for row in rows), word
    assert "stdout_truncated    false" in history("show", "01TEST00000000000000000001").stdout.decode()


def test_names_from_a_forged_record_reach_no_terminal(sandbox, history, state):
    journal.write(sandbox, state, [journal.make_record(1, name="\x1b[2Jx\u009b31m\nnew line", message="\x1b]0;title\x07")])
    for words in (["list"], ["show", "last"], ["stats"], ["list", "-o", "csv"]):
        shown = history(*words).stdout
        assert b"\x1b" not in shown and b"\xc2\x9b" not in shown and b"\x07" not in shown, words


def test_csv_is_read_back_by_a_reader_of_csv(sandbox, history, state):
    journal.write(sandbox, state, [journal.make_record(1, name='a,"b"', message="=cmd()")])
    row, = csv.DictReader(io.StringIO(history("export", "-o", "csv").stdout.decode()))
    assert (row["name"], row["message"], row["seq"]) == ('a,"b"', "'=cmd()", "1")


def test_export_gives_the_lines_of_the_journal(history, mixed, state):
    assert history("export").stdout.splitlines() == journal.lines(state)


def test_show_tells_everything_and_a_part_of_an_id_is_enough(history, mixed):
    assert b"Too Slow" in history("show", "01TEST00000000000000000003").stdout
    for word in ("01test00000000000000000003", "0000000003", "3"):  # `sandbox top` shows the end of an id.
        assert history("show", word, "--json").json["seq"] == 3


# ---- the index ----

@pytest.mark.parametrize("harm", ["remove", "damage", "foreign"])
def test_losing_the_index_loses_nothing(history, mixed, state, harm):
    before = ids(history("list", "--json"))
    path = state / "index.sqlite"
    if harm == "remove":
        path.unlink()
    elif harm == "damage":
        path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    else:
        path.write_bytes(b"no database at all, and rather long: " * 40)
    assert ids(history("list", "--json")) == before


def test_records_that_came_since_are_found(sandbox, history, mixed, state):
    history("list")
    sandbox.run("-q", "-l", "shell", "-c", "true", env={"SANDBOX_STATE_DIR": str(state)})
    assert ids(history("list", "--json")) == [1, 2, 3, 4, 5]


def test_a_journal_that_was_replaced_is_read_anew(sandbox, history, mixed, state):
    history("list")
    (state / journal.NAME).unlink()
    journal.write(sandbox, state, [journal.make_record(1, name="other")])
    assert [record["name"] for record in history("list", "--json").json] == ["other"]


# ---- verify ----

def broken(history, words):
    outcome = history("verify")
    assert outcome.exit_code == 1 and words in outcome.error, outcome


def test_a_changed_record_is_named(history, mixed, state):
    path = state / journal.NAME
    path.write_bytes(path.read_bytes().replace(b'"timeout"', b'"timeouT"'))
    broken(history, "broken at record 3")


def test_a_removed_record_is_named(history, mixed, state):
    path = state / journal.NAME
    kept = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(kept[0] + b"".join(kept[2:]))
    broken(history, "broken at record 2")


def test_a_line_that_is_no_record_is_named(history, mixed, state):
    path = state / journal.NAME
    kept = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(kept[0] + b"{}\n" + b"".join(kept[1:]))
    broken(history, "line 2")


def test_a_torn_end_is_no_broken_chain_and_the_next_run_repairs_it(sandbox, history, mixed, state):
    path = state / journal.NAME
    path.write_bytes(path.read_bytes()[:-30])
    assert b"ok: 3 records, an unfinished end" in history("verify").stdout
    sandbox.run("-q", "-l", "shell", "-c", "true", env={"SANDBOX_STATE_DIR": str(state)})
    assert b"ok: 4 records;" in history("verify").stdout
    assert journal.records(state)[-1]["torn"] > 0


def test_closed_segments_are_compressed_and_belong_to_the_chain(sandbox, history, state):
    last = journal.write(sandbox, state, MIXED, name="journal-000000000001.jsonl")
    journal.write(sandbox, state, [journal.make_record(5)], previous=last, first=5)
    assert ids(history("list", "--json")) == [1, 2, 3, 4, 5]
    assert (state / "journal-000000000001.jsonl.zst").exists() and not (state / "journal-000000000001.jsonl").exists()
    (state / "index.sqlite").unlink()
    assert ids(history("list", "--json")) == [1, 2, 3, 4, 5]
    assert b"ok: 5 records;" in history("verify").stdout
    (state / "journal-000000000001.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"\x00" * 40)
    broken(history, "damaged")
    assert ids(history("list", "--json"))[-1] == 5


# ---- stats ----

def test_stats_are_those_of_a_computed_truth(sandbox, history, state):
    chance = random.Random(7)
    made = [journal.make_record(i, language=chance.choice(["python", "shell"]), status=chance.choice(["ok", "failed"]),
                                execution_time=round(chance.uniform(0.0001, 9), 6), memory_used=chance.randrange(1 << 30))
            for i in range(1, 1001)]
    journal.write(sandbox, state, made)
    answer = history("stats", "--json").json
    assert answer["records"] == 1000 and sum(group["count"] for group in answer["groups"]) == 1000
    for group in answer["groups"]:
        own = [r for r in made if (r["language"], r["status"]) == (group["language"], group["status"])]
        assert group["count"] == len(own)
        for key in ("execution_time", "memory_used"):
            values = sorted(record[key] for record in own)
            for percent in (50, 95, 99):
                truth = values[math.ceil(percent / 100 * len(values)) - 1]
                assert group[key][f"p{percent}"] == pytest.approx(truth, abs=1e-9)


def test_stats_draw(history, mixed):
    assert "█" in history("stats").stdout.decode()
    assert history("stats", "--svg").stdout.startswith(b"<svg ")


# ---- prune ----

def test_prune_removes_what_is_old_and_nothing_else(sandbox, history, state):
    recent = "2999-01-01T00:00:00.000Z"
    journal.write(sandbox, state, [journal.make_record(1), journal.make_record(2, status="failed"),
                                   journal.make_record(3, started_at=recent), journal.make_record(4)])
    assert b"would remove 3 records" in history("prune", "--older-than", "1d", "--dry-run").stdout
    assert ids(history("list", "--json")) == [1, 2, 3, 4]
    assert b"removed 2 records" in history("prune", "--older-than", "1d", "--keep-errors").stdout
    assert ids(history("list", "--json")) == [2, 3]
    (state / "index.sqlite").unlink()
    assert ids(history("list", "--json")) == [2, 3]
    assert b"ok: 3 records, 2 pruned;" in history("verify").stdout  # Two runs and the record of the prune.
    assert b"removed 1 records" in history("prune", "--older-than", "1d").stdout
    assert ids(history("list", "--json")) == [3]
    assert b"3 pruned;" in history("verify").stdout


def test_prune_removes_folders_of_what_goes_alone(sandbox, history, state):
    for _ in range(3):
        sandbox.run("-q", "-l", "shell", "-c", "head -c 200000 /dev/zero > f; false",
                    env={"SANDBOX_STATE_DIR": str(state), "SANDBOX_STORE_CODE": "always"})
    before = [record["artifacts"] for record in journal.records(state)]
    assert history("prune", "--max-size", "450K").exit_code == 0
    left = [record["artifacts"] for record in history("list", "--json").json]
    assert left == before[-len(left):] and 0 < len(left) < 3
    assert [path for path in before if (state / path).exists()] == left
    assert history("code", "last").stdout.startswith(b"head -c")


@pytest.mark.parametrize("flags, left", [
    (["--lang", "shell"], [1, 3, 4]), (["--max-size", "1B", "--lang", "bash"], [1, 3, 4]), (["--status", "error"], [1, 4]), (["--name", "first"], [2, 3, 4]),
    (["--backend", "local"], [1, 2, 4]), (["--until", "2026-01-02"], [2, 3, 4]), (["--user", "4242"], [1, 2, 3]),
    (["--text", "too slow"], [1, 2, 4]), (["--status", "error", "--keep-errors"], [1, 2, 3, 4])])
def test_prune_keeps_to_its_filters(history, mixed, state, flags, left):
    what = [] if "--max-size" in flags else ["--older-than", "1s"]
    assert f"would remove {4 - len(left)} records".encode() in history("prune", *what, *flags, "--dry-run").stdout
    assert ids(history("list", "--json")) == [1, 2, 3, 4]
    assert history("prune", *what, *flags).exit_code == 0
    assert ids(history("list", "--json")) == left
    assert history("verify").exit_code == 0


def taken(state):
    """What counts as the size of the records: the journal and the folders of runs, as they are on disk."""
    blocks = [path.stat().st_blocks * 512 for path in (state / "executions").glob("*/*/**/*")]
    folders = [path.stat().st_blocks * 512 for path in (state / "executions").glob("*/*")]
    return sum(blocks) + sum(folders) + sum(path.stat().st_size for path in state.glob("journal*"))


def test_prune_removes_no_more_than_the_size_asks_for(sandbox, history, state):
    """Folders of equal size, so that what has to go can be told beforehand."""
    made = []
    for number in range(1, 13):
        folder = state / "executions" / "2026-01-01" / f"run{number}"
        folder.mkdir(parents=True)
        for name in ("code.sh", "result.json", "stdout", "request.json", "policy.yaml"):
            (folder / name).write_bytes(b"x")
        made.append(journal.make_record(number, status="failed", artifacts=f"executions/2026-01-01/run{number}"))
    journal.write(sandbox, state, made)
    for path in state.rglob("*"):
        sandbox.own(path)
    each = (taken(state) - (state / journal.NAME).stat().st_size) // 12
    assert history("prune", "--max-size", f"{each * 3 - 1}B").exit_code == 0
    assert ids(history("list", "--json")) == [11, 12]
    assert taken(state) <= each * 3 - 1


def test_prune_counts_the_journal_as_it_is_when_compressed(sandbox, history, state):
    """Text that takes ten times the limit and, compressed, less than it: nothing has to go."""
    journal.write(sandbox, state, [journal.make_record(i, message="the same words again " * 50) for i in range(1, 501)])
    limit = (state / journal.NAME).stat().st_size // 5
    assert b"removed 0 records" in history("prune", "--max-size", f"{limit}B").stdout
    journal.write(sandbox, state, [journal.make_record(i, message=os.urandom(500).hex()) for i in range(1, 501)])
    assert history("prune", "--max-size", "100K").exit_code == 0
    assert 100 < len(ids(history("list", "--json", "-n", "0"))) < 200
    assert taken(state) < 110 << 10


def test_a_pruned_tampered_record_stays_for_verify(sandbox, history, mixed, state):
    path = state / journal.NAME
    path.write_bytes(path.read_bytes().replace(b'"timeout"', b'"timeouT"'))
    history("prune", "--older-than", "1d")
    broken(history, "broken at record 3")


# ---- code, rerun, follow ----

def test_code_is_given_back_byte_for_byte(sandbox, history, state):
    code = "# Grüße\nfalse # no newline"
    sandbox.run("-q", "-l", "shell", "-c", code, env={"SANDBOX_STATE_DIR": str(state)})
    assert history("code", "last").stdout.decode() == code


def test_code_that_was_not_kept_is_a_clear_answer(sandbox, history, state):
    sandbox.run("-q", "-l", "shell", "-c", "true", env={"SANDBOX_STATE_DIR": str(state)})
    outcome = history("code", "last")
    assert outcome.exit_code == 125 and "records.store_code" in outcome.error


def test_rerun_runs_the_same_under_the_same_policy(sandbox, history, state):
    sandbox.run_json("-l", "shell", "-t", "7s", "-e", "A=b", "--name", "again", "-c", 'echo "$A $1"; exit 4', "--", "arg",
                     env={"SANDBOX_STATE_DIR": str(state)})
    outcome = history("rerun", "last")
    assert (outcome.exit_code, outcome.stdout.splitlines()[-1]) == (0, b"nothing differs"), outcome
    first, second = journal.records(state)
    assert (second["exit_code"], second["name"], second["limits"]["timeout"]) == (4, "again", 7.0)
    assert first["code"] == second["code"] and first["id"] != second["id"]


def test_rerun_says_what_differs(sandbox, history, state):
    sandbox.run_json("-l", "python", "-c", "import random; print(random.random()); raise SystemExit(1)",
                     env={"SANDBOX_STATE_DIR": str(state)})
    outcome = history("rerun", "last")
    assert outcome.exit_code == 1 and b"stdout: " in outcome.stdout and b" -> " in outcome.stdout, outcome


@pytest.mark.parametrize("filling", ["'x'", r"'\0'"], ids=["text", "base64"])
def test_rerun_compares_the_part_that_was_kept(sandbox, history, state, filling):
    """What differs lies behind the first MiB, which is kept of what went straight to the caller."""
    sandbox.run("-q", "--output-limit", "8M", "-l", "python", "-c",
                f"import random; print({filling} * 2000000, random.random()); raise SystemExit(1)",
                env={"SANDBOX_STATE_DIR": str(state)})
    outcome = history("rerun", "last")
    assert outcome.exit_code == 0, outcome
    assert b"stdout was kept in part: the rest could not be compared\nnothing else differs" in outcome.stdout
    sandbox.run("-q", "--output-limit", "8M", "-l", "python", "-c",
                f"import random; print(random.random(), {filling} * 2000000); raise SystemExit(1)",
                env={"SANDBOX_STATE_DIR": str(state)})
    outcome = history("rerun", "last")
    assert outcome.exit_code == 1 and b"stdout: " in outcome.stdout, outcome


def test_rerun_says_what_it_could_not_compare(sandbox, history, state):
    """Earlier versions kept nothing of what went straight to the caller."""
    sandbox.run("-q", "-l", "python", "-c", "import random; print(random.random()); raise SystemExit(1)",
                env={"SANDBOX_STATE_DIR": str(state)})
    kept, = (state / "executions").glob("*/*/result.json")
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "stdout": ""}))
    outcome = history("rerun", "last")
    assert outcome.exit_code == 0 and b"stdout was not kept: it could not be compared\nnothing else differs" in outcome.stdout
    assert b"stderr was" not in outcome.stdout, outcome


def test_rerun_compares_what_went_straight_to_the_caller(sandbox, history, state):
    sandbox.run("-q", "-l", "python", "-c", "import random; print(random.random())",
                env={"SANDBOX_STATE_DIR": str(state), "SANDBOX_STORE_CODE": "always"})
    outcome = history("rerun", "last")
    assert outcome.exit_code == 1 and b"stdout: " in outcome.stdout and b"not kept" not in outcome.stdout, outcome


def test_rerun_of_a_project(sandbox, history, state, place):
    folder = place / "project"
    folder.mkdir()
    sandbox.own(folder)
    sandbox.make_file(folder / "main.py", "import other; print(other.value); raise SystemExit(2)\n")
    sandbox.make_file(folder / "other.py", "value = 42\n")
    sandbox.run_json("-l", "python", "--entry", "main.py", "-f", folder, env={"SANDBOX_STATE_DIR": str(state)})
    assert b"==> other.py <==" in history("code", "last").stdout
    outcome = history("rerun", "last")
    assert b"nothing differs" in outcome.stdout, outcome


def test_follow_tells_of_runs_as_they_end(sandbox, state):
    env = {"SANDBOX_STATE_DIR": str(state)}
    follower = sandbox.start("history", "follow", "-o", "jsonl", env=env)
    try:
        wait_until(lambda: "inotify" in os.popen(f"ls -l /proc/{follower.pid}/fd 2>/dev/null").read(), what="it waits")
        for number in range(2):
            sandbox.run("-q", "-l", "shell", "--name", f"run{number}", "-c", "true", env=env)
            assert json.loads(follower.stdout.readline())["name"] == f"run{number}"
    finally:
        follower.kill()
        follower.communicate()


def test_history_is_not_slowed_by_ten_thousand_records(sandbox, history, state):
    journal.write(sandbox, state, [journal.make_record(i) for i in range(1, 10001)])
    assert len(history("export").stdout.splitlines()) == 10000
    assert b"ok: 10000 records;" in history("verify").stdout


def test_sandbox_without_the_other_program_says_so(sandbox, place):
    alone = place / "sandbox"
    subprocess.run(["cp", sandbox.path, alone], check=True)
    alone.chmod(0o755)
    outcome = subprocess.run([alone, "history"], capture_output=True, text=True, timeout=10)
    if outcome.returncode == 0:
        pytest.skip("sandbox-history is installed on this machine")
    assert outcome.returncode == 125 and "sandbox-history" in outcome.stderr
