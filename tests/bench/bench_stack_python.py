"""What a capture costs in a Python program: bench_stack_python.py LIBRARY."""

import ctypes
import sys

NR_CALLS = 2000

probe = ctypes.CDLL(sys.argv[1])
probe.stack_probe_time_known.restype = ctypes.c_double
probe.stack_probe_time_walk.restype = ctypes.c_double
probe.stack_probe_time_libunwind.restype = ctypes.c_double
probe.stack_probe_get_frames.restype = ctypes.c_uint64
probe.stack_probe_get_captures.restype = ctypes.c_uint64


def measure():
    frames, captures = probe.stack_probe_get_frames(), probe.stack_probe_get_captures()
    probe.stack_probe_check()
    nr_frames = (probe.stack_probe_get_frames() - frames) // (
        probe.stack_probe_get_captures() - captures
    )
    return (
        nr_frames,
        probe.stack_probe_time_known(NR_CALLS),
        probe.stack_probe_time_walk(NR_CALLS),
        probe.stack_probe_time_libunwind(NR_CALLS),
    )


# Through C, so that each level has native frames of its own.
def descend(depth):
    return measure() if depth == 0 else max(map(descend, [depth - 1]))


def main():
    if probe.stack_probe_init() != 0:
        print("\nthere is no libunwind to compare with")
        return
    print("\nPython %d.%d, levels deep   frames  unw_backtrace  vs_stack_recall  ratio"
          "  vs_stack_capture  ratio" % sys.version_info[:2])
    for depth in (0, 2, 5, 10, 20):
        nr_frames, known, walk, theirs = descend(depth)
        print("%23d %8d %14.0f %16.0f %6.2f %17.0f %6.2f"
              % (depth, nr_frames, theirs, known, known / theirs, walk, walk / theirs))


main()
