"""The other side of the comparison: what Python itself says of each stack that allocates.

A program calls alloc() wherever it likes. Before each call of cudaMalloc, the frames that Python
shows are written down, with a size that no other allocation has.
"""
import ctypes
import json
import os
import sys
import threading
import traceback

_lock = threading.Lock()
_file = None
_serial = 0
_case = ""
_first_size = 0

_runtime = None
for _name in ("libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"):
    try:
        _runtime = ctypes.CDLL(_name)
        break
    except OSError:
        pass
cudaMalloc = _runtime.cudaMalloc
cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
cudaMalloc.restype = ctypes.c_int


def start(path, first_size=1):
    """Writes to path from now on: a line for each allocation."""
    global _file, _first_size
    _file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    _first_size = first_size


def begin_case(name):
    global _case
    _case = name


def get_name(code):
    """The name that this release keeps for people."""
    return getattr(code, "co_qualname", code.co_name)


def note(frame):
    """Writes down a stack; returns the size to allocate."""
    global _serial
    frames = [(get_name(f.f_code), f.f_code.co_filename, line)
              for f, line in traceback.walk_stack(frame)]
    with _lock:
        _serial += 1
        # No two sums of a few of them are equal: the spread of a multiplicative congruence.
        size = _first_size + _serial * 48271 % 2147483647 % 1000003 + 1
        line = json.dumps({"case": _case, "size": size, "frames": frames}) + "\n"
        os.write(_file, line.encode())
    return size


def alloc():
    pointer = ctypes.c_void_p()
    # One line: the frame is at the same one for both calls.
    status = cudaMalloc(ctypes.byref(pointer), note(sys._getframe()))
    if status:
        os.write(2, b"frame_oracle: cudaMalloc failed\n")
        os._exit(9)
