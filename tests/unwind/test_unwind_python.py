"""Stacks of a real Python program, compared with libunwind's.

usage: test_unwind_python.py LIBRARY [ROUNDS]; 1,000 rounds are more than a million captures
"""

import asyncio
import contextlib
import ctypes
import functools
import gc
import json
import re
import sys
import threading
import xml.parsers.expat

NR_ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
MIN_CAPTURES = 1000 * NR_ROUNDS

probe = ctypes.CDLL(sys.argv[1])
for name in ("captures", "frames", "by_rules", "recalls", "different"):
    getattr(probe, "stack_probe_get_" + name).restype = ctypes.c_uint64
check = probe.stack_probe_check
check.restype = None


def recurse(depth, last):
    return last() if depth == 0 else recurse(depth - 1, last)


def generate(nr):
    for i in range(nr):
        check()
        yield i


class Odd:
    """Calls that Python makes by itself."""

    def __init__(self, value):
        self.value = value

    def __getattr__(self, name):
        check()
        return name

    def __lt__(self, other):
        check()
        return self.value < other.value

    def __hash__(self):
        check()
        return 1

    def __eq__(self, other):
        check()
        return self is other

    def __del__(self):
        check()


def call_back_from_c():
    """Python, C, Python, C."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    numbers = (ctypes.c_int * 5)(5, 3, 1, 4, 2)

    def compare(_a, _b):
        check()
        return 0

    ctypes.CDLL(None).qsort(numbers, 5, 4, kind(compare))


def call_by_operators():
    odds = [Odd(i * 7 % 5) for i in range(5)]
    odds.sort()
    sorted(range(5), key=lambda i: check() or -i)
    {odd: 1 for odd in odds}
    odds[0].anything
    odds[0].itself = odds[0]
    del odds
    gc.collect()


def call_by_libraries():
    re.sub(r"\d", lambda match: check() or match[0], "a1b2c3")
    json.dumps([object()], default=lambda _: check() or 1)
    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = lambda *_: check()
    parser.Parse("<a><b/></a>", True)
    functools.reduce(lambda a, b: check() or a + b, range(4))
    exec(compile("check()\n", "<made>", "exec"), {"check": check})


def call_by_exceptions():
    class Context(contextlib.ContextDecorator):
        def __enter__(self):
            check()
            return self

        def __exit__(self, *_):
            check()
            return True

    with Context():
        try:
            recurse(5, lambda: 1 / 0)
        finally:
            check()


async def wait_a_little(depth):
    check()
    await asyncio.sleep(0)
    if depth:
        await wait_a_little(depth - 1)
    check()


async def wait_together():
    await asyncio.gather(*(wait_a_little(i) for i in range(4)))


def call_numpy():
    try:
        import numpy
    except ImportError:
        return
    numpy.vectorize(lambda x: check() or x)(numpy.arange(3))
    numpy.apply_along_axis(lambda row: check() or row, 0, numpy.zeros((2, 2)))


def do_everything(depth):
    recurse(depth, check)
    recurse(depth, lambda: list(generate(3)))
    sum(generate(3))
    call_by_operators()
    call_by_libraries()
    call_by_exceptions()
    call_back_from_c()
    call_numpy()


def run():
    for i in range(NR_ROUNDS):
        do_everything(i % 30)
        recurse(i % 10, lambda: do_everything(i % 7))


def main():
    if probe.stack_probe_init() != 0:
        print("there is no libunwind to compare with")
        return 77
    run()
    for _ in range(NR_ROUNDS):
        asyncio.run(wait_together())
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    captures = probe.stack_probe_get_captures()
    different = probe.stack_probe_get_different()
    recalls = probe.stack_probe_get_recalls()
    print(
        "%d captures, %.1f frames each, %d by rules alone, %d recalled, %d different"
        % (captures, probe.stack_probe_get_frames() / captures,
           probe.stack_probe_get_by_rules(), recalls, different)
    )
    # Each stack is captured four times in a row: half of all are known at the least.
    is_good = different == 0 and captures >= MIN_CAPTURES and recalls >= captures / 2
    return 0 if is_good else 1


sys.exit(main())
