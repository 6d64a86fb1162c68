"""A Python program that marks what it does; run by run_phases.py."""
import ctypes
import sys
import threading

import vramscope

MIB = 1 << 20
runtime = ctypes.CDLL(sys.argv[1]) if len(sys.argv) > 1 else None


def take(size):
    memory = ctypes.c_void_p()
    if runtime and runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(size)):
        sys.exit(3)
    return memory


def give(memory):
    if runtime:
        runtime.cudaFree(memory)


@vramscope.phase("decorated \u00fc")
def decorated(size):
    """Keeps its own name."""
    give(take(size))
    return size


def main():
    kept = []
    with vramscope.phase("init"):
        weights = take(10 * MIB)
    for epoch in range(2):
        vramscope.epoch(epoch)
        for i in vramscope.steps(range(3), start=3 * epoch):
            with vramscope.phase("forward"):
                activations = take((i + 1) * MIB)
                kept.append(take(MIB))
            with vramscope.phase("backward"):
                thread = threading.Thread(target=lambda: give(take(4 * MIB)))
                thread.start()
                thread.join()
                give(activations)
    assert decorated(MIB) == MIB and decorated.__doc__ == "Keeps its own name."
    try:
        with vramscope.phase("raises"):
            raise ValueError("passes through")
    except ValueError:
        pass
    vramscope.push(17)
    vramscope.pop()
    vramscope.pop()
    vramscope.mark("a mark")
    vramscope.step(99)
    give(weights)
    print("profiled" if vramscope.is_profiled() else "not profiled")


main()
