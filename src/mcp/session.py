"""The live interpreter of a session: runs one task after another in one namespace.

A task comes as a line "NONCE LENGTH" and a JSON object of that length on standard input. Its end is
told on both outputs by a mark with the nonce and an exit code. Whatever the code does to the names
and descriptors it finds, tasks and marks go through copies of them made before it ran.
"""
import ast, io, json, linecache, os, sys, traceback, types


def run(code, name, space):
    """Runs a task; shows the value of a last expression, as an interpreter does."""
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), space)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), name, "eval"), space)
        if value is not None:
            space["_"] = value
            print(repr(value))


def attempt(task, name, space):
    """The exit code of a task."""
    sys.argv = ["main.py", *task["args"]]
    sys.stdin = io.TextIOWrapper(io.BytesIO(task["stdin"].encode("utf-8", "surrogatepass")), "utf-8")
    try:
        run(task["code"], name, space)
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 255
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        while isinstance(error, SyntaxError) and trace and trace.tb_frame.f_code.co_filename == ast.__file__:
            trace = trace.tb_next
        traceback.print_exception(type(error), error, trace)
        return 1


def flush():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except BaseException:
            pass


def main():
    wire = os.fdopen(os.dup(0), "rb")
    outputs = (os.dup(1), os.dup(2))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    own = os.getpid()
    write, leave = os.write, os._exit
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    number = 0
    while True:
        words = wire.readline().split()
        if len(words) != 2:
            leave(0)
        task = json.loads(wire.read(int(words[1])))
        number += 1
        code = 1
        try:
            code = attempt(task, f"<call {number}>", module.__dict__)
        except BaseException:
            pass
        flush()
        if os.getpid() != own:
            leave(code)
        for output in outputs:
            mark = b"\x1e%s\x1e%03d\x1e" % (words[0], code)
            while mark:
                mark = mark[write(output, mark):]


main()
