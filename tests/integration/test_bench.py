"""`sandbox bench` measures what it says. Figures are not looked at: a timed assertion is not a test."""

import json
import os
import xml.dom.minidom

import pytest

from helpers.program import wasm_parts


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


@pytest.mark.skipif(wasm_parts() is None, reason="the wasm backend is not built: make wasm")
def test_rows_of_the_wasm_backend(sandbox, no_leftovers):
    told = bench(sandbox, "--only", "python-bare,node-bare,loop-bare,wasm-python,wasm-python-warm,wasm-javascript-warm,wasm-loop")
    rows = by_name(told["rows"])
    assert all(row["measured"] for row in rows.values()), rows
    assert rows["wasm-python-warm"]["cold"] == rows["wasm-javascript-warm"]["cold"] == rows["wasm-loop"]["cold"] == 0
    bars = [bar for bar in told["bars"] if "on wasm" in bar["what"]]
    assert len(bars) == 4 and all(bar["value"] > 0 for bar in bars)


def test_an_allowed_connection_is_compared_with_the_hosts(sandbox, no_leftovers):
    figures = by_name(bench(sandbox, "--only", "network")["figures"])
    assert set(figures) == {"network-host", "network-allowed", "connect-host", "connect-allowed", "connect-added"}
    assert all(figures[name]["value"] > 0 for name in set(figures) - {"connect-added"})


def test_two_clients_and_a_burst_of_a_hundred_come_through(sandbox, place, no_leftovers):
    raw = place / "raw.json"
    figures = by_name(bench(sandbox, "--only", "rate,burst", "--raw", str(raw))["figures"])
    assert set(figures) == {"rate-bare", "rate-warm", "burst-median", "burst-p99"}
    assert all(figure["measured"] and figure["value"] > 0 for figure in figures.values()), figures
    samples = json.loads(raw.read_text())["figures"]
    assert all(sum(samples[name]) == figures[name]["runs"] > 0 for name in ("rate-bare", "rate-warm"))
    assert len(samples["burst-median"]) == figures["burst-p99"]["runs"] == 500
    assert figures["rate-bare"]["cold"] == 0 and figures["rate-warm"]["cold"] < figures["rate-warm"]["runs"] / 2


def test_a_keeper_of_somebody_else_is_not_asked(sandbox, place):
    told = bench(sandbox, "--only", "sandbox", env={"SANDBOX_KEEPER": str(place / "nobody.sock")})
    assert told["rows"][0]["measured"], told


def test_an_unknown_row_is_told_with_those_there_are(sandbox):
    outcome = sandbox.call("bench", "--only", "nothing")
    assert outcome.exit_code == 125
    assert "no such row 'nothing'" in outcome.error and "python-warm" in outcome.error and "burst" in outcome.error


def test_the_chart_is_drawn_and_the_commands_are_named(sandbox, place):
    chart = place / "chart.svg"
    rows = by_name(bench(sandbox, "--only", "bare,sandbox", "--svg", str(chart))["rows"])
    texts = [node.firstChild.data for node in xml.dom.minidom.parse(str(chart)).getElementsByTagName("text")]
    assert "static program, bare fork+exec" in texts and any(text.endswith("(1.00x)") for text in texts)
    assert rows["sandbox"]["command"].endswith("/bench-hello") and " run --backend container " in rows["sandbox"]["command"]


def test_the_chart_says_what_the_others_were_told_and_no_path_of_this_machine(sandbox, place):
    (place / "bin").mkdir()
    sandbox.make_file(place / "bin/nsjail", "#!/bin/sh\nexit 0\n", 0o755)
    bench(sandbox, "--only", "bare,nsjail", "--svg", str(place / "chart.svg"), env={"PATH": f"{place / 'bin'}:{os.environ['PATH']}"})
    texts = [node.firstChild.data for node in xml.dom.minidom.parse(str(place / "chart.svg")).getElementsByTagName("text")]
    assert "nsjail -Mo -Q -R HELLO:/hello -- /hello" in texts and not any(str(place) in text for text in texts), texts


JUDGE = """#!/usr/bin/python3
import http.server, json, sys
if "--version" in sys.argv:
    sys.exit("v0")
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["cmd"][0]
        known = job["args"] == ["hello"] and [*job["copyIn"]] == ["hello"] or job["args"][1:] == ["-c", "pass"]
        answer = b'[{"status":"%s"}]' % (b"Accepted" if known else b"Internal Error")
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
host, port = sys.argv[sys.argv.index("-http-addr") + 1].split(":")
http.server.HTTPServer((host, int(port)), Handler).serve_forever()
"""


def judge(sandbox, place, text):
    """The rows of a go-judge that answers so: the real one is in no package."""
    (place / "bin").mkdir()
    sandbox.make_file(place / "bin/go-judge", text, 0o755)
    return by_name(bench(sandbox, "--only", "bare,go-judge,python-bare,python-go-judge",
                         env={"PATH": f"{place / 'bin'}:{os.environ['PATH']}"})["rows"])


def test_a_judge_is_started_once_and_asked(sandbox, place, no_leftovers):
    rows = judge(sandbox, place, JUDGE)
    assert all(rows[name]["measured"] and rows[name]["runs"] == 2 for name in ("go-judge", "python-go-judge")), rows
    assert "/bin/go-judge -release -silent -http-addr 127.0.0.1:" in rows["go-judge"]["command"]


def test_a_judge_that_does_not_run_it_is_not_measured(sandbox, place, no_leftovers):
    rows = judge(sandbox, place, JUDGE.replace("if known", "if False"))
    assert "go-judge did not run it: [{\"status\":\"Internal Error\"}]" in rows["go-judge"]["reason"], rows


def test_a_judge_that_does_not_start_is_not_measured(sandbox, place, no_leftovers):
    rows = judge(sandbox, place, "#!/bin/sh\necho no such thing >&2\nexit 1\n")
    assert "does not listen" in rows["go-judge"]["reason"] and "no such thing" in rows["go-judge"]["reason"], rows


def ratios(sandbox, place, *entries):
    return str(sandbox.make_file(place / "ratios.json", json.dumps({"ratios": list(entries)})))


def check(sandbox, path):
    return sandbox.call("bench", "--runs", "2", "--only", "bare,sandbox", "--check", path, timeout=300)


def test_a_ratio_that_got_worse_fails_the_check(sandbox, place):
    pair = {"value": "sandbox", "over": "bare"}
    assert check(sandbox, ratios(sandbox, place, {**pair, "ratio": 1e6})).exit_code == 0
    worse = check(sandbox, ratios(sandbox, place, {**pair, "ratio": 1e-6}))
    assert worse.exit_code == 1 and "sandbox against bare is" in worse.error
    assert check(sandbox, ratios(sandbox, place, {**pair, "ratio": 1e6, "at_least": True})).exit_code == 1


def test_a_check_that_checks_nothing_is_an_error(sandbox, place):
    nothing = check(sandbox, ratios(sandbox, place, {"value": "python-warm", "over": "python-bare", "ratio": 1}))
    assert nothing.exit_code == 125 and "nothing of" in nothing.error
    assert check(sandbox, ratios(sandbox, place, {"value": "sandbox"})).exit_code == 125
    assert check(sandbox, str(place / "missing.json")).exit_code == 125


def test_what_fails_where_it_was_to_be_measured_fails_the_check(sandbox, place):
    (place / "bin").mkdir()
    sandbox.make_file(place / "bin/firejail", "#!/bin/sh\nexit 3\n", 0o755)
    pairs = [{"value": name, "over": "bare", "ratio": 1e6} for name in ("sandbox", "firejail")]
    outcome = sandbox.call("bench", "--runs", "2", "--only", "bare,sandbox,firejail", "--check", ratios(sandbox, place, *pairs),
                           env={"PATH": f"{place / 'bin'}:{os.environ['PATH']}"}, timeout=300)
    assert outcome.exit_code == 1 and "firejail against bare was not compared: failed: " in outcome.error, outcome
