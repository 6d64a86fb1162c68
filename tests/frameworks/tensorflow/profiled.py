"""Trains a little under TensorFlow's own profiler, and prints which events of memory it has."""
import glob
import os
import sys
import tempfile

import numpy as np
import tensorflow as tf


def train():
    weight = tf.Variable(tf.zeros([256, 128]))

    @tf.function(jit_compile=False)
    def step(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.relu(tf.matmul(batch, weight)))
        weight.assign_sub(tape.gradient(loss, weight))

    for _ in range(3):
        step(tf.constant(np.ones((64, 256), np.float32)))


def main():
    with tf.device("/GPU:0"), tempfile.TemporaryDirectory() as folder:
        train()
        tf.profiler.experimental.start(folder)
        train()
        tf.profiler.experimental.stop()
        planes = glob.glob(os.path.join(folder, "plugins/profile/*/*.xplane.pb"))
        with open(planes[0], "rb") as file:
            plane = file.read()
        # Names of events stand in the file as they are.
        for name in (b"MemoryAllocation", b"MemoryDeallocation", b"MatMul", b"GPU_0_bfc"):
            print("profiler", name.decode(), name in plane)
    print("ended", file=sys.stderr)


main()
