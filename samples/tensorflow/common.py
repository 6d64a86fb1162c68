"""What the programs of this folder share. Kernels compute nothing on a simulated GPU: what is checked
are TensorFlow's own memory numbers.
"""
import gc

import tensorflow as tf

ROUNDED_TO = 256  # by TensorFlow's allocator
SCALARS = 4096  # at most: constants that operations keep on the device


def check(condition, text):
    if not condition:
        raise SystemExit(f"wrong: {text}")


def in_use():
    gc.collect()
    return tf.config.experimental.get_memory_info("GPU:0")["current"]


def peak():
    return tf.config.experimental.get_memory_info("GPU:0")["peak"]


def check_size(found, expected, text):
    check(expected <= found < expected + SCALARS, f"{text}: {found} instead of {expected}")


def rounded(size):
    return (size + ROUNDED_TO - 1) // ROUNDED_TO * ROUNDED_TO


def one_device():
    devices = tf.config.list_physical_devices("GPU")
    check(len(devices) == 1, f"one device: {devices}")
    return devices[0]
