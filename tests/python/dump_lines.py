"""Line tables of much code, and what Python says of each of its instructions.

usage: dump_lines.py TABLES LINES
"""
import ctypes
import os
import sys
import types

get_line = ctypes.pythonapi.PyCode_Addr2Line
get_line.argtypes = [ctypes.py_object, ctypes.c_int]
get_line.restype = ctypes.c_int

ODD = """
def f(a,
      b=1):
    x = [
        y
        for y in a
        if y
    ]
    try:
        return (a
                + b)
    except ValueError as e:
        raise
    finally:
        with a as c, \\
             b as d:
            pass
    while True:
        if x: continue
        break


class C(
        f):
    @property
    def g(self): return lambda: (
        1,
        2)
    async def h(self):
        async for i in self:
            await i
        yield
"""


def walk(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from walk(constant)


def get_sources():
    folder = os.path.dirname(os.__file__)
    for name in ("argparse.py", "typing.py", "inspect.py", "asyncio/base_events.py", "ast.py",
                 "dataclasses.py", "contextlib.py", "tarfile.py", "statistics.py", "abc.py"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield file.read()
        except OSError:
            pass
    yield ODD
    yield ""
    # Jumps over many lines, also backwards, and much code on one line.
    for nr in (1, 126, 127, 128, 129, 254, 255, 256, 257, 1000, 70000):
        yield "x = 1\n" + "\n" * nr + "y = 2\n"
        yield "f(\n" + "\n" * nr + "a)\n"
    yield "x = [" + ", ".join("a%d.b" % i for i in range(400)) + "]\ny = 1\n"
    yield "def f():\n" + "".join(
        "  x = x + %d\n%s" % (i, "\n" * (i % 5)) for i in range(3000)) + "  return x\n"


version = "%x" % (sys.hexversion >> 16)
with open(sys.argv[1], "w") as tables, open(sys.argv[2], "w") as lines:
    for source in get_sources():
        for code in walk(compile(source, "x.py", "exec")):
            table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
            nr = len(code.co_code) // 2
            tables.write("%s %d %d %s\n" % (version, code.co_firstlineno, nr, table.hex() or "-"))
            found = [get_line(code, 2 * i) for i in range(nr)]
            lines.write("".join("%d " % max(line, 0) for line in found) + "\n")
