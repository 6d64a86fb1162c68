from cupy.cuda import memory_hook
from cupy.cuda.memory_hook import MemoryHook  # noqa: F401

import model_cuda

CHUNK = 4 << 20
UNIT = 512


class OutOfMemoryError(MemoryError):
    pass


class PooledMemory:
    def __init__(self, pool, ptr, size):
        self.pool, self.ptr, self.size = pool, ptr, size

    def free(self):
        ptr, self.ptr = self.ptr, 0
        if ptr:
            self.pool.give_back(ptr, self.size, id(self))

    def __del__(self):
        self.free()


class MemoryPool:
    """One chunk, cut from the front."""

    def __init__(self):
        self.chunk = self.used = 0

    def malloc(self, size):
        rounded = -(-size // UNIT) * UNIT
        hooks = memory_hook.get_memory_hooks().values()
        for hook in hooks:
            hook.malloc_preprocess(device_id=0, size=size, mem_size=rounded)
        if not self.chunk:
            for hook in hooks:
                hook.alloc_preprocess(device_id=0, mem_size=CHUNK)
            self.chunk = model_cuda.malloc(CHUNK)
            for hook in hooks:
                hook.alloc_postprocess(device_id=0, mem_size=CHUNK, mem_ptr=self.chunk)
        found = None
        if self.used + rounded <= CHUNK:
            found = PooledMemory(self, self.chunk + self.used, rounded)
            self.used += rounded
        for hook in hooks:
            hook.malloc_postprocess(device_id=0, size=size, mem_size=rounded,
                                    mem_ptr=found.ptr if found else 0,
                                    pmem_id=id(found) if found else 0)
        if found is None:
            raise OutOfMemoryError(f"{rounded} bytes")
        return found

    def give_back(self, ptr, size, number):
        for hook in memory_hook.get_memory_hooks().values():
            hook.free_preprocess(device_id=0, mem_size=size, mem_ptr=ptr, pmem_id=number)
        for hook in memory_hook.get_memory_hooks().values():
            hook.free_postprocess(device_id=0, mem_size=size, mem_ptr=ptr, pmem_id=number)
