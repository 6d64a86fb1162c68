"""Runs out although enough is free: batches of sentences that get longer, and a bank of their features.

The features of each batch are kept. They come to lie behind what they were computed from, and when that is
gone they stand between holes, each too small for the next batch.
"""
import tensorflow as tf

import books
import common

LIMIT, WIDTH, BATCH = 192, 64, 64  # MiB; numbers of a word; sentences
FIRST_LENGTH, LONGER = 64, 4


class Training:
    def __init__(self):
        self.scale = tf.Variable(tf.ones([WIDTH]))
        self.bank = []

    def step(self, length):
        words = tf.zeros([BATCH, length, WIDTH])
        scores = words * self.scale
        self.bank.append(tf.nn.relu(scores))


def run():
    failure = books.Failure()
    training = Training()
    steps = 0
    while True:
        length = FIRST_LENGTH + steps * LONGER
        books.step(steps)
        try:
            training.step(length)
        except tf.errors.ResourceExhaustedError:
            break
        steps += 1
    return {"steps": steps, "wanted_bytes": BATCH * length * WIDTH * 4, "kept": len(training.bank),
            "oom": failure.state()}


def main():
    common.one_device()
    books.limit_device(LIMIT)
    with tf.device("/GPU:0"):
        facts = run()
        oom, wanted = facts["oom"], facts["wanted_bytes"]
        common.check(oom["hole_bytes"] >= wanted, f"enough is free: {facts}")
        common.check(oom["largest_hole_bytes"] < wanted, f"in no piece: {facts}")
        common.check(oom["reserved_bytes"] == LIMIT * books.MIB, "the limit is taken at once")
        books.finish(facts)


main()
