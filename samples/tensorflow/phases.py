"""In which phase does it run out? Phases around init, data, forward, backward and optimizer.

TensorFlow's peak is asked for and set back at the end of each. The batch doubles until it fails.
"""
import contextlib

import tensorflow as tf

import books
import common

LIMIT, WIDTH, LAYERS, FIRST_BATCH = 256, 512, 6, 256


class Phases:
    """Each phase with the peak that TensorFlow saw in it."""

    def __init__(self):
        self.open = []
        self.rows = []

    @contextlib.contextmanager
    def __call__(self, name):
        self.open.append(name)
        tf.config.experimental.reset_memory_stats("GPU:0")
        before = books.live()
        with books.phase(name):
            yield
            peak, live = books.peak(), books.live()
        self.rows.append({"phase": "/".join(self.open), "begin_bytes": before, "end_bytes": live,
                          "peak_bytes": peak})
        self.open.pop()


class Training:
    def __init__(self, phase):
        self.phase = phase
        with phase("init"):
            self.layers = [tf.Variable(tf.zeros([WIDTH, WIDTH])) for _ in range(LAYERS)]
            self.moments = [tf.Variable(tf.zeros([WIDTH, WIDTH])) for _ in range(LAYERS)]

    def step(self, batch):
        with self.phase("data"):
            inputs = tf.zeros([batch, WIDTH])
        with tf.GradientTape() as tape:
            with self.phase("forward"):
                hidden = inputs
                for layer in self.layers:
                    hidden = tf.nn.relu(tf.matmul(hidden, layer))
                loss = tf.reduce_mean(hidden)
        del hidden
        with self.phase("backward"):
            gradients = tape.gradient(loss, self.layers)
        with self.phase("optimizer"):
            for layer, moment, gradient in zip(self.layers, self.moments, gradients):
                moment.assign(0.9 * moment + gradient)
                layer.assign_sub(0.1 * moment)


def run():
    failure = books.Failure()
    phases = Phases()
    training = Training(phases)
    batch, number = FIRST_BATCH, 0
    try:
        while True:
            books.step(number)
            training.step(batch)
            batch, number = 2 * batch, number + 1
    except tf.errors.ResourceExhaustedError:
        failed = {"phase": "/".join(phases.open), "peak_bytes": books.peak()}
    highest = max([*phases.rows, failed], key=lambda row: row["peak_bytes"])
    return {"phases": phases.rows, "failed": failed, "failed_batch": batch, "oom": failure.state(),
            "peak_phase": highest["phase"], "peak_live_bytes": highest["peak_bytes"]}


def main():
    common.one_device()
    books.limit_device(LIMIT)
    with tf.device("/GPU:0"):
        books.finish(run())


main()
