"""A loop with GradientTape and Adam, eager and compiled into a graph."""
import numpy as np
import tensorflow as tf

import common

WIDE, NARROW, BATCH = 1024, 512, 256


def main():
    common.one_device()
    with tf.device("/GPU:0"):
        before = common.in_use()
        weight, bias = tf.Variable(tf.zeros([WIDE, NARROW])), tf.Variable(tf.zeros([NARROW]))
        size = WIDE * NARROW * 4 + NARROW * 4
        common.check_size(common.in_use() - before, size, "variables")
        optimizer = tf.keras.optimizers.Adam()
        optimizer.build([weight, bias])

        def step(batch):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.relu(tf.matmul(batch, weight) + bias) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, [weight, bias]), [weight, bias]))
            return loss

        compiled = tf.function(step)
        batch = np.ones((BATCH, WIDE), np.float32)
        for function in (step, compiled):
            for _ in range(5):
                function(tf.constant(batch))
        held = common.in_use() - before
        common.check(3 * size <= held < 4 * size, f"variables and two moments: {held}")
        common.check(common.peak() >= held + size, "the peak has the gradients")
    print(f"variables={size} held={held} peak={common.peak()}")


main()
