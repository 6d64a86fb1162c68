"""One model, trained in several ways: what each does to the memory of the card.

usage: variants.py whole|small|accumulated|mixed|function|pipeline

whole: batches of BATCH, operation by operation. small: a quarter of that. accumulated: four such quarters, then
one step of the optimizer. mixed: activations of 16 bits. function: the step as a tf.function. pipeline: the
same, and tf.data brings the batches to the card beforehand.
"""
import sys

import numpy as np
import tensorflow as tf

import books
import common

WIDTH, LAYERS, BATCH, STEPS = 1024, 8, 4096, 4


class Training:
    def __init__(self, dtype):
        self.dtype = dtype
        self.layers = [tf.Variable(tf.zeros([WIDTH, WIDTH])) for _ in range(LAYERS)]
        self.optimizer = tf.keras.optimizers.SGD(momentum=0.9)
        self.optimizer.build(self.layers)

    def gradients(self, inputs):
        with tf.GradientTape() as tape:
            hidden = tf.cast(inputs, self.dtype)
            for layer in self.layers:
                hidden = tf.nn.relu(tf.matmul(hidden, tf.cast(layer, self.dtype)))
            loss = tf.reduce_mean(tf.cast(hidden, tf.float32))
        return tape.gradient(loss, self.layers)

    def step(self, *parts):
        total = self.gradients(parts[0])
        for part in parts[1:]:
            total = [one + other for one, other in zip(total, self.gradients(part))]
        self.optimizer.apply_gradients(zip(total, self.layers))


def batches(variant):
    """Each step's parts, on the card."""
    size = BATCH // 4 if variant in ("small", "accumulated") else BATCH
    batch = np.zeros((size, WIDTH), np.float32)
    if variant == "pipeline":
        data = tf.data.Dataset.from_tensors(batch).repeat(STEPS)
        data = data.apply(tf.data.experimental.prefetch_to_device("/GPU:0", buffer_size=2))
        yield from ((part,) for part in data)
        return
    for _ in range(STEPS):
        yield tuple(tf.constant(batch) for _ in range(4 if variant == "accumulated" else 1))


def main():
    variant = sys.argv[1]
    tf.config.experimental.set_memory_growth(common.one_device(), True)
    with tf.device("/GPU:0"):
        training = Training(tf.float16 if variant == "mixed" else tf.float32)
        step = training.step
        if variant in ("function", "pipeline"):
            step = tf.function(step, jit_compile=False)
        for number, parts in enumerate(batches(variant)):
            books.step(number)
            step(*parts)
        books.finish({"variant": variant})


main()
