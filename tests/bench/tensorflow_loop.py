"""A loop whose kernels cost nothing, run by real TensorFlow on softgpu; it times itself.

usage: tensorflow_loop.py eager|graph PAIRS SEED

eager: operations with a tape, one call from Python each, so that every chunk has lines of Python of its own behind it.
graph: the same step as a tf.function, which is one call; its operations run on TensorFlow's threads.

Under bench_tensorflow_switch (tensorflow_switch.c), some steps with us and as many without make a pair, which is
first is left to chance; the difference of a pair is that of the medians of their steps. Prints "added", the time and the
processor time of its thread that a step takes more with us: the mean of the middle half of all pairs; "step", a step without
us: the median; and "steps", how many there were with us, those that warm up included. Without that library there is only
"step". All in ns.
"""
import ctypes
import gc
import random
import statistics
import sys
import time

import tensorflow as tf

WIDTH, BATCH, LAYERS = 64, 32, 6
NR_WARM = 100
NR_STEPS = 4  # before it is switched: the first one finds other things in the caches than the others
WITHOUT, WITH_US = 0, 1


def train_step(layers):
    with tf.GradientTape() as tape:
        hidden = tf.zeros([BATCH, WIDTH])
        for layer in layers:
            hidden = tf.nn.relu(tf.matmul(hidden, layer))
        loss = tf.reduce_mean(hidden)
    for layer, gradient in zip(layers, tape.gradient(loss, layers)):
        layer.assign_sub(0.1 * gradient)


def take_steps(step, layers):
    """(median time, median processor time of this thread) of some steps"""
    walls, threads = [], []
    for _ in range(NR_STEPS):
        wall, thread = time.perf_counter_ns(), time.thread_time_ns()
        step(layers)
        threads.append(time.thread_time_ns() - thread)
        walls.append(time.perf_counter_ns() - wall)
    return statistics.median(walls), statistics.median(threads)


def middle_mean(values):
    values = sorted(values)
    return statistics.mean(values[len(values) // 4:len(values) - len(values) // 4])


def find_switch():
    """What is called with WITH_US or WITHOUT."""
    program = ctypes.PyDLL(None)
    if not hasattr(program, "bench_switch_set"):
        return lambda which: None
    if not program.bench_switch_find():
        sys.exit("TensorFlow and vramscope do not both have the functions that are switched")
    return program.bench_switch_set


def main():
    step = tf.function(train_step) if sys.argv[1] == "graph" else train_step
    nr_pairs, chance = int(sys.argv[2]), random.Random(int(sys.argv[3]))
    switch = find_switch()
    pairs = []
    with tf.device("/GPU:0"):
        layers = [tf.Variable(tf.zeros([WIDTH, WIDTH])) for _ in range(LAYERS)]
        for _ in range(NR_WARM):
            step(layers)
        gc.disable()  # it comes when it comes
        for number in range(nr_pairs):
            taken = {}
            for which in chance.sample((WITHOUT, WITH_US), 2):
                switch(which)
                taken[which] = take_steps(step, layers)
            pairs.append(taken)
            if number % 16 == 15:
                gc.collect()
        switch(WITH_US)
    added = [middle_mean(pair[WITH_US][i] - pair[WITHOUT][i] for pair in pairs) for i in (0, 1)]
    print(f"added {added[0]:.0f} {added[1]:.0f}")
    print(f"step {statistics.median(pair[WITHOUT][0] for pair in pairs):.0f}")
    print(f"steps {NR_WARM + nr_pairs * NR_STEPS}")


main()
