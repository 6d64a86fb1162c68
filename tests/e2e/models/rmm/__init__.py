"""A model of RMM: of its interface what docs.rapids.ai says of memory resources."""
from rmm import mr

__version__ = "26.model"


class DeviceBuffer:
    def __init__(self, *, size=0, mr=None):
        self.mr = mr or _module.current()
        self.size = size
        self.ptr = self.mr.allocate(size, "stream") if size else 0

    def __del__(self):
        if getattr(self, "ptr", 0):
            self.mr.deallocate(self.ptr, self.size, "stream")


def reinitialize(pool_allocator=False, managed_memory=False, initial_pool_size=None,
                 maximum_pool_size=None, devices=0, logging=False, log_file_name=None):
    for device in [devices] if isinstance(devices, int) else devices:
        upstream = _module.CudaMemoryResource()
        _module.resources[device] = (_module.PoolMemoryResource(upstream, initial_pool_size)
                                     if pool_allocator else upstream)


_module = mr
