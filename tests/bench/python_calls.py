"""Allocates and frees through ctypes, from Python functions one inside the other.

usage: python_calls.py LIBCUDA DEPTH PAIRS

Every fourth call goes through C (a key function of sorted), as calls through numpy or torch do: the
native stack has frames of the interpreter, of its C functions, of ctypes and of libffi.
"""
import ctypes
import sys


class Driver:
    def __init__(self, path):
        library = ctypes.CDLL(path)
        self.alloc = library.cuMemAlloc_v2
        self.free = library.cuMemFree_v2
        self.alloc.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]
        self.free.argtypes = [ctypes.c_uint64]
        self.address = ctypes.c_uint64()

    def make_pair(self, size):
        if self.alloc(self.address, size) or self.free(self.address):
            sys.exit("python_calls.py: an allocation failed")


def go_down(driver, depth, nr_pairs):
    if depth == 0:
        for i in range(nr_pairs):
            driver.make_pair(512 * (1 + i % 16))
    elif depth % 4 == 0:
        sorted([0], key=lambda _: go_down(driver, depth - 1, nr_pairs) or 0)
    else:
        go_down(driver, depth - 1, nr_pairs)


def main():
    path, depth, nr_pairs = sys.argv[1:]
    go_down(Driver(path), int(depth), int(nr_pairs))


if __name__ == "__main__":
    main()
