"""A loop whose kernels cost nothing, run by real TensorFlow on softgpu; it times itself.

usage: tensorflow_loop.py ROUNDS STEPS

Eager operations with a tape, so that every chunk has the lines of Python behind it. Prints "loop NS" and
"cpu NS", of the best round, and "rounds N", the first one included, which warms up.
"""
import sys
import time

import tensorflow as tf

WIDTH, BATCH, LAYERS = 64, 32, 6


def train_step(layers):
    with tf.GradientTape() as tape:
        hidden = tf.zeros([BATCH, WIDTH])
        for layer in layers:
            hidden = tf.nn.relu(tf.matmul(hidden, layer))
        loss = tf.reduce_mean(hidden)
    for layer, gradient in zip(layers, tape.gradient(loss, layers)):
        layer.assign_sub(0.1 * gradient)


def main():
    nr_rounds, nr_steps = int(sys.argv[1]), int(sys.argv[2])
    with tf.device("/GPU:0"):
        layers = [tf.Variable(tf.zeros([WIDTH, WIDTH])) for _ in range(LAYERS)]
        rounds = []
        for _ in range(nr_rounds + 1):
            wall, cpu = time.perf_counter_ns(), time.process_time_ns()
            for _ in range(nr_steps):
                train_step(layers)
            rounds.append((time.perf_counter_ns() - wall, time.process_time_ns() - cpu))
    rounds = rounds[1:]
    print(f"loop {min(wall for wall, _ in rounds)}")
    print(f"cpu {min(cpu for _, cpu in rounds)}")
    print(f"rounds {nr_rounds + 1}")


main()
