"""Memory of the analyzer grows with what is alive and with sites, never with events.

usage: test_analyzer_memory.py VRAMSCOPE MAKE_BENCH_TRACE

Each command reads a trace of a million events and one of four million, with the same number of
blocks alive and of sites. The largest resident memory of its process may differ by 2 MiB: snapshots
in the index are kept while it is written, and allocators differ a little. A single byte kept for each
event would be 3 MB. Where memory comes to lie decides whether one more page is touched, and pages may
have 2 MiB: so the process gets none of those, and all has its fixed place, if that may be had. Which
thread is ahead decides of the rest: so the least of a few runs counts.
"""
import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

VRAMSCOPE, MAKE_TRACE = sys.argv[1:3]
MILLION = 1_000_000
LIVE, SITES = 20_000, 64
MOST_KIB = 2048
NR_RUNS = 4
COMMANDS = (("peak", "--no-index"), ("retained", "--no-index"), ("sites", "--no-index"),
            ("frag", "--no-index"), ("why", "--no-index"), ("report",))
LIBC = ctypes.CDLL(None)
PR_SET_THP_DISABLE = 41
ADDR_NO_RANDOMIZE = 0x0040000


def settle_memory():
    """In the child; what it becomes by exec keeps to it. A container may forbid the second."""
    LIBC.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
    LIBC.personality(ADDR_NO_RANDOMIZE)


def get_least_kib(arguments):
    return min(get_peak_kib(arguments) for _ in range(NR_RUNS))


def get_peak_kib(arguments):
    """The largest resident memory of a child that reads the trace for the first time."""
    if os.path.exists(arguments[-1] + ".index"):
        os.unlink(arguments[-1] + ".index")
    child = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, preexec_fn=settle_memory)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{arguments} ended with {child.returncode}")
    return usage.ru_maxrss


class AnalyzerMemory(unittest.TestCase):
    def test_four_million_events_take_no_more_than_one(self):
        with tempfile.TemporaryDirectory() as folder:
            traces = []
            for nr_events in (MILLION, 4 * MILLION):
                traces.append(os.path.join(folder, f"{nr_events}.vscope"))
                subprocess.run((MAKE_TRACE, traces[-1], str(nr_events), str(LIVE), str(SITES)),
                               check=True, stdout=subprocess.DEVNULL)
            for command in COMMANDS:
                one, four = (get_least_kib((VRAMSCOPE, *command, trace)) for trace in traces)
                with self.subTest(command=command, one=one, four=four):
                    self.assertLess(four, one + MOST_KIB)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
