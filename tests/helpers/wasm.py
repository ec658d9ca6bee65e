"""Small WebAssembly modules, put together byte by byte."""

I32, I64 = 0x7F, 0x7E
CUSTOM, TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, START, ELEMENT, CODE, DATA, DATA_COUNT = range(13)
ORDER = [CUSTOM, TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, START, ELEMENT, DATA_COUNT, CODE, DATA]
WASI = "wasi_snapshot_preview1"
END = b"\x0b"
UNREACHABLE = b"\x00"
LOOP_FOREVER = b"\x03\x40\x0c\x00\x0b"  # loop: br 0


def number(value):
    """An unsigned number, LEB128."""
    out = bytearray()
    while True:
        byte, value = value & 127, value >> 7
        out.append(byte | (128 if value else 0))
        if not value:
            return bytes(out)


def const(value):
    """i32.const"""
    out = bytearray(b"\x41")
    while True:
        byte, value = value & 127, value >> 7
        done = (value == 0 and not byte & 64) or (value == -1 and byte & 64)
        out.append(byte if done else byte | 128)
        if done:
            return bytes(out)


def call(index):
    return b"\x10" + number(index)


def vector(items):
    return number(len(items)) + b"".join(items)


def text(word):
    return number(len(word.encode())) + word.encode()


def section(kind, body):
    return bytes([kind]) + number(len(body)) + body


def sections(body, imports=(), pages=1, maximum=None, data=b"", entry="_start", start=False):
    """The sections of a module with one function, by their kinds. Imports: module, name, parameters, results.

    With `start` the function is also what the module does before anything of it is called.
    """
    types = [(list(parameters), list(results)) for _, _, parameters, results in imports] + [([], [])]
    limits = b"\0" + number(pages) if maximum is None else b"\1" + number(pages) + number(maximum)
    made = {
        TYPE: vector([b"\x60" + vector([bytes([kind]) for kind in parameters])
                      + vector([bytes([kind]) for kind in results]) for parameters, results in types]),
        IMPORT: vector([text(module) + text(name) + b"\0" + number(index)
                        for index, (module, name, _, _) in enumerate(imports)]),
        FUNCTION: vector([number(len(imports))]),
        MEMORY: vector([limits]),
        EXPORT: vector([text(entry) + b"\0" + number(len(imports)), text("memory") + b"\2\0"]),
        CODE: vector([number(len(body) + 2) + b"\0" + body + END]),
        DATA: vector([b"\0" + const(0) + END + number(len(data)) + data]),
    }
    if start:
        made[START] = number(len(imports))
    return made


def every_section(body, **options):
    """The same with one of each kind of section that there is."""
    own = len(options.get("imports", ()))
    return {
        **sections(body, start=True, **options),
        CUSTOM: text("name") + b"\0" + vector([text("made by hand")]),
        TABLE: vector([b"\x70\0" + number(4)]),
        GLOBAL: vector([bytes([I32, 1]) + const(7) + END]),
        ELEMENT: vector([b"\0" + const(0) + END + vector([number(own)])]),
        DATA_COUNT: number(1),
    }


def join(made):
    return b"\0asm\1\0\0\0" + b"".join(section(kind, made[kind]) for kind in ORDER if kind in made)


def module(body, **options):
    return join(sections(body, **options))


FD_WRITE = (WASI, "fd_write", [I32] * 4, [I32])
PROC_EXIT = (WASI, "proc_exit", [I32], [])


def printing(words, code=0):
    """A module that writes the words to standard output and exits with the code."""
    data = (16).to_bytes(4, "little") + len(words).to_bytes(4, "little") + bytes(8) + words
    body = const(1) + const(0) + const(1) + const(8) + call(0) + b"\x1a" + const(code) + call(1)
    return module(body, imports=[FD_WRITE, PROC_EXIT], data=data)
