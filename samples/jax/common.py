"""What the programs of this folder share. Kernels compute nothing on a simulated GPU: what is checked
are JAX's own memory numbers.

JAX looks for a device file before it loads its CUDA plugin. A simulated GPU has none, so these
programs, for themselves, answer that question; nothing is changed in the wheel or on the machine.
"""
import gc

from jax._src import hardware_utils

hardware_utils.has_visible_nvidia_gpu = lambda: True

import jax  # noqa: E402 (after the answer)


def check(condition, text):
    if not condition:
        raise SystemExit(f"wrong: {text}")


def device(number=0):
    found = jax.devices()
    check(found[0].platform == "gpu", f"a GPU is found: {found}")
    return found[number]


def in_use(which=None):
    gc.collect()
    return (which or device()).memory_stats()["bytes_in_use"]
