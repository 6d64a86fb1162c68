"""The real CuPy, imported under vramscope: is our hook registered, and does what CuPy would call arrive?

CuPy carries NVIDIA's runtime, which refuses a simulated driver: nothing is allocated. The callbacks
are called by hand, with the keywords that CuPy documents. checked.py judges the trace.
"""
import threading

import cupy
from cupy.cuda import memory_hook

BASE = 0x7F00_0000_0000


def get_hook():
    return memory_hook.get_memory_hooks()["vramscope"]


def give(address, size, rounded):
    hook = get_hook()
    hook.malloc_preprocess(device_id=0, size=size, mem_size=rounded)
    hook.malloc_postprocess(device_id=0, size=size, mem_size=rounded, mem_ptr=address, pmem_id=1)


def take(address, size):
    hook = get_hook()
    hook.free_preprocess(device_id=0, mem_size=size, mem_ptr=address, pmem_id=1)
    hook.free_postprocess(device_id=0, mem_size=size, mem_ptr=address, pmem_id=1)


def main():
    hook = get_hook()
    assert isinstance(hook, cupy.cuda.MemoryHook), type(hook)
    # What CuPy calls is there, by the names it calls it.
    for name in ("alloc_preprocess", "alloc_postprocess", "malloc_preprocess", "malloc_postprocess",
                 "free_preprocess", "free_postprocess"):
        assert callable(getattr(cupy.cuda.MemoryHook, name)), name
    give(BASE, 1000, 1024)
    thread = threading.Thread(target=give, args=(BASE + 1024, 4000, 4096))
    thread.start()
    thread.join()
    take(BASE, 1024)
    give(0, 1 << 40, 1 << 40)
    # A hook of the program's own works beside ours.
    with cupy.cuda.memory_hooks.DebugPrintHook() as other:
        assert set(memory_hook.get_memory_hooks()) == {"vramscope", other.name}
    print(cupy.__version__)


main()
