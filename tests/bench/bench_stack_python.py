"""What a capture costs in a Python program: bench_stack_python.py LIBRARY."""

import ctypes
import sys

NR_CALLS = 2000

probe = ctypes.CDLL(sys.argv[1])
probe.stack_probe_time_ours.restype = ctypes.c_double
probe.stack_probe_time_libunwind.restype = ctypes.c_double
probe.stack_probe_get_frames.restype = ctypes.c_uint64
probe.stack_probe_get_captures.restype = ctypes.c_uint64


def measure():
    frames, captures = probe.stack_probe_get_frames(), probe.stack_probe_get_captures()
    probe.stack_probe_check()
    nr_frames = (probe.stack_probe_get_frames() - frames) // (
        probe.stack_probe_get_captures() - captures
    )
    ours = probe.stack_probe_time_ours(NR_CALLS)
    theirs = probe.stack_probe_time_libunwind(NR_CALLS)
    return nr_frames, ours, theirs


# Through C, so that each level has native frames of its own.
def descend(depth):
    return measure() if depth == 0 else max(map(descend, [depth - 1]))


def main():
    if probe.stack_probe_init() != 0:
        print("\nthere is no libunwind to compare with")
        return
    print("\nPython %d.%d, levels deep   frames      ours  unw_backtrace  ratio" % sys.version_info[:2])
    for depth in (0, 2, 5, 10, 20):
        nr_frames, ours, theirs = descend(depth)
        print("%23d %8d %8.0f %14.0f %6.2f" % (depth, nr_frames, ours, theirs, ours / theirs))


main()
