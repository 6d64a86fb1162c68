"""The framework takes nearly everything, whatever it needs; and what two settings change about that.

usage: greedy.py default|growth|limit

default: all that TensorFlow may have of the card is taken with the first tensor. growth: as much as is needed
(set_memory_growth). limit: so much and no more (a logical device), taken at once.
"""
import sys

import tensorflow as tf

import books
import common

WIDTH, LAYERS, BATCH, STEPS, LIMIT = 512, 4, 256, 5, 256  # MiB


def train():
    layers = [tf.Variable(tf.zeros([WIDTH, WIDTH])) for _ in range(LAYERS)]
    for number in range(STEPS):
        books.step(number)
        with tf.GradientTape() as tape:
            hidden = tf.zeros([BATCH, WIDTH])
            for layer in layers:
                hidden = tf.nn.relu(tf.matmul(hidden, layer))
            loss = tf.reduce_mean(hidden)
        for layer, gradient in zip(layers, tape.gradient(loss, layers)):
            layer.assign_sub(gradient)


def main():
    mode, device = sys.argv[1], common.one_device()
    if mode == "growth":
        tf.config.experimental.set_memory_growth(device, True)
    if mode == "limit":
        books.limit_device(LIMIT)
    with tf.device("/GPU:0"):
        train()
        wanted = 2560 * books.MIB
        error = books.ask_driver(wanted)
        common.check(error == (books.OUT_OF_MEMORY if mode == "default" else 0),
                     f"what the driver says to another library: {error}")
        # What the other library got was on the card, too.
        books.finish({"mode": mode, "limit_bytes": LIMIT * books.MIB, "needed_bytes": books.peak(),
                      "peak_live_bytes": books.peak() if error else wanted + books.live()})


main()
