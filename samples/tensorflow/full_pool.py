"""Memory is full but hardly used: one large batch was tried, and the allocator kept what that took.

It grows as it needs to, and gives nothing back. Then a small batch is trained: TensorFlow would use again what
it holds; another library in the same process, which asks the driver itself, gets nothing.
"""
import tensorflow as tf

import books
import common

WIDTH, LARGE, SMALL, STEPS = 1024, 96 << 10, 64, 5


def step(weight, batch):
    return tf.reduce_mean(tf.matmul(tf.zeros([batch, WIDTH]), weight))


def main():
    tf.config.experimental.set_memory_growth(common.one_device(), True)
    with tf.device("/GPU:0"):
        weight = tf.Variable(tf.zeros([WIDTH, WIDTH]))
        books.step(0)
        step(weight, LARGE)
        for number in range(1, STEPS):
            books.step(number)
            step(weight, SMALL)
        free, live = books.driver_free(), books.live()
        wanted = free + 128 * books.MIB
        common.check(books.peak() >= 2 * LARGE * WIDTH * 4, "input and output of the large batch")
        common.check(live < 8 * books.MIB, f"little is in use: {live}")
        common.check(books.ask_driver(wanted) == books.OUT_OF_MEMORY, "the driver has no more")
        books.finish({"wanted_bytes": wanted, "driver_free_bytes": free, "live_bytes": live})


main()
