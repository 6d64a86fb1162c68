"""A Python program that allocates in every way in which Python can be executing.

usage: oracle_program.py NOTES [CASE...]; without CASE all of them
"""
import sys

import frame_oracle

frame_oracle.start(sys.argv[1])

import asyncio
import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import re
import tempfile
import threading
import types
import xml.parsers.expat

from frame_oracle import alloc, begin_case

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def recurse(depth, last=alloc):
    return last() if depth == 0 else recurse(depth - 1, last)


@case
def plain_calls():
    alloc()
    recurse(3)
    [alloc, alloc][1]()
    for _ in range(3):
        alloc()
    (alloc
     ())


class Model:
    def __init__(self):
        self.kept = alloc()

    def forward(self):
        self.inner()

    def inner(self):
        alloc()

    @staticmethod
    def stay():
        alloc()

    @classmethod
    def make(cls):
        alloc()
        return cls()

    @property
    def shape(self):
        alloc()
        return ()


@case
def methods():
    model = Model.make()
    model.forward()
    Model.stay()
    model.shape
    functools.partial(model.forward)()
    types.MethodType(lambda self: self.inner(), model)()


@case
def depth_near_the_limit():
    for depth in (100, 200, 230, 240, 245, 250, 251, 252, 253, 254, 255, 256, 257, 258, 300, 400, 257, 256,
                  255, 254, 253):
        recurse(depth)


@case
def deep_recursion_under_a_callback():
    def key(x):
        alloc()
        return x

    for depth in (10, 240, 250, 300, 400):
        recurse(depth, lambda: sorted([2, 1], key=key))


def go_through_c(depth):
    if depth == 0:
        for _ in range(3):
            alloc()
    else:
        sorted([0], key=lambda _: go_through_c(depth - 1) or 0)


@case
def native_stacks_deeper_than_is_kept():
    """Each comes again and again: the first time it is walked, then it is known."""
    for _ in range(3):
        for depth in (5, 15, 16, 17, 18, 19, 20, 40, 70):
            go_through_c(depth)


def generate(nr):
    for i in range(nr):
        alloc()
        yield i


def delegate(nr):
    yield from generate(nr)
    alloc()


@case
def generators():
    list(generate(2))
    sum(delegate(2))
    for _ in delegate(2):
        alloc()
    it = generate(3)
    next(it)
    recurse(2, lambda: next(it))
    gen = (alloc() for _ in range(2))
    next(gen)
    list(gen)
    # Closed from elsewhere: its finally runs on top of whoever closes it.

    def guarded():
        try:
            yield 1
        finally:
            alloc()

    g = guarded()
    next(g)
    g.close()
    g = guarded()
    next(g)
    del g
    gc.collect()


async def wait(depth):
    alloc()
    await asyncio.sleep(0)
    if depth:
        await wait(depth - 1)
    alloc()


class Resource:
    async def __aenter__(self):
        alloc()
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_):
        alloc()


async def stream(nr):
    for i in range(nr):
        await asyncio.sleep(0)
        alloc()
        yield i


async def everything():
    loop = asyncio.get_running_loop()
    loop.slow_callback_duration = 3600  # with -X dev it would say so on a busy machine
    await asyncio.gather(*(wait(i) for i in range(3)))
    async with Resource():
        alloc()
    async for _ in stream(2):
        alloc()
    [alloc() async for _ in stream(2)]
    loop.call_soon(alloc)
    await asyncio.sleep(0)
    await loop.run_in_executor(None, alloc)


@case
def coroutines():
    asyncio.run(everything())
    coroutine = wait(0)
    coroutine.send(None)
    try:
        coroutine.send(None)
    except StopIteration:
        pass


@case
def lambdas_and_comprehensions():
    (lambda: alloc())()
    [alloc() for _ in range(2)]
    {alloc() for _ in range(2)}
    {i: alloc() for i in range(2)}
    [[alloc() for _ in range(1)] for _ in range(2)]
    (lambda f: f(f, 3))(lambda f, n: alloc() if n == 0 else f(f, n - 1))


def twice(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        function(*arguments)
        return function(*arguments)
    return wrapper


@twice
@twice
def decorated():
    alloc()


@functools.lru_cache(maxsize=None)
def cached(_key):
    alloc()


@case
def decorators():
    decorated()
    cached(1)
    cached(1)


class Odd:
    """Calls that C makes into Python."""

    def __init__(self, value):
        self.value = value

    def __getattr__(self, name):
        alloc()
        return name

    def __lt__(self, other):
        alloc()
        return self.value < other.value

    def __hash__(self):
        alloc()
        return 1

    def __eq__(self, other):
        alloc()
        return self is other

    def __del__(self):
        alloc()

    def __call__(self):
        alloc()

    def __len__(self):
        alloc()
        return 1

    def __iter__(self):
        alloc()
        return iter(())

    def __index__(self):
        alloc()
        return 1


@case
def calls_from_c():
    def key(x):
        alloc()
        return x

    def outer_key(x):
        return sorted([x, 1], key=key)

    list(map(key, [1, 2]))
    sorted([2, 1], key=key)
    sorted([2, 1], key=outer_key)
    functools.reduce(lambda a, b: alloc() or a, range(3))
    list(filter(key, [1]))
    max([1, 2], key=key)
    re.sub("a", lambda m: alloc() or "", "aa")
    json.dumps([object()], default=lambda _: alloc() or 1)
    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = lambda *_: alloc()
    parser.Parse("<a><b/></a>", True)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    numbers = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(numbers, 2, 4, compare(lambda *_: alloc() or 0))


@case
def operators():
    odds = [Odd(i) for i in range(2)]
    odds.sort()
    {odd: 1 for odd in odds}
    odds[0].anything
    odds[0]()
    len(odds[0])
    list(odds[0])
    [1, 2][odds[0]]
    odds[0].itself = odds[0]
    del odds
    gc.collect()


@case
def destructors():
    def drop_on_return():
        odd = Odd(1)
        odd.value = 2

    def drop_from_c(_):
        odd = Odd(1)
        odd.value = 2

    drop_on_return()
    list(map(drop_from_c, [1]))
    try:
        odd = Odd(1)
        raise ValueError(odd)
    except ValueError:
        del odd
    recurse(3, drop_on_return)
    recurse(3, lambda: list(map(drop_from_c, [1])))


@case
def exceptions():
    def fail():
        raise KeyError(1)

    try:
        fail()
    except KeyError:
        alloc()
    finally:
        alloc()

    @contextlib.contextmanager
    def context():
        alloc()
        try:
            yield
        finally:
            alloc()

    with context():
        alloc()
    with contextlib.suppress(KeyError), context():
        fail()
    try:
        try:
            fail()
        except KeyError as error:
            raise ValueError() from error
    except ValueError:
        recurse(2)

    def nested():
        try:
            return recurse(1)
        finally:
            recurse(1)

    nested()


@case
def executed_text():
    names = {"alloc": alloc}
    exec("alloc()\n\nalloc()", names)
    exec(compile("def f():\n  alloc()\n\nf()\nclass C:\n  alloc()\n", "<made>", "exec"), names)
    eval("alloc()", names)
    eval("[alloc() for _ in range(2)]", names)


@case
def code_at_the_same_address():
    """Freed and made anew: same addresses, same names, another line."""
    names = {"alloc": alloc}
    for i in range(300):
        exec(compile("\n" * (i % 97) + "alloc()\n", "<again>", "exec"), names)
    for i in range(300):
        exec(compile("def f():\n" + "\n" * (i % 89) + "  alloc()\nf()\n", "<again2>", "exec"), names)
    for i in range(300):
        exec(compile("alloc()\n", "<again, %d>" % (i % 83), "exec"), names)
    # The beginning of the table is the same, and so is its size.
    for i in range(300):
        text = "def f():\n" + "  x = 1\n" * 20 + "\n" * (i % 7) + "  alloc()\nf()\n"
        exec(compile(text, "<again3>", "exec"), names)
    # So is its end. What claims to be from a file is told apart since 3.12: docs/python-versions.md.
    for name in ["<again4>"] + ["/made/again.py"] * (sys.version_info >= (3, 12)):
        for i in range(300):
            text = ("def f():\n" + "  x = 1\n" * 20 + "\n" * (i % 7) + "  alloc()\n" +
                    "\n" * (7 - i % 7) + "  x = 1\n" * 20 + "f()\n")
            exec(compile(text, name, "exec"), names)


@case
def names_in_all_widths():
    for name in ("f", "f\u00fc", "\u043f\u0430\u043c\u044f\u0442\u044c", "\u30e1\u30e2\u30ea", "\U00020000x"):
        for file in ("a.py", "\u00fc.py", "\u043f.py", "\U0001f40d.py", "a\U0001f40d\u00fc.py"):
            exec(compile("def %s():\n    alloc()\n%s()\n" % (name, name), "/made/" + file, "exec"),
                 {"alloc": alloc})
    # More than is kept of them.
    long = "x" * 900
    exec(compile("def %s():\n    alloc()\n%s()\n" % (long, long), "/made/" + "d" * 3000 + ".py", "exec"),
         {"alloc": alloc})


class Text(str):
    """Not quite a string."""


@case
def file_names_of_another_class():
    exec(compile("alloc()\n", Text("/made/subclass.py"), "exec"), {"alloc": alloc})
    exec(compile("alloc()\n", Text("/made/\U0001f40d.py"), "exec"), {"alloc": alloc})
    alloc()


@case
def huge_functions():
    for nr in (3000, 15000):
        lines = "def f(x):\n" + "".join(
            "    x = x + %d\n%s" % (i, "\n" * (i % 3)) for i in range(nr)) + "    alloc()\n    return x\n"
        lines += "f(0)\n"
        exec(compile(lines, "/made/huge%d.py" % nr, "exec"), {"alloc": alloc})


@case
def threads():
    def work():
        for _ in range(3):
            recurse(2)

    pool = [threading.Thread(target=work) for _ in range(4)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    for _ in range(40):
        thread = threading.Thread(target=alloc)
        thread.start()
        thread.join()
    timer = threading.Timer(0, alloc)
    timer.start()
    timer.join()


@case
def class_bodies():
    class Body:
        alloc()

        class Inner:
            alloc()

    class Meta(type):
        def __new__(cls, *arguments):
            alloc()
            return super().__new__(cls, *arguments)

    class Made(Body, metaclass=Meta):
        pass

    class Hooked:
        def __init_subclass__(cls):
            alloc()

    class Below(Hooked):
        pass


@case
def imports():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "made_module.py"), "w", encoding="utf-8") as file:
            file.write("import frame_oracle\n\nframe_oracle.alloc()\n\n\ndef f():\n    frame_oracle.alloc()\n")
        sys.path.insert(0, folder)
        try:
            import made_module
            made_module.f()
            importlib.reload(made_module)
            importlib.import_module("made_module").f()
        finally:
            sys.path.pop(0)


@case
def greenlets():
    try:
        import greenlet
    except ImportError:
        return

    def ping():
        alloc()
        second.switch()
        recurse(2)

    def pong():
        recurse(3)
        first.switch()

    first, second = greenlet.greenlet(ping), greenlet.greenlet(pong)
    first.switch()
    alloc()


@case
def tracing():
    seen = []

    def trace(frame, event, _):
        if event == "call" and frame.f_code.co_name == "traced":
            sys.settrace(None)
            alloc()
            sys.settrace(trace)
            seen.append(1)
        return None

    def traced():
        return 1

    def profile(frame, event, _):
        if event == "return" and frame.f_code.co_name == "traced" and len(seen) < 5:
            sys.setprofile(None)
            alloc()

    sys.settrace(trace)
    traced()
    sys.settrace(None)
    sys.setprofile(profile)
    traced()
    sys.setprofile(None)


def main():
    for name in sys.argv[2:] or CASES:
        begin_case(name)
        CASES[name]()
    begin_case("at_exit")


atexit.register(alloc)
atexit.register(recurse, 2)
main()
