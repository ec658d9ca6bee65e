"""Runs the user's program in the Python guest: the last module that is imported before the snapshot."""

import _io, _sre, _struct, abc, argparse, ast, atexit, base64, bisect, builtins, calendar, codecs, collections  # noqa: E401, F401
import collections.abc, contextlib, copy, csv, dataclasses, datetime, decimal, difflib, enum, errno  # noqa: E401, F401
import fractions, functools, gc, glob, hashlib, heapq, html, importlib.machinery, inspect, io  # noqa: E401, F401
import itertools, json, linecache, logging, math, numbers, operator, os, pathlib, pprint, queue  # noqa: E401, F401
import random, re, secrets, shutil, signal, statistics, string, struct, sys, tempfile, textwrap, threading  # noqa: E401, F401
import time, tokenize, traceback, types, typing, unittest, urllib.parse, uuid, warnings, weakref, zlib  # noqa: E401, F401

CODE_MEMORY = 1 << 16


def flush():
    good = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:
            good = False
    return good


def leave(code):
    """The exit code that SystemExit with this code means."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 255
    try:
        flush()
        print(code, file=sys.stderr)
    except Exception:
        pass
    return 1


def fail(error):
    """What the interpreter does about an exception that nobody caught; the exit code."""
    trace = error.__traceback__
    while trace and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    error = error.with_traceback(trace)
    sys.last_type, sys.last_value, sys.last_traceback, sys.last_exc = type(error), error, trace, error
    try:
        sys.excepthook(type(error), error, trace)
    except SystemExit as exit:
        return leave(exit.code)
    except BaseException:
        pass
    return CODE_MEMORY if isinstance(error, MemoryError) else 130 if isinstance(error, KeyboardInterrupt) else 1


def prepare(words, variables):
    """Makes the interpreter look like one that was started for this run; the path and the main module."""
    argv = [os.fsdecode(word) for word in words]
    os.environ._data.clear()
    os.environ._data.update(word.split(b"=", 1) for word in variables if b"=" in word)
    sys.argv[:] = argv
    sys.orig_argv[:] = ["python3", *argv]
    path = argv[0]
    sys.path.insert(0, os.path.dirname(path))
    extra = os.environ.get("PYTHONPATH")
    sys.path[1:1] = [place or "/workspace" for place in extra.split(":")] if extra else []
    random.seed()
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=builtins, __cached__=None, __annotations__={},
                         __loader__=importlib.machinery.SourceFileLoader("__main__", path))
    sys.modules["__main__"] = main
    return path, main


def read(path):
    with open(path, "rb") as file:
        return file.read()


def settle():
    """Writes out what is still in buffers."""
    good = flush()
    for thing in gc.get_objects():
        try:
            if isinstance(thing, _io._IOBase) and not thing.closed:
                thing.flush()
        except BaseException:
            pass
    return flush() and good


def finish(code):
    atexit._run_exitfuncs()
    if len(logging._handlerList) > HANDLERS:
        atexit.register(logging.shutdown)
        atexit._run_exitfuncs()
    return code if settle() else code or 120


def perform(source, path, main):
    """Runs the program; its exit code."""
    try:
        exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as exit:
        return leave(exit.code)
    except BaseException as error:
        return fail(error)
    return 0


def launch(words, variables):
    path, main = prepare(words, variables)
    try:
        source = read(path)
    except BaseException as error:
        return finish(fail(error))
    return finish(perform(source, path, main))


def rehearse():
    """Does what each run does, and takes it back: what is made at the first time is part of the snapshot then."""
    old = sys.modules["__main__"], sys.argv[:], sys.orig_argv[:], sys.path[:]
    for _ in range(REHEARSALS):
        path, main = prepare([b"/code/main.py"], [b"PATH=/bin"])
        perform(b"import sys\nprint(end='')\n", path, main)
        settle()
    sys.modules["__main__"], sys.argv[:], sys.orig_argv[:], sys.path[:] = old
    os.environ._data.clear()


# The end of a run does this last, and where there is something to do, for the call alone costs a tenth of a run.
atexit.unregister(logging.shutdown)
HANDLERS = len(logging._handlerList)
REHEARSALS = 20  # the interpreter adapts its code to what it does several times
rehearse()
gc.collect()
