import model_cuda
from rmm._cuda.gpu import getDevice


class DeviceMemoryResource:
    def allocate(self, nbytes, stream="default"):
        return self.do_allocate(nbytes)

    def deallocate(self, ptr, nbytes, stream="default"):
        self.do_deallocate(ptr, nbytes)


class CudaMemoryResource(DeviceMemoryResource):
    def do_allocate(self, nbytes):
        address = model_cuda.malloc(nbytes)
        if not address:
            raise MemoryError("std::bad_alloc")
        return address

    def do_deallocate(self, ptr, nbytes):
        model_cuda.free(ptr)


class CudaAsyncMemoryResource(CudaMemoryResource):
    """Stream-ordered memory is not in the model: what counts is the name."""


class UpstreamResourceAdaptor(DeviceMemoryResource):
    def __init__(self, upstream_mr, *_):
        self.upstream = upstream_mr

    def get_upstream(self):
        return self.upstream

    def do_allocate(self, nbytes):
        return self.upstream.allocate(nbytes)

    def do_deallocate(self, ptr, nbytes):
        self.upstream.deallocate(ptr, nbytes)


class StatisticsResourceAdaptor(UpstreamResourceAdaptor):
    pass


class PoolMemoryResource(UpstreamResourceAdaptor):
    """One chunk, cut from the front."""

    def __init__(self, upstream_mr, initial_pool_size=None, maximum_pool_size=None):
        super().__init__(upstream_mr)
        self.size = initial_pool_size or 4 << 20
        self.chunk = upstream_mr.allocate(self.size)
        self.used = 0

    def do_allocate(self, nbytes):
        rounded = -(-nbytes // 256) * 256
        if self.used + rounded > self.size:
            raise MemoryError("std::bad_alloc: out_of_memory: maximum pool size exceeded")
        self.used += rounded
        return self.chunk + self.used - rounded

    def do_deallocate(self, ptr, nbytes):
        pass

    def __del__(self):
        self.upstream.deallocate(self.chunk, self.size)


class CallbackMemoryResource(DeviceMemoryResource):
    def __init__(self, allocate_func, deallocate_func):
        self._allocate_func, self._deallocate_func = allocate_func, deallocate_func

    def allocate(self, nbytes, stream="default"):
        return self._allocate_func(nbytes, stream)

    def deallocate(self, ptr, nbytes, stream="default"):
        self._deallocate_func(ptr, nbytes, stream)


resources = {}


def current():
    """As compiled code asks, past every function that could be replaced."""
    return resources.setdefault(getDevice(), CudaMemoryResource())


def get_per_device_resource(device):
    return resources.setdefault(device, CudaMemoryResource())


def set_per_device_resource(device, mr):
    resources[device] = mr


def get_current_device_resource():
    return current()


def set_current_device_resource(mr):
    resources[getDevice()] = mr
