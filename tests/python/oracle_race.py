"""Threads that allocate without the GIL while others make and drop code and look at all frames.

usage: oracle_race.py NOTES SECONDS

The frames of the allocating threads are always the same few: they are noted before the race, and
each must have been allocated at so often as its counter says.
"""
import ctypes
import gc
import json
import sys
import threading
import time

import frame_oracle
from frame_oracle import cudaMalloc, get_name

cudaFree = frame_oracle._runtime.cudaFree
cudaFree.argtypes = [ctypes.c_void_p]
end = time.monotonic() + float(sys.argv[2])
SIZES = [1000, 2000, 3000, 4000]
NR_THREADS = 4
counts = [[0, 0] for _ in range(NR_THREADS)]
stacks = [[None, None] for _ in range(NR_THREADS)]


def get_frames(frame):
    frames = []
    while frame:
        frames.append((get_name(frame.f_code), frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return frames


def leaf(pointer, i):
    if stacks[i][0] is None: stacks[i][0] = get_frames(sys._getframe())
    cudaMalloc(ctypes.byref(pointer), SIZES[i])
    cudaFree(pointer)
    counts[i][0] += 1


def work(i, depth):
    if depth:
        return work(i, depth - 1)
    pointer = ctypes.c_void_p()
    while time.monotonic() < end:
        leaf(pointer, i)
        sorted([1], key=lambda _: leaf_in_callback(pointer, i))
    return None


def leaf_in_callback(pointer, i):
    if stacks[i][1] is None: stacks[i][1] = get_frames(sys._getframe())
    cudaMalloc(ctypes.byref(pointer), SIZES[i])
    cudaFree(pointer)
    counts[i][1] += 1


def churn_code():
    i = 0
    while time.monotonic() < end:
        i += 1
        names = {}
        exec(compile("def f%d(x):\n%s  return x\n" % (i % 50, "\n" * (i % 7)), "<churn %d>" % (i % 11),
                     "exec"), names)
        names["f%d" % (i % 50)](i)


def churn_frames():
    while time.monotonic() < end:
        for frame in sys._current_frames().values():
            while frame:
                frame.f_lineno
                frame = frame.f_back
        gc.collect(0)


threads = [threading.Thread(target=work, args=(i, i * 5)) for i in range(NR_THREADS)]
threads += [threading.Thread(target=churn_code), threading.Thread(target=churn_frames)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(sys.argv[1], "w", encoding="utf-8") as file:
    for i in range(NR_THREADS):
        for k in range(2):
            frames = stacks[i][k]
            # The line of the call is the one below that of the note.
            frames[0] = (frames[0][0], frames[0][1], frames[0][2] + 1)
            json.dump({"frames": frames, "count": counts[i][k], "bytes": counts[i][k] * SIZES[i]}, file)
            file.write("\n")
