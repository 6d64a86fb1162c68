"""Trains in several ways, and writes into the trace, as marks, what TensorFlow says of its memory.

usage: books.py WAY...    on the device BOOKS_DEVICE, by default GPU:0
"""
import ctypes
import gc
import os
import sys

import numpy as np
import tensorflow as tf

PROFILER = ctypes.CDLL(None)
DEVICE = os.environ.get("BOOKS_DEVICE", "GPU:0")


def tell():
    """A mark with TensorFlow's own numbers, taken when nothing is under way."""
    gc.collect()
    info = tf.config.experimental.get_memory_info(DEVICE)
    PROFILER.vramscope_mark(f"books {info['current']} {info['peak']}".encode())


def make_step():
    weight = tf.Variable(tf.zeros([512, 256]))
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build([weight])

    def step(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(tf.matmul(batch, weight)) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
        return loss

    return step


def loop(step):
    tell()
    for size in (64, 256, 32, 512):
        step(tf.constant(np.ones((size, 512), np.float32))).numpy()
        tell()


def eager():
    loop(make_step())


def compiled():
    loop(tf.function(make_step()))


def keras_fit():
    model = tf.keras.Sequential([tf.keras.Input([64]), tf.keras.layers.Dense(128, activation="relu"),
                                 tf.keras.layers.Dense(8)])
    model.compile("adam", "mse", jit_compile=False)
    data = np.ones((256, 64), np.float32), np.ones((256, 8), np.float32)
    for _ in range(3):
        model.fit(*data, batch_size=64, epochs=1, verbose=0)
        tell()


def kept():
    tensors = []
    for i in range(8):
        tensors.append(tf.zeros([1000 + 37 * i, 100]))
        tell()
    del tensors[1::2]
    tell()


def limit():
    """Part of the card as a device of its own, if BOOKS_LIMIT says how many MiB."""
    megabytes = int(os.environ.get("BOOKS_LIMIT", "0"))
    if megabytes:
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("GPU")[0],
            [tf.config.LogicalDeviceConfiguration(memory_limit=megabytes)])


def main():
    limit()
    if DEVICE.startswith("CPU"):
        # Operations that run at the same time have a peak that depends on who comes first.
        tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.config.threading.set_intra_op_parallelism_threads(1)
    with tf.device(DEVICE):
        for way in sys.argv[1:]:
            globals()[way]()


main()
