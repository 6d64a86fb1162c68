"""Memory of a (simulated) GPU, for the models of this folder."""
import ctypes

_runtime = ctypes.CDLL("libcudart.so.13")


def malloc(size):
    """An address, or 0."""
    address = ctypes.c_void_p()
    if _runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(size)):
        return 0
    return address.value


def free(address):
    _runtime.cudaFree(ctypes.c_void_p(address))
