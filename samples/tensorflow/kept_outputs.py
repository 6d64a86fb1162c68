"""Runs out after some steps: the outputs of every validation are kept as tensors, to be plotted in the end.

A tensor of TensorFlow stays on the device as long as somebody has it; output.numpy() would have kept a copy
in memory of the host.
"""
import tensorflow as tf

import books
import common

LIMIT = 256  # MiB
INPUTS, HIDDEN, BATCH = 256, 1024, 1024


class Training:
    def __init__(self):
        self.first = tf.Variable(tf.zeros([INPUTS, HIDDEN]))
        self.second = tf.Variable(tf.zeros([HIDDEN, HIDDEN]))
        self.optimizer = tf.keras.optimizers.Adam()
        self.optimizer.build([self.first, self.second])
        self.train = tf.function(self.train_eagerly)
        self.history = []
        self.live_after = []  # bytes, step by step

    def output(self, inputs):
        return tf.matmul(tf.nn.relu(tf.matmul(inputs, self.first)), self.second)

    def train_eagerly(self, inputs):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.output(inputs) ** 2)
        variables = [self.first, self.second]
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

    def validate(self, inputs):
        self.history.append(self.output(inputs))

    def step(self, number):
        books.step(number)
        inputs = tf.zeros([BATCH, INPUTS])
        self.train(inputs)
        self.validate(inputs)
        del inputs
        self.live_after.append(books.live())


def run():
    training = Training()
    try:
        for number in range(1000):
            training.step(number)
    except tf.errors.ResourceExhaustedError:
        pass
    live = training.live_after[2:]  # the first ones leave constants behind
    growth = {after - before for before, after in zip(live, live[1:])}
    common.check(growth == {BATCH * HIDDEN * 4}, f"each step keeps the same: {growth}")
    return {"steps": len(training.live_after), "kept": len(training.history),
            "kept_bytes_per_step": growth.pop(), "limit_bytes": LIMIT * books.MIB}


def main():
    common.one_device()
    books.limit_device(LIMIT)
    with tf.device("/GPU:0"):
        books.finish(run())


main()
