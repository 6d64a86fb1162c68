"""TensorFlow's own books, printed as facts: what its allocator says about itself, for whoever compares.

Nothing here knows of a profiler but the phases, which do nothing without one. Facts come from
tf.config.experimental.get_memory_info, and from the memory map that TensorFlow writes when an allocator
runs out of memory (TF_BFC_MEMORY_DUMP).
"""
import contextlib
import ctypes
import glob
import json
import os
import tempfile

import tensorflow as tf
from tensorflow.core.protobuf import bfc_memory_map_pb2

try:
    import vramscope
except ImportError:
    vramscope = None

MIB = 1 << 20
OUT_OF_MEMORY = 2  # CUDA's number for it


def limit_device(megabytes):
    """Part of the card as a device of its own, taken at once."""
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("GPU")[0],
        [tf.config.LogicalDeviceConfiguration(memory_limit=megabytes)])


def live():
    return tf.config.experimental.get_memory_info("GPU:0")["current"]


def peak():
    return tf.config.experimental.get_memory_info("GPU:0")["peak"]


def step(number):
    if vramscope:
        vramscope.step(number)


def phase(name):
    return vramscope.phase(name) if vramscope else contextlib.nullcontext()


class Failure:
    """Has TensorFlow write its memory map, and reads it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        os.environ["TF_BFC_MEMORY_DUMP"] = os.path.join(self.folder.name, "map")

    def state(self):
        """Where the allocator of the device stood when it gave up."""
        newest = max(glob.glob(os.path.join(self.folder.name, "map_GPU_0_bfc.*")),
                     key=lambda path: int(path.rsplit(".", 1)[1]))
        dump = bfc_memory_map_pb2.MemoryDump()
        with open(newest, "rb") as file:
            dump.ParseFromString(file.read())
        used = [chunk for chunk in dump.chunk if chunk.in_use]
        free = [chunk.size for chunk in dump.chunk if not chunk.in_use]
        return {
            "live_bytes": sum(chunk.size for chunk in used),
            "requested_bytes": sum(chunk.requested_size for chunk in used),
            "blocks": len(used),
            "hole_bytes": sum(free),
            "holes": len(free),
            "largest_hole_bytes": max(free, default=0),
            "reserved_bytes": sum(chunk.size for chunk in dump.chunk),
        }


def open_driver():
    """As another library would."""
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxSetCurrent(context)
    return driver


def driver_free():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    open_driver().cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    return free.value


def ask_driver(size):
    """What another library gets: CUDA's error number. It is given back at once."""
    driver, address = open_driver(), ctypes.c_uint64()
    error = driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
    if not error:
        driver.cuMemFree_v2(address)
    return error


def finish(facts):
    print(json.dumps({"version": tf.__version__, "peak_live_bytes": peak()} | facts))
