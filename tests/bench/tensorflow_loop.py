"""A loop whose kernels cost nothing, run by real TensorFlow on softgpu; it times itself.

usage: tensorflow_loop.py eager|graph ROUNDS STEPS

eager: operations with a tape, one call from Python each, so that every chunk has lines of Python of its own behind it.
graph: the same step as a tf.function, which is one call; its operations run on TensorFlow's threads. Prints of a step, in ns,
without those of the first round, which warms up: "loop", its time; "thread", processor time of the thread
that takes it, each the middle of the fastest tenth of all steps; "cpu", processor time of the whole process,
of the best round. And "steps", how many there were in all.
"""
import gc
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


def middle_of_fastest(values):
    return sorted(values)[len(values) // 20]


def main():
    step = tf.function(train_step) if sys.argv[1] == "graph" else train_step
    nr_rounds, nr_steps = int(sys.argv[2]), int(sys.argv[3])
    walls, threads, rounds = [], [], []
    gc.disable()  # it comes when it comes
    with tf.device("/GPU:0"):
        layers = [tf.Variable(tf.zeros([WIDTH, WIDTH])) for _ in range(LAYERS)]
        for _ in range(nr_rounds + 1):
            process = time.process_time_ns()
            for _ in range(nr_steps):
                wall, thread = time.perf_counter_ns(), time.thread_time_ns()
                step(layers)
                threads.append(time.thread_time_ns() - thread)
                walls.append(time.perf_counter_ns() - wall)
            rounds.append((time.process_time_ns() - process) // nr_steps)
            gc.collect()
    print(f"loop {middle_of_fastest(walls[nr_steps:])}")
    print(f"thread {middle_of_fastest(threads[nr_steps:])}")
    print(f"cpu {min(rounds[1:])}")
    print(f"steps {len(walls)}")


main()
