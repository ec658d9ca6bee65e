"""The journal of records, read and written without the program: its format is a promise."""

import hashlib
import json

ZEROS = "0" * 64
NAME = "journal.jsonl"


def lines(state):
    path = state / NAME
    return path.read_bytes().splitlines() if path.exists() else []


def records(state):
    """Every record of the file that is appended to, checked to follow the one before."""
    found, previous = [], None
    for line in lines(state):
        record = json.loads(line)
        body = line[:line.rindex(b',"hash":"')]
        assert hashlib.sha256(body).hexdigest() == record["hash"], f"the hash of {record['seq']} is not true"
        if previous:
            assert (record["prev"], record["seq"]) == (previous["hash"], previous["seq"] + 1)
        else:
            assert record["seq"] > 1 or record["prev"] == ZEROS
        found.append(record)
        previous = record
    return found


def make_line(previous, number, fields):
    body = json.dumps({"prev": previous, "seq": number, **fields}, separators=(",", ":"))[:-1].encode()
    digest = hashlib.sha256(body).hexdigest()
    return body + f',"hash":"{digest}"}}\n'.encode(), digest


def make_record(number, **fields):
    """The fields of a run, as plain as they can be."""
    plain = {"kind": "run", "id": f"01TEST{number:020d}", "started_at": "2026-01-01T00:00:00.000Z", "name": None,
             "uid": 0, "language": "python", "version": "3", "backend": "container", "status": "ok", "exit_code": 0,
             "signal": None, "message": None, "execution_time": 0.001, "cpu_time": 0.001, "memory_used": 1000,
             "network": "none", "artifacts": None}
    return {**plain, **fields}


def write(sandbox, state, all_fields, name=NAME, previous=ZEROS, first=1):
    """Writes a journal of these records as the program's user; returns the last hash."""
    state.mkdir(mode=0o700, exist_ok=True)
    sandbox.own(state)
    out = b""
    for number, fields in enumerate(all_fields, first):
        line, previous = make_line(previous, number, fields)
        out += line
    path = state / name
    path.write_bytes(out)
    path.chmod(0o600)
    sandbox.own(path)
    return previous
