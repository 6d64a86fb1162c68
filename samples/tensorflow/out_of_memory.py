"""Runs out of memory, catches it, and goes on; the allocator grows as it needs to."""
import tensorflow as tf

import common

PIECE = 64 << 20


def main():
    tf.config.experimental.set_memory_growth(common.one_device(), True)
    with tf.device("/GPU:0"):
        kept = []
        try:
            while True:
                kept.append(tf.zeros([PIECE // 4]))
                common.check(len(kept) < 1000, "the memory ends")
        except tf.errors.ResourceExhaustedError:
            pass
        common.check(common.in_use() >= len(kept) * PIECE, "all of it is counted")
        pieces = len(kept)
        kept.clear()
        common.check(common.in_use() < PIECE, f"all of it went back: {common.in_use()}")
        again = tf.zeros([PIECE // 4])
        common.check(common.rounded(PIECE) <= common.in_use() < 2 * PIECE, "and goes on")
        del again
    print(f"pieces={pieces}")


main()
