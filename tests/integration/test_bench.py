"""`sandbox bench` measures what it says. Figures are not looked at: a timed assertion is not a test."""

import json


def bench(sandbox, *flags, **options):
    outcome = sandbox.call("bench", "--runs", "2", "--json", *flags, timeout=300, **options)
    assert outcome.exit_code == 0, outcome
    return outcome.json


def by_name(entries):
    return {entry["name"]: entry for entry in entries}


def test_warm_rows_are_warm_and_every_sample_is_kept(sandbox, place, no_leftovers):
    raw = place / "raw.json"
    told = bench(sandbox, "--only", "python-bare,python-keeper,python-warm,memory", "--raw", str(raw))
    rows = by_name(told["rows"])
    assert set(rows) == {"python-bare", "python-keeper", "python-warm"}
    assert all(row["measured"] and row["runs"] == 2 for row in rows.values()), rows
    assert rows["python-warm"]["cold"] == 0
    samples = json.loads(raw.read_text())["rows"]
    assert {name: len(kept) for name, kept in samples.items()} == {name: 2 for name in rows}
    figures = by_name(told["figures"])
    assert set(figures) == {"engine-memory", "container-memory", "parked-memory", "slot-memory"}
    assert figures["engine-memory"]["value"] > 0
    bars = {bar["what"]: bar for bar in told["bars"]}
    warm = next(bar for what, bar in bars.items() if "through the library" in what)
    assert abs(warm["value"] - rows["python-warm"]["ratio"]) < 1e-6


def test_two_clients_and_a_burst_of_a_hundred_come_through(sandbox, no_leftovers):
    figures = by_name(bench(sandbox, "--only", "rate,burst")["figures"])
    assert set(figures) == {"rate-bare", "rate-warm", "burst-median", "burst-p99"}
    assert all(figure["measured"] and figure["value"] > 0 for figure in figures.values()), figures


def test_a_keeper_of_somebody_else_is_not_asked(sandbox, place):
    told = bench(sandbox, "--only", "sandbox", env={"SANDBOX_KEEPER": str(place / "nobody.sock")})
    assert told["rows"][0]["measured"], told


def test_an_unknown_row_is_told_with_those_there_are(sandbox):
    outcome = sandbox.call("bench", "--only", "nothing")
    assert outcome.exit_code == 125
    assert "no such row 'nothing'" in outcome.error and "python-warm" in outcome.error and "burst" in outcome.error
