"""TF_GPU_ALLOCATOR=cuda_malloc_async: the driver's pools instead of TensorFlow's."""
import tensorflow as tf

import common


def main():
    common.one_device()
    with tf.device("/GPU:0"):
        before = common.in_use()
        kept = tf.zeros([100 << 18])
        common.check_size(common.in_use() - before, 100 << 20, "in use")
        del kept
        common.check_size(common.in_use(), before, "when it went back")
        matrix = tf.Variable(tf.zeros([512, 512]))
        for _ in range(5):
            matrix.assign_sub(tf.matmul(matrix, matrix))


main()
