"""Keras' own loop, with convolutions through cuDNN."""
import numpy as np
import tensorflow as tf

import common


def main():
    common.one_device()
    layers = tf.keras.layers
    model = tf.keras.Sequential([
        layers.Conv2D(8, 3, activation="relu"), layers.BatchNormalization(), layers.MaxPooling2D(),
        layers.Conv2D(16, 3, activation="relu"), layers.GlobalAveragePooling2D(), layers.Dense(10)])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  jit_compile=False)
    history = model.fit(np.zeros((64, 16, 16, 3), np.float32), np.zeros(64, np.int32), epochs=2,
                        batch_size=16, verbose=0)
    common.check(len(history.history["loss"]) == 2, "two epochs")
    common.check(model.predict(np.zeros((4, 16, 16, 3), np.float32), verbose=0).shape == (4, 10),
                 "shape of a prediction")
    common.check(common.peak() > 0, "memory on the device")


main()
