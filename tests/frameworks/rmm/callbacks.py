"""The real RMM, imported under vramscope: is a pool wrapped, and does what RMM calls arrive?

RMM carries NVIDIA's runtime, which refuses a simulated driver: no pool can be made. In its place is
an object of that name; what is around it, and what calls it, is RMM's own CallbackMemoryResource.
checked.py judges the trace.
"""
import rmm
import rmm.mr

BASE = 0x7F00_0000_0000
plain = rmm.mr.CudaMemoryResource()


class PoolMemoryResource:
    """What is asked of a pool."""

    def __init__(self):
        self.next = BASE
        self.freed = []

    def get_upstream(self):
        return plain

    def allocate(self, size, *stream):
        if size > 1 << 30:
            raise MemoryError("std::bad_alloc: out_of_memory")
        self.next += -(-size // 256) * 256
        return self.next - -(-size // 256) * 256

    def deallocate(self, address, size, *stream):
        self.freed.append((address, size))


def main():
    from rmm.pylibrmm import memory_resource as compiled

    # What is no pool stays what it is.
    rmm.mr.set_per_device_resource(0, plain)
    assert compiled.get_per_device_resource(0) is plain
    own = PoolMemoryResource()
    rmm.mr.set_per_device_resource(0, own)
    # RMM itself has ours, the program has its own.
    ours = compiled.get_per_device_resource(0)
    assert isinstance(ours, rmm.mr.CallbackMemoryResource), type(ours)
    assert rmm.mr.get_per_device_resource(0) is own
    first, second = ours.allocate(1000), ours.allocate(4096)
    assert (first, second) == (BASE, BASE + 1024), (first, second)
    ours.deallocate(first, 1000)
    assert own.freed == [(first, 1000)], own.freed
    try:
        ours.allocate(1 << 40)
    except MemoryError:
        pass
    else:
        raise AssertionError("it should have run out")
    rmm.mr.set_per_device_resource(0, plain)
    assert compiled.get_per_device_resource(0) is plain
    print(rmm.__version__)


main()
